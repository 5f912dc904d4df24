package result

import (
	"net/http"
	"slices"
	"strings"

	"crawlnode/crawl"
	"crawlnode/web/wall"
)

// CauseOf classes the reason of a record. Records have the sentence alone. That of a request which
// got no answer begins with its category, behind words about robots.txt when it was for that; for a
// host without an address and for refusals see package pipeline, for a host that was given up
// scheduler.
func CauseOf(rec *crawl.Record) string {
	switch {
	case rec.State == crawl.Done || rec.Reason == "":
		return ""
	case rec.State == crawl.RefusedForever:
		return skipCause(rec.Reason)
	case crawl.WallOf(rec.Reason) != wall.None:
		return crawl.FailureBlocked
	case rec.Status == http.StatusTooManyRequests || rec.Status == http.StatusServiceUnavailable:
		return crawl.FailureRateLimited
	}
	reason := strings.TrimPrefix(strings.TrimPrefix(rec.Reason, "host_dead: "), "robots.txt: ")
	if _, there, ok := strings.Cut(reason, ", where it redirects to: "); ok &&
		strings.HasPrefix(reason, "robots.txt of ") {
		reason = there
	}
	if word, _, ok := strings.Cut(reason, ": "); ok &&
		slices.Contains(crawl.ErrCategoryNames[:], word) {
		return word
	}
	for _, c := range sentences {
		if strings.HasPrefix(reason, c.begin) {
			return c.cause
		}
	}
	return crawl.ErrOther.String()
}

// sentences are the beginnings of reasons without a category.
var sentences = []struct{ begin, cause string }{
	{"the host has no address that may be asked", crawl.ErrBlockedAddress.String()},
	{"the host has no address", crawl.ErrDNS.String()},
	{"the host answered", crawl.FailureRateLimited},
	{"it asks to be left alone", crawl.FailureRateLimited},
}

// ReasonOf is the reason of a record as reports and lists have it: a sentence, or blocked with the
// name of the product whose wall it was. "": there is none.
func ReasonOf(rec *crawl.Record) (reason, product string) {
	if p := crawl.WallOf(rec.Reason); p != wall.None && rec.State != crawl.Done &&
		rec.State != crawl.RefusedForever {
		return crawl.FailureBlocked, p.String()
	}
	return rec.Reason, ""
}

// skipCause is the skip reason of a refused URL.
func skipCause(reason string) string {
	switch {
	case strings.HasPrefix(reason, "robots.txt"):
		return crawl.SkipRobots.String()
	case strings.HasPrefix(reason, "the host has"):
		return crawl.SkipHostBudget.String()
	case strings.Contains(reason, "deeper than"):
		return crawl.SkipDepth.String()
	}
	return crawl.SkipOutOfScope.String()
}

// GiveUp classes the reason of a record that has failed. It is false when nothing was given up:
// another URL was tried in its place (pipeline, a guessed https).
func GiveUp(rec *crawl.Record) (crawl.GiveUpReason, bool) {
	if rec.State != crawl.Failed || strings.HasSuffix(rec.Reason, crawl.TriedInItsPlace) {
		return 0, false
	}
	return crawl.GiveUpReasonOf(CauseOf(rec)), true
}
