package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"crawlnode/cli/seedlist"
	"crawlnode/crawl"
)

// A crawl whose seeds cannot be fetched has nothing to do. The node itself tries for a long
// time, because a host may come back. A person who has mistyped a name wants to know at
// once. So the crawl verb looks at its seeds until the first page was fetched, shows
// what they wait for, and gives up when all of them fail.

const (
	// seedsLooked bounds the seeds that are looked at: the first ones.
	seedsLooked = 20
	// seedFailures is how often a host must have failed before its seed counts as failed.
	// The node tries after 1 s and after 4 s more, so that takes 5 s.
	seedFailures = 3
	// seedPatience is how long a seed may fail, or get no answer, before the crawl gives up.
	seedPatience = 15 * time.Second
)

// explainer answers for one URL and one host, as a node does.
type explainer interface {
	ExplainURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error)
	DescribeHost(ctx context.Context, host string) (*crawl.HostReport, error)
}

// seedState is what became of a seed.
type seedState struct {
	url     string
	guessed bool   // seedlist.Entry.Guessed
	refused bool   // the server could not be connected to by this scheme
	fetched bool   // a server has answered for the page
	failed  bool   // for good, or as often as seedFailures
	cause   string // why it was not fetched, and what to do; "": there is no reason to worry
	doing   string // what it waits for
}

// lookAtSeeds asks for the state of the first seeds. What cannot be asked is left out.
func lookAtSeeds(ctx context.Context, e explainer, seeds []seedlist.Entry, now time.Time) []seedState {
	var states []seedState
	for _, s := range seeds[:min(len(seeds), seedsLooked)] {
		r, err := e.ExplainURL(ctx, s.URL, -1)
		if err != nil || r.Record == nil {
			continue // not stored yet, or not accepted, which was reported
		}
		var h *crawl.HostReport
		if r.Host != nil {
			h, _ = e.DescribeHost(ctx, string(*r.Host)) // without it the record speaks alone
		}
		state := stateOfSeed(s.URL, r, h, now)
		state.guessed = s.Guessed
		states = append(states, state)
	}
	return states
}

// stateOfSeed reads the state of a seed out of what the node knows of it and, unless that is
// nil, of its host.
func stateOfSeed(url string, r *crawl.URLReport, h *crawl.HostReport, now time.Time) seedState {
	s := seedState{url: url}
	reason := ""
	if r.Record.Reason != nil {
		reason = *r.Record.Reason
	}
	switch r.Record.State {
	case "done":
		s.fetched = true
	case "refused":
		s.failed, s.cause = true, reason
		if r.Robots.Verdict == crawl.RobotsSaysForbidden {
			s.cause = fmt.Sprintf("robots.txt forbids it (%s): ask the site's owner, or begin at another page", r.Robots.Rule)
		}
	case "failed":
		s.failed, s.cause = true, causeOf(h, strings.TrimPrefix(reason, "host_dead: "))
	default:
		s.waits(r, h, reason, now)
	}
	return s
}

// waits describes a seed that is queued.
func (s *seedState) waits(r *crawl.URLReport, h *crawl.HostReport, reason string, now time.Time) {
	if h == nil {
		return
	}
	next := ""
	if at := h.NextAllowedAt; at != nil {
		if in := at.Sub(now).Round(time.Second); in > 0 {
			next = fmt.Sprintf("; next try in %v", in)
		}
	}
	switch {
	case h.Politeness.LastFailure != nil, reason != "":
		if f := h.Politeness.LastFailure; f != nil && (f.Category == crawl.ErrConnect.String() || f.Category == crawl.ErrTLS.String()) {
			s.refused = true
		}
		s.failed = h.Politeness.Failures >= seedFailures || r.Record.Attempts >= seedFailures
		s.cause = causeOf(h, reason)
		s.doing = s.cause + next
	case h.Politeness.BackoffReason != nil: // of an earlier run
		s.doing = string(h.Host) + " is held back: " + *h.Politeness.BackoffReason + next
		if h.NextAllowedAt != nil && h.NextAllowedAt.Sub(now) > seedPatience {
			s.failed, s.cause = true, fmt.Sprintf("its host is held back until %s: %s; run the same command again then",
				h.NextAllowedAt.Local().Format(time.TimeOnly), *h.Politeness.BackoffReason)
		}
	case h.State == crawl.HostInFlight && len(h.Robots) == 0:
		s.doing = "asking " + string(h.Host) + " for robots.txt"
		s.cause = "the server has not answered yet"
	case h.State == crawl.HostInFlight:
		s.doing = "asking " + string(h.Host) + " for the first page" // which may be large: no reason to worry
	case h.State == crawl.HostLoading, h.State == crawl.HostParked:
		s.doing = "looking up " + string(h.Host)
		s.cause = "no name server has answered yet: crawlnode doctor checks them"
	default:
		s.doing = string(h.Host) + " waits for its delay" + strings.Replace(next, "next try", "next request", 1)
	}
}

// causeOf is why a host could not be reached, and what to do about it.
func causeOf(h *crawl.HostReport, reason string) string {
	category := ""
	if h != nil && h.Politeness.LastFailure != nil {
		category, reason = h.Politeness.LastFailure.Category, h.Politeness.LastFailure.Reason
	}
	if category == "" { // a failure of the URL alone begins with its category
		if word, _, ok := strings.Cut(reason, ": "); ok && slices.Contains(crawl.ErrCategoryNames[:], word) {
			category = word
		}
	}
	reason = strings.TrimPrefix(strings.TrimPrefix(reason, category+": "), "the host has no address: ")
	if strings.Contains(reason, "--") { // it names the flag itself
		return reason
	}
	return reason + seedAdvice[category]
}

// seedAdvice is what to do about a failure, by its category.
var seedAdvice = map[string]string{
	"dns":             ": check the spelling; crawlnode doctor checks the name servers",
	"connect":         ": does the server run, and is the port right?",
	"tls":             ": with --tls-verify record a bad certificate is recorded and the page fetched",
	"timeout":         ": the server is too slow, or a firewall drops the packets",
	"protocol":        ": is it a web server?",
	"blocked_address": ": if that network is yours, allow it with --allow-net, such as --allow-net 127.0.0.0/8",
}

// hopeless says whether a crawl that has fetched nothing should be given up, this long after
// its seeds were stored.
func hopeless(states []seedState, since time.Duration) bool {
	if len(states) == 0 {
		return false
	}
	all := true // have failed
	for _, s := range states {
		if s.fetched || s.cause == "" {
			return false
		}
		all = all && s.failed
	}
	return all || since >= seedPatience
}
