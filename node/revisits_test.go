package node

import (
	"fmt"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/simweb"
)

// revisiting makes a node visit known pages again, after seconds.
func revisiting(c *config.Config, mode string, interval time.Duration) {
	c.Recrawl, c.RecrawlInterval, c.RecrawlMin, c.RecrawlMax = mode, interval, interval/2, 4*interval
}

// inState waits until a node shows the crawl in a state.
func inState(t *testing.T, n *running, state string) *crawl.Status {
	t.Helper()
	var s *crawl.Status
	until(t, patience, func() string {
		if s = statusOf(t, n.Node); s.Crawl.State == state {
			return ""
		}
		return fmt.Sprintf("the crawl is %s (%s), not %s; idle unless %q; %+v", s.Crawl.State,
			s.Crawl.Message, state, n.whyNotIdle(), s.Freshness)
	})
	return s
}

// TestNoLastTryWithRevisits: hosts that cannot be reached have a last try when nothing else is
// left. With revisits there is always something left, so their URLs wait.
func TestNoLastTryWithRevisits(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{crawl.RecrawlOff, crawl.RecrawlFixed, crawl.RecrawlAdaptive} {
		c := testConfig(t, "alone")
		revisiting(&c, mode, time.Hour)
		n := startNode(t, c)
		converged(t, 1, n)
		if got := (fetchingNode{n.Node}).MayLastTry(); got != (mode == crawl.RecrawlOff) {
			t.Errorf("%s: a last try is made: %v", mode, got)
		}
	}
}

// intervalKept checks that an interval lies between the requests of any two visits of a page, as the
// node remembers them, and that the web was asked no more often. A request may reach the web late, so
// the times at which it answers tell less.
func intervalKept(t *testing.T, n *running, web *simweb.Web, url string, interval time.Duration) {
	t.Helper()
	r, err := n.ExplainURL(t.Context(), url, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.History) < 2 {
		t.Fatalf("%s: the history is %+v", url, r.History)
	}
	newest, oldest := r.History[0].At, r.History[len(r.History)-1].At
	for i, v := range r.History[1:] {
		if gap := r.History[i].At.Sub(v.At); gap < interval-50*time.Millisecond {
			t.Errorf("%s: visited %v after the visit before", url, gap)
		}
	}
	asked := 0
	for _, v := range web.Visits(url) {
		if !v.At.Before(oldest) && v.At.Before(newest.Add(interval)) {
			asked++
		}
	}
	// The answer to the request before the oldest that is remembered may have been as late as this.
	if asked > len(r.History)+1 {
		t.Errorf("%s: the web has answered %d times in %d visits", url, asked, len(r.History))
	}
}

// TestRevisitsAtAFixedInterval checks that every page is visited again after the interval and not
// before, that the crawl waits in between, that revisits can be turned off and on, and that the
// crawl ends without them.
func TestRevisitsAtAFixedInterval(t *testing.T) {
	t.Parallel()
	const interval = 4 * time.Second
	web, srv := newWeb(t, simweb.Config{Seed: 9, Hosts: 4, PagesPerHost: 8, PageBytes: 1000,
		Changes: simweb.Changes{Mean: 8 * time.Second, ETags: simweb.Claims{Truthful: 1000}}})
	c := testConfig(t, "alone")
	c.DNS, c.Delay = []string{srv.DNS.String()}, time.Millisecond
	// At first nothing becomes due, so that a busy machine sees the crawl wait as well.
	revisiting(&c, crawl.RecrawlFixed, time.Hour)
	c.RecrawlMin = interval / 2
	n := startNode(t, c)
	converged(t, 1, n)
	seed(t, n, web)
	until(t, patience, func() string {
		s := inState(t, n, crawl.CrawlWaiting)
		if s.Freshness.NextDueAt == nil || s.Bottleneck.Cause != crawl.BottleneckNothingDue {
			return fmt.Sprintf("waiting: %+v, %+v", s.Freshness, s.Bottleneck)
		}
		return ""
	})
	until(t, patience, func() string { // some pages may have become due meanwhile
		if r, err := n.CrawlConfig(t.Context()); err != nil || r.State != crawl.CrawlWaiting {
			return fmt.Sprintf("GET /api/v1/crawl says %s, %v", r.State, err)
		}
		return ""
	})
	known := web.Progress()
	change := func(name, value string) {
		t.Helper()
		if _, err := n.ChangeCrawl(t.Context(), setting(name, fmt.Sprintf("%q", value), "")); err != nil {
			t.Fatal(err)
		}
	}
	change("recrawl_interval", interval.String())
	until(t, patience, func() string {
		if f := statusOf(t, n.Node).Freshness; f.RevisitsTotal < int64(3*known) ||
			f.UnchangedTotal == 0 || f.ChangedTotal == 0 || f.NotModifiedTotal == 0 {
			return fmt.Sprintf("%+v", f)
		}
		for _, u := range seedsOf(web) { // a busy machine visits some pages less often than others
			if n := len(web.Visits(u.URL)); n < 3 {
				return fmt.Sprintf("%s: %d visits", u.URL, n)
			}
		}
		return ""
	})
	for _, u := range seedsOf(web) {
		intervalKept(t, n, web, u.URL, interval)
	}
	change("recrawl", crawl.RecrawlOff)
	finished(t, crawl.FinishExhausted, n)
	before := statusOf(t, n.Node).Freshness
	if before.Mode != crawl.RecrawlOff || before.NextDueAt != nil {
		t.Errorf("off: %+v", before)
	}
	change("recrawl", crawl.RecrawlAdaptive)
	until(t, patience, func() string {
		if s := statusOf(t, n.Node); s.Crawl.State == crawl.CrawlFinished ||
			s.Freshness.RevisitsTotal < before.RevisitsTotal+int64(known) || s.Freshness.Expected == nil {
			return fmt.Sprintf("adaptive after off: %s, %+v", s.Crawl.State, s.Freshness)
		}
		return ""
	})
	if r := web.Report(); r.ErrButDuplicates() != nil {
		t.Error(r.ErrButDuplicates())
	}
}
