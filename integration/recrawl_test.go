package integration

import (
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

// TestRevisitsUnderAKill visits the pages of a web that changes again and again, on three nodes of
// which one is killed. At the web server: no page is visited before its time but those that the
// killed node had not yet acknowledged, none is forgotten, and all gaps are kept. The crawl waits
// while nothing is due, and goes on when the settings make pages due.
func TestRevisitsUnderAKill(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	for _, mode := range []string{crawl.RecrawlFixed, crawl.RecrawlAdaptive} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			const delay = 50 * time.Millisecond
			web, srv := serveSimweb(t,
				simweb.Config{Seed: 83, Hosts: 12, PagesPerHost: 10, Skew: -1, Delay: delay,
					Changes: simweb.Changes{
						Mean:   10 * time.Second,
						Spread: 4,
						ETags:  simweb.Claims{Truthful: 1000},
					}})
			c := simCluster(t, srv, delay, "--partitions", "512", "--recrawl", mode, "--recrawl-interval",
				"1h", "--recrawl-min", "1h", "--recrawl-max", "2h")
			c.addReady(3)
			c.converged(time.Minute)
			view := c.view()
			c.nodes[0].seed(web.Seeds()...)
			c.waitsForRevisits(2 * time.Minute)
			pages := reachable(web)
			if got := web.Report(); got.MostTwice > c.moves(view, 0, 0) || got.Missing > 0 {
				t.Errorf("after the first pass %d pages were fetched twice and %d not at all", got.Duplicates,
					got.Missing)
			}

			// The same crawl, with intervals of seconds.
			const least = 3 * time.Second
			interval := least
			c.nodes[1].set("recrawl-min="+least.String(), "recrawl-interval=5s", "recrawl-max=10s")
			if mode == crawl.RecrawlFixed {
				interval = 5 * time.Second
			}
			eachVisited(t, web, pages, 3, time.Time{})
			killed := time.Now()
			c.nodes[2].signal(syscall.SIGKILL)
			<-c.nodes[2].done
			c.converged(time.Minute)
			eachVisited(t, web, pages, 2, time.Now())
			early := judgeRevisits(t, web, pages, interval, killed)

			// Nothing is due any more, so it waits again, until it is stopped.
			c.nodes[0].set("recrawl-max=2h", "recrawl-interval=1h", "recrawl-min=1h")
			c.waitsForRevisits(2 * time.Minute)
			var f crawl.FreshnessStatus
			until(t, time.Minute, func() string { // another node's figures are of its last renewal
				var s crawl.Status
				if err := c.nodes[1].decode("/status", &s); err != nil {
					return err.Error()
				}
				f = s.Freshness
				if f.Mode != mode || f.RevisitsTotal < int64(3*len(pages)) ||
					f.RevisitsTotal != f.UnchangedTotal+f.ChangedTotal || f.ChangedTotal == 0 ||
					f.NotModifiedTotal == 0 ||
					f.OverdueSeconds.P99 == nil || (f.Expected != nil) != (mode == crawl.RecrawlAdaptive) {
					return fmt.Sprintf("freshness %+v", f)
				}
				return ""
			})
			if r := web.Report(); r.ErrButDuplicates() != nil {
				t.Error(r.ErrButDuplicates())
			}
			req, err := c.nodes[0].request(http.MethodPost, "/api/v1/crawl/stop", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := decodeReply(c.client(), req, &crawl.ActionReport{}); err != nil {
				t.Error(err)
			}
			c.finished(time.Minute)
			c.stop()
			t.Logf("%d pages, %d revisits, %d early at the kill, overdue p50 %v s, p99 %v s", len(pages),
				f.RevisitsTotal, early, *f.OverdueSeconds.P50, *f.OverdueSeconds.P99)
		})
	}
}

// waitsForRevisits waits until every living node shows that the crawl waits, and when it goes on.
func (c *cluster) waitsForRevisits(within time.Duration) {
	c.t.Helper()
	until(c.t, within, func() string {
		for _, n := range c.living() {
			var s crawl.Status
			if err := n.decode("/status", &s); err != nil {
				return fmt.Sprintf("%s: %v", n.name, err)
			}
			if s.Crawl.State != crawl.CrawlWaiting || s.Freshness.NextDueAt == nil ||
				s.Bottleneck.Cause != crawl.BottleneckNothingDue {
				return fmt.Sprintf("%s: crawl %s (%s), %+v, %+v", n.name, s.Crawl.State, s.Crawl.Message,
					s.Freshness, s.Bottleneck)
			}
		}
		return ""
	})
}

// eachVisited waits until each page was visited so often since a moment.
func eachVisited(t *testing.T, web *simweb.Web, pages []string, times int, since time.Time) {
	t.Helper()
	until(t, 3*time.Minute, func() string {
		for _, u := range pages {
			n := 0
			for _, v := range web.Visits(u) {
				if v.At.After(since) {
					n++
				}
			}
			if n < times {
				return fmt.Sprintf("%s: %d visits, not %d; of %d pages", u, n, times, len(pages))
			}
		}
		return ""
	})
}

// judgeRevisits wants the interval between any two visits of a page. A visit whose completion the
// kill may have cost is made again.
func judgeRevisits(
	t *testing.T,
	web *simweb.Web,
	pages []string,
	interval time.Duration,
	killed time.Time,
) (early int) {
	t.Helper()
	// A page is due by the begin of its last request as the node measured it; on a busy machine the
	// server notes it later.
	const between, unacknowledged = time.Second, 5 * time.Second
	for _, u := range pages {
		visits := web.Visits(u)
		slices.SortFunc(visits, func(a, b simweb.Visit) int { return a.At.Compare(b.At) })
		for i := range visits[1:] {
			first, next := visits[i].At, visits[i+1].At
			switch gap := next.Sub(first); {
			case gap >= interval-between:
			case first.After(killed.Add(-unacknowledged)) && first.Before(killed.Add(time.Second)) &&
				next.After(killed):
				early++
			default:
				t.Errorf("%s: visited again after %v, %v after the kill", u, gap, next.Sub(killed))
			}
		}
	}
	return early
}
