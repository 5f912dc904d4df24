package seedwatch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

const (
	// maxLooked bounds the seeds that are looked at: the first ones.
	maxLooked = 20
	// maxFailures is how often a host must have failed before its seed counts as failed.
	// The node tries after 1 s and after 4 s more, so that takes 5 s.
	maxFailures = 3
	// patience is how long a seed may fail, or get no answer, before the crawl gives up.
	patience = 15 * time.Second
	// grace is how long seeds of an earlier run are not judged: their hosts come into memory
	// first, and what kept them back may be forgotten there (node.Options.Forgive).
	grace = 3 * time.Second
)

// state is what became of a seed.
type state struct {
	url     string
	fetched bool   // a server has answered for the page
	status  int    // its answer; 0: none yet
	itself  bool   // that is a redirect to itself
	failed  bool   // for good, or as often as maxFailures
	cause   string // why it was not fetched, and what to do; "": there is no reason to worry
	doing   string // what it waits for
}

// stateOf reads the state of a seed out of what the node knows of it and, unless that is
// nil, of its host.
func stateOf(url string, r *crawl.URLReport, h *crawl.HostReport, begun, now time.Time) state {
	s := judge(url, r, h, begun, now)
	if bare := withoutWWW(url, r); bare != "" && s.cause != "" && !s.fetched {
		s.cause += fmt.Sprintf("; --normalize www has %s asked in place of www.%s: "+
			"leave that rule out, and give a new --data-dir, when the site answers only there", bare, bare)
	}
	return s
}

// withoutWWW is the host that is asked for a seed because of --normalize www; "": that of the seed.
func withoutWWW(seed string, r *crawl.URLReport) string {
	if r.URL == nil {
		return ""
	}
	given, err := urlnorm.Parse(seed)
	if err != nil {
		return ""
	}
	asked, err := urlnorm.Parse(*r.URL)
	if err != nil || given.Host() == asked.Host() ||
		!strings.HasSuffix(given.Host(), "."+asked.Host()) || !strings.HasPrefix(given.Host(), "www.") {
		return ""
	}
	return asked.Host()
}

// judge is stateOf without the rules that make URLs equal.
func judge(url string, r *crawl.URLReport, h *crawl.HostReport, begun, now time.Time) state {
	s := state{url: url}
	reason := ""
	if r.Record.Reason != nil {
		reason = *r.Record.Reason
	}
	switch r.Record.State {
	case "done":
		s.fetched = true
		if r.Record.Status != nil {
			s.status = *r.Record.Status
		}
		s.itself = reason == crawl.RecordRedirectsToItself
	case "refused":
		s.failed, s.cause = true, reason
		if r.Robots.Verdict == crawl.RobotsSaysForbidden {
			s.cause = fmt.Sprintf(
				"robots.txt forbids it (%s): ask the site's owner, or begin at another page", r.Robots.Rule)
		}
	case "failed":
		s.failed, s.cause = true, causeOf(h, strings.TrimPrefix(reason, "host_dead: "))
	default:
		s.waits(r, h, reason, begun, now)
	}
	return s
}

// failedEarlier reports whether all that holds a host back is failures of an earlier run. The
// crawl forgets them when it loads the host, so their wait is not to be told. What the server has
// asked for (Retry-After, 429, a bot wall) stays.
func failedEarlier(p *crawl.PolitenessReport) bool {
	return p.LastFailure == nil && p.Failures > 0 && p.BackoffReason != nil &&
		p.HoldUntil == nil && p.BackoffSeconds == 0
}

