package integration

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

var (
	searchCrawl = flag.Int("searchcrawl", 0,
		"pages of the crawl of TestSearchWhileCrawling; 20000 for the figures in docs/results/search.md")
	searchCrawlDelay = flag.Duration("searchcrawl.delay", 500*time.Millisecond,
		"politeness delay of the 200 hosts of TestSearchWhileCrawling")
	searchCrawlEvery = flag.Duration("searchcrawl.every", 200*time.Millisecond,
		"time between two questions of TestSearchWhileCrawling")
)

// Questions are asked of three nodes by turns, at a steady rate, while they crawl and index. The
// test logs what they take by the clock of who asks, with the memory of the nodes and how far the
// index is behind, and the same questions once the crawl is over.
func TestSearchWhileCrawling(t *testing.T) {
	if *searchCrawl == 0 {
		t.Log("no -searchcrawl: nothing to ask")
		return
	}
	needsProcesses(t)
	const hosts = 200
	web, srv := serveSimweb(t, simweb.Config{
		Seed:         75,
		Hosts:        hosts,
		PagesPerHost: *searchCrawl / hosts,
		Skew:         -1,
		LinksPerPage: 15,
		NaturalText:  true,
	})
	c := simCluster(t, srv, *searchCrawlDelay, "--index", "on")
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(web.Seeds()...)
	atPage(t, web, *searchCrawl/20)
	c.found(allPages)
	var while asking
	began, first := time.Now(), web.Progress()
	queries := c.questions(100)
	for next := began; web.Progress() < hosts*(*searchCrawl/hosts)*95/100; next = next.Add(
		*searchCrawlEvery) {
		time.Sleep(time.Until(next))
		while.ask(t, c, queries)
		if while.n()%100 == 0 {
			queries = c.questions(100) // of the pages that are there by now
			t.Logf("%d pages after %v: %s", web.Progress(), time.Since(began).Round(time.Second),
				c.indexState())
		}
	}
	rate := float64(web.Progress()-first) / time.Since(began).Seconds()
	t.Logf("while %.0f pages a second are crawled: %s; load average %s", rate, &while, loadAverage())
	c.finished(10 * time.Minute)
	c.searchable(5*time.Minute, c.documents())
	var alone asking
	for range while.n() {
		alone.ask(t, c, queries)
	}
	t.Logf("when the crawl is over: %s; load average %s", &alone, loadAverage())
	t.Logf("%s", c.indexState())
	c.stop()
}

// found waits until the first node finds a hundred pages with a word.
func (c *cluster) found(word string) {
	c.t.Helper()
	until(c.t, time.Minute, func() string {
		if r, err := c.nodes[0].search(word); err != nil || r.Total < 100 {
			return fmt.Sprintf("%d pages have %q, %v", r.Total, word, err)
		}
		return ""
	})
}

// asking is what questions have taken.
type asking struct {
	took   []time.Duration
	behind int     // answers that lacked pages which were fetched by then
	least  float64 // coverage of the one that lacked most
	empty  int
}

func (a *asking) n() int { return len(a.took) }

// ask asks the next question of the next node.
func (a *asking) ask(t *testing.T, c *cluster, queries []string) {
	n := c.nodes[a.n()%len(c.nodes)]
	query := queries[a.n()%len(queries)]
	var began time.Time
	var r crawl.SearchReport
	until(t, time.Minute, func() (missing string) { // a busy node may have none in time
		began = time.Now()
		var err error
		if r, err = n.search(query); err != nil {
			missing = fmt.Sprintf("%s, %q: %v", n.name, query, err)
		}
		return missing
	})
	a.took = append(a.took, time.Since(began))
	if r.Coverage < 1 {
		a.behind++
	}
	if a.least = min(a.least, r.Coverage); a.n() == 1 {
		a.least = r.Coverage
	}
	if r.Total == 0 {
		a.empty++
	}
}

func (a *asking) String() string {
	sorted := slices.Sorted(slices.Values(a.took))
	at := func(permille int) time.Duration {
		return sorted[min(len(sorted)*permille/1000, len(sorted)-1)].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("%d questions, p50 %v, p90 %v, p99 %v, most %v; %d answers lacked pages, "+
		"with a coverage of %.3f at the least, %d had no result",
		len(sorted), at(500), at(900), at(990), at(1000), a.behind, a.least, a.empty)
}

// indexState is what the nodes say of their index, and what memory they have.
func (c *cluster) indexState() string {
	var s struct{ Index crawl.IndexStatus }
	if err := c.nodes[0].decode("/status", &s); err != nil {
		return err.Error()
	}
	out := fmt.Sprintf("%d documents, %d bytes, %d wait, %.1f s behind", s.Index.Documents,
		s.Index.Bytes, s.Index.Waiting, s.Index.BehindSeconds)
	for _, n := range c.nodes {
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
		for line := range strings.Lines(string(raw)) {
			if strings.HasPrefix(line, "VmHWM:") || strings.HasPrefix(line, "RssAnon:") {
				out += ", " + n.name + " " + strings.Join(strings.Fields(line), " ")
			}
		}
	}
	return out
}
