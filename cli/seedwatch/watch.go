package seedwatch

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/cli/seedlist"
	"crawlnode/crawl"
)

// Explainer answers for one URL and one host, as a node does.
type Explainer interface {
	ExplainURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error)
	DescribeHost(ctx context.Context, host string) (*crawl.HostReport, error)
}

// Watch is the state of a crawl's first seeds. One goroutine uses it at a time.
type Watch struct {
	seeds  []seedlist.Entry // the first ones, with the scheme that is tried now
	more   int              // seeds that are not looked at
	begun  time.Time        // when the command began
	stored time.Time        // when the seeds were first found in the frontier
	states []state          // as of the last look
}

// New makes a Watch of the seeds of a command that began then.
func New(seeds []seedlist.Entry, begun time.Time) *Watch {
	first := slices.Clone(seeds[:min(len(seeds), maxLooked)])
	return &Watch{seeds: first, more: len(seeds) - len(first), begun: begun}
}

// First is the URL of the first seed, with the scheme that is tried now.
func (w *Watch) First() string {
	if len(w.seeds) == 0 {
		return ""
	}
	return w.seeds[0].URL
}

// Look asks for the state of the seeds, and returns what people are to be told at once. What
// cannot be asked is left out.
func (w *Watch) Look(ctx context.Context, e Explainer, now time.Time) (news []string) {
	var states []state
	for i := range w.seeds {
		s := &w.seeds[i]
		r, err := e.ExplainURL(ctx, s.URL, -1)
		if err == nil && fellBack(s, r) {
			if at := r.Record.FetchedAt; at != nil && !at.Before(w.begun) && r.Record.Reason != nil {
				news = append(news, s.URL+": "+*r.Record.Reason)
			}
			s.URL = plain(s.URL)
			r, err = e.ExplainURL(ctx, s.URL, -1)
		}
		if err != nil || r.Record == nil {
			continue // not stored yet, or not accepted, which was reported
		}
		var h *crawl.HostReport
		if r.Host != nil {
			h, _ = e.DescribeHost(ctx, string(*r.Host)) // without it the record speaks alone
		}
		st := stateOf(s.URL, r, h, w.begun, now)
		if guessed(s) == "http" && st.cause != "" && r.Record.Attempts > 1 {
			st.failed, st.cause = true, "neither https nor http: "+st.cause
		}
		states = append(states, st)
	}
	if len(states) > 0 {
		w.states = states
		if w.stored.IsZero() {
			w.stored = now
		}
	}
	return news
}

// guessed is the scheme that is tried for a seed that was written without one, else "".
func guessed(s *seedlist.Entry) string {
	if !s.Guessed {
		return ""
	}
	scheme, _, _ := strings.Cut(s.URL, ":")
	return scheme
}

// plain is an https URL with http in its place.
func plain(url string) string { return "http" + strings.TrimPrefix(url, "https") }

// fellBack reports whether the node tries http in place of a guessed https, as of the report on it.
func fellBack(s *seedlist.Entry, r *crawl.URLReport) bool {
	return guessed(s) == "https" && r.Record != nil && r.Record.State == crawl.Failed.String() &&
		r.Record.Reason != nil && strings.Contains(*r.Record.Reason, plain(s.URL))
}

// Rerun returns the seeds of a command that may have run before: one without a scheme has the
// scheme with which it was fetched, and what an earlier run has tried in vain is tried once more.
func Rerun(ctx context.Context, e Explainer, seeds []seedlist.Entry) []seedlist.Entry {
	seeds = slices.Clone(seeds) // others read them meanwhile
	for i := range seeds {
		s := &seeds[i]
		r, err := e.ExplainURL(ctx, s.URL, -1)
		if err != nil || r.Record == nil ||
			r.Record.State != crawl.Failed.String() && r.Record.State != crawl.RefusedForever.String() {
			continue
		}
		if fellBack(s, r) {
			if other, err := e.ExplainURL(ctx, plain(s.URL), -1); err == nil && other.Record != nil &&
				other.Record.State == crawl.Done.String() {
				s.URL, s.Guessed = plain(s.URL), false
				continue
			}
		}
		s.Again = true
	}
	return seeds
}

// Hopeless reports whether a crawl that has fetched nothing should be given up.
func (w *Watch) Hopeless(now time.Time) bool {
	return !w.stored.IsZero() && hopeless(w.states, now.Sub(w.stored))
}

// Failed reports whether a crawl that has ended without a page has failed.
func (w *Watch) Failed() bool { return hopeless(w.states, patience) }

// hopeless says whether a crawl should be given up, this long after its seeds were stored.
func hopeless(states []state, since time.Duration) bool {
	if len(states) == 0 {
		return false
	}
	all := true // have failed
	for i := range states {
		s := &states[i]
		if s.fetched || s.cause == "" {
			return false
		}
		all = all && s.failed
	}
	return all && since >= grace || since >= patience
}

// Decided reports whether it is known of each seed what became of it, and which scheme it has.
func (w *Watch) Decided() bool {
	for i := range w.states {
		if s := &w.states[i]; !s.fetched && !s.failed {
			return false
		}
	}
	return len(w.states) > 0
}

// Refusals say of each seed what its server answered instead of a page; none if a seed gave one, or
// may have.
func (w *Watch) Refusals() []string {
	var lines []string
	for i := range w.states {
		s := &w.states[i]
		if s.status < 300 || w.more > 0 {
			return nil
		}
		if s.itself {
			lines = append(lines, fmt.Sprintf("%s: the server answered %d and redirects to the same URL: "+
				"it may want cookies, which --cookies visit sends, or a login", s.url, s.status))
			continue
		}
		lines = append(lines, fmt.Sprintf(
			"%s: the server answered %d %s, so there are no links to follow%s", s.url, s.status,
			http.StatusText(s.status), answerAdvice(s.status)))
	}
	return lines
}

// answerAdvice is what to do about an answer that is no page.
func answerAdvice(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return ": it wants a login or refuses crawlers: ask the site's owner, or begin at another page"
	case status < 400:
		return ": what it redirects to was not fetched: crawlnode scope test says whether it belongs " +
			"to the crawl"
	case status == http.StatusBadRequest:
		return ": a server that wants https:// may answer so"
	case status >= 500:
		return ": run the same command with --again when the server is well"
	}
	return ": check the path"
}

// Doing is what the first seed that was not fetched waits for.
func (w *Watch) Doing() string {
	for _, s := range w.states {
		if s.doing != "" {
			return s.doing
		}
	}
	return ""
}

// Complaints say of each seed that was looked at why it could not be fetched.
func (w *Watch) Complaints() []string {
	var lines []string
	for _, s := range w.states {
		lines = append(lines, s.url+": "+s.cause)
	}
	if w.more > 0 {
		lines = append(lines, fmt.Sprintf("and %s more seeds, none of which was fetched: "+
			"crawlnode urls why tells about each while the node runs", plaintext.Count(int64(w.more))))
	}
	return lines
}