// waits describes a seed that is queued.
func (s *state) waits(
	r *crawl.URLReport,
	h *crawl.HostReport,
	reason string,
	begun, now time.Time,
) {
	if h == nil {
		return
	}
	next := ""
	if at := h.NextAllowedAt; at != nil {
		if in := at.Sub(now).Round(time.Second); in > 0 {
			next = fmt.Sprintf("; next try in %v", in)
		}
	}
	until := "" // the host is held back for longer than is waited here
	if at := h.NextAllowedAt; at != nil && at.Sub(now) > patience &&
		h.Politeness.BackoffReason != nil {
		until = "its host is held back until " + at.Local().Format(time.TimeOnly) + ": "
	}
	switch {
	case failedEarlier(&h.Politeness):
		s.doing = "asking " + string(h.Host) + " again, which failed in an earlier run"
		s.cause = "it was not asked again after an earlier run, in which " + *h.Politeness.BackoffReason
	case until != "" && h.Politeness.LastFailure == nil:
		s.doing = until + *h.Politeness.BackoffReason
		s.failed, s.cause = true, s.doing+"; run the same command again then"
	case h.Politeness.LastFailure != nil, reason != "":
		s.failed = h.Politeness.Failures >= maxFailures || r.Record.Attempts >= maxFailures
		s.cause = causeOf(h, reason)
		s.doing = s.cause + next
	case h.Politeness.BackoffReason != nil: // of an earlier run
		s.doing = string(h.Host) + " is held back: " + *h.Politeness.BackoffReason + next
	case h.State == crawl.HostInFlight && len(h.Robots) == 0 && !answered(h, begun) && !ignored(r):
		s.doing = "asking " + string(h.Host) + " for robots.txt"
		s.cause = "the server has not answered yet"
	case h.State == crawl.HostInFlight:
		// which may be large: no reason to worry
		s.doing = "asking " + string(h.Host) + " for the first page"
	case (h.State == crawl.HostLoading || h.State == crawl.HostParked) && answered(h, begun):
		// no reason to worry
		s.doing = string(h.Host) + " has answered; its first page is being read, or shown to the browser"
	case h.State == crawl.HostLoading, h.State == crawl.HostParked:
		s.doing = "looking up " + string(h.Host)
		s.cause = "no name server has answered yet: crawlnode doctor checks them"
	case h.State == crawl.HostWaiting && h.Requests == 0 && h.Politeness.Address == nil && next != "":
		// Only a look-up without any answer has a host wait that was never asked: a name that does
		// not exist is a failure, and is told as one.
		s.doing = "looking up " + string(h.Host) + " again" + next
		s.cause = "no name server answers: look at --dns, or at the system's name servers;" +
			" crawlnode doctor checks them"
	default:
		s.doing = string(h.Host) + " waits for its delay" +
			strings.Replace(next, "next try", "next request", 1)
	}
}

// answered reports whether a request to the host has ended since begun, and no failure was told:
// for its robots.txt, or, when that is known from an earlier run or ignored, for a page. A host
// comes into memory after begun, so what memory knows of its requests is of this run.
func answered(h *crawl.HostReport, begun time.Time) bool {
	return h.Politeness.AverageLatencySeconds != nil || slices.ContainsFunc(h.Robots,
		func(r crawl.RobotsSummary) bool { return !r.FetchedAt.Before(begun) })
}

// ignored reports whether the first request to the seed's host is for the page.
func ignored(r *crawl.URLReport) bool {
	return r.Robots.Rule == crawl.RobotsIgnored
}

// causeOf is why a host could not be reached, and what to do about it.
func causeOf(h *crawl.HostReport, reason string) string {
	category := ""
	if h != nil && h.Politeness.LastFailure != nil {
		category, reason = h.Politeness.LastFailure.Category, h.Politeness.LastFailure.Reason
	}
	if why, ok := strings.CutPrefix(reason, "robots.txt: "); ok && categoryIn(why) != "" {
		reason = why // the file has no part in it: the server cannot be reached
	}
	if category == "" { // a failure of the URL alone begins with its category
		category = categoryIn(reason)
	}
	reason = strings.TrimPrefix(strings.TrimPrefix(reason, category+": "), "the host has no address: ")
	switch {
	case strings.Contains(reason, "--"): // it names the flag itself
		return reason
	case strings.Contains(reason, "does not look like a TLS handshake"):
		return reason + ": the server speaks plain HTTP there: write http:// in place of https://"
	case strings.HasPrefix(reason, "robots.txt of "):
		return reason + ": nothing may be fetched until it can be read: run the same command again later"
	}
	return reason + advice[category]
}

// categoryIn is the error category with which a reason begins, or "".
func categoryIn(reason string) string {
	word, _, ok := strings.Cut(reason, ": ")
	if ok && slices.Contains(crawl.ErrCategoryNames[:], word) {
		return word
	}
	return ""
}

// advice is what to do about a failure, by its category.
var advice = map[string]string{
	"dns":      ": check the spelling; crawlnode doctor checks the name servers",
	"connect":  ": does the server run, and is the port right?",
	"tls":      ": with --tls-verify record a bad certificate is recorded and the page fetched",
	"timeout":  ": the server is too slow, or a firewall drops the packets",
	"protocol": ": is it a web server?",
	"blocked_address": ": if that network is yours, add --allow-net with it, " +
		"such as --allow-net 127.0.0.0/8",
}
