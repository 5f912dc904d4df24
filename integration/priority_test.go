package integration

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/integration/linkrank"
)

// priorityRuns has TestPriority measure: minutes.
var priorityRuns = flag.Bool("priorities", false, "crawl a part of the real sites in several "+
	"orders, and write how much PageRank was fetched early into docs/results/priority.md")

const priorityHead = `# The order of a crawl of real sites by the program

Appended by ` + "`go test ./integration -run TestPriority -priorities`" +
	`. One node, four sites of documentation, 200 ms between two requests to a site; the share of the sites' exact PageRank that the
first 10 % and 25 % of the pages have, in the order in which the web server saw the requests. [importance.md](importance.md) has the same of simulated crawls.

| day | commit | order | at 10 % | 25 % | URLs moved |
|---|---|---|---|---|---|
`

// Important pages of real sites are fetched earlier with weights than in the order of discovery.
func TestPriority(t *testing.T) {
	needsProcesses(t)
	onRequest(t, *priorityRuns,
		"takes minutes: run it with -priorities; linkrank.TestImportantPagesComeFirst is simulated")
	var all []linkrank.Site
	for _, s := range readManifest(t) {
		all = append(all, linkrank.Site{Name: s.Name, Docroot: s.Docroot, Start: s.Start})
	}
	g, err := linkrank.RealSites(all)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := linkrank.PageRank(g, func(uint32) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	best := slices.Sorted(slices.Values(exact))
	slices.Reverse(best)
	row := func(name string, at10, at25 float64, moved any) {
		appendResult(t, "priority.md", priorityHead,
			fmt.Sprintf("%s | %.3f | %.3f | %v |", name, at10, at25, moved))
	}
	n := len(exact)
	row("best possible, whether known or not", sum(best[:n/10]), sum(best[:n/4]), "")
	rank := map[string]float64{}
	for page, u := range g.URLs {
		rank[u] = exact[page]
	}
	var plain float64
	for _, priority := range []string{"", "importance=0.3,authority=0.25,change=0.2,depth=0.15",
		"importance=1,depth=0.5"} {
		masses, moved := fetchedFirst(t, rank, n/4, priority)
		if len(masses) < n/4 {
			t.Fatalf("%d pages, want %d", len(masses), n/4)
		}
		name := "in the order of discovery"
		if priority != "" {
			name = "--priority " + priority
		}
		row(name, sum(masses[:n/10]), sum(masses[:n/4]), moved)
		if at := sum(masses[:n/4]); priority == "" {
			plain = at
		} else if at < plain {
			t.Errorf("%s: %.3f of PageRank after a quarter of the pages, in the order of discovery %.3f",
				priority, at, plain)
		}
	}
}

func sum(all []float64) (s float64) {
	for _, v := range all {
		s += v
	}
	return s
}

// fetchedFirst crawls so many pages, and returns the rank of each, in the order of the requests.
func fetchedFirst(
	t *testing.T,
	rank map[string]float64,
	pages int,
	priority string,
) (masses []float64, moved int) {
	t.Helper()
	s := startSites(t)
	flags := []string{"--dns", s.dns, "--allow-net", "127.0.0.0/8", "--delay", "200ms", "--max-pages",
		fmt.Sprint(pages + pages/5)}
	if priority != "" {
		flags = append(flags, "--priority", priority)
	}
	c := newCluster(t, flags...)
	c.addReady(1)
	var seeds []string
	for i := range s.all {
		seeds = append(seeds, s.all[i].start())
	}
	c.nodes[0].seed(seeds...)
	c.finished(5 * time.Minute)
	moved = c.nodes[0].moved()
	c.stop()
	all := s.arrivals(t)
	slices.SortStableFunc(all, func(a, b arrival) int { return int(a.start - b.start) })
	for _, a := range all {
		if m, ok := rank["http://"+a.host+a.uri]; ok && a.status == 200 &&
			!strings.HasPrefix(a.uri, "/robots") {
			masses = append(masses, m)
		}
	}
	return masses, moved
}
