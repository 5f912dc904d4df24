package pipeline

import (
	"crypto/tls"
	"errors"
	"strings"
	"syscall"

	"crawlnode/crawl"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// This file is about seeds that were written without a scheme. https is tried first. When the
// server speaks no TLS there, the http URL takes the seed's place, as a link of it: it passes
// politeness and robots.txt like any URL, and is stored together with the end of the https URL.

// speaksNoTLS reports whether nothing listens at the port of an https URL, or a server that speaks
// another protocol than TLS. A certificate that does not verify is no such error.
func speaksNoTLS(err error) bool {
	var plain tls.RecordHeaderError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &plain)
}

// fallBack changes the failure err of a guessed URL, if its server speaks no TLS: an https URL
// fails for good, with the http URL as its link. An http URL that is refused too fails by itself
// and not as its host, so that it does not keep the https URL waiting when that is given again.
func fallBack(err error, v *crawl.Visit, rules *Rules, r *crawl.Response, o *crawl.Outcome) {
	if v.Item.Via != crawl.ViaGuess || o.Kind != crawl.HostFailed || !speaksNoTLS(err) {
		return
	}
	r.Requested = true // nothing was sent, but the host's gap counts from the attempt
	rest, guessed := strings.CutPrefix(v.Item.URL.String(), "https://")
	if !guessed {
		r.Kind, o.Kind = crawl.URLFailed, crawl.URLFailed
		return
	}
	to, err := urlnorm.Parse("http://" + rest)
	if err != nil {
		return
	}
	entry := rules.Scope.EntryOf(to)
	if !rules.Scope.Decide(to, v.Item.Depth, scope.NewSeeds([]string{entry})).Admit {
		return
	}
	r.Kind, o.Kind, o.ScopeAlias = crawl.Blocked, crawl.Blocked, entry
	o.Reason = strings.TrimPrefix(o.Reason, "robots.txt: ") + "; " + to.String() +
		crawl.TriedInItsPlace
	o.Targets = append(o.Targets,
		crawl.Target{URL: to, Depth: v.Item.Depth, Via: crawl.ViaGuess, Again: true})
}
