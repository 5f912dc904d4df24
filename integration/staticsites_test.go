package integration

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

var withStatic = flag.Bool("static", false, "crawl real static documentation with --render off "+
	"and with auto, and append the figures to docs/results/rendering.md (TestStaticSites)")

// scriptedSites are those beside the list of testdata/sites whose pages have scripts. They are
// crawled where they are installed.
var scriptedSites = []site{
	{Name: "fish", Docroot: "/usr/share/doc/fish", Start: "/index.html"},
	{Name: "node", Docroot: "/usr/share/doc/nodejs", Start: "/api/index.html"},
}

const staticHead = `# Rendering

Real static documentation (the manuals of SQLite, PostgreSQL, gnuplot, the Debian policy, and fish and Node.js where they are installed) is crawled over loopback by one node: with --render off and with auto, in turn, twice each.
*with scripts*: pages that have a script, so that auto has to look at them. *rendered*: pages that auto has shown to the browser. *CPU*: processor seconds of the node and of its browser, the lesser of two crawls. Appended by

    go test ./integration -count=1 -v -run '^TestStaticSites$' -static

| date | commit | sites | pages | with scripts | rendered | share, % | CPU off, s | CPU auto, s: node | browser | load of the machine | why they were rendered |
|---|---|---|---|---|---|---|---|---|---|---|---|
`

// staticCrawl is what one crawl of the sites has cost and done.
type staticCrawl struct {
	pages, scripted, rendered int
	reasons                   []string // of the rendered ones
	node, browser             time.Duration
}

// TestStaticSites crawls more than 1,000 pages of real documentation, which need no browser:
// --render auto shows one in a hundred at most to it, and finds the same pages as off does.
func TestStaticSites(t *testing.T) {
	onRequest(t, *withStatic,
		"four crawls of real sites take minutes: run it with -static, as make nightly does")
	needsBrowser(t)
	var more []site
	for _, site := range scriptedSites {
		if _, err := os.Stat(site.Docroot + site.Start); err == nil {
			more = append(more, site)
		}
	}
	s := startSites(t, more...)
	var off, auto staticCrawl
	for round := range 2 {
		o, a := crawlStatic(t, s, crawl.RenderOff), crawlStatic(t, s, crawl.RenderAuto)
		t.Logf("round %d: off %+v; auto %+v", round, o, a)
		if o.pages != a.pages || o.rendered > 0 || o.browser > 0 {
			t.Errorf("off: %d pages, %d of them rendered, %v of a browser; auto: %d", o.pages, o.rendered,
				o.browser, a.pages)
		}
		if a.pages < 1000 || a.scripted < 100 || a.rendered*100 > a.pages {
			t.Errorf("%d pages, %d with scripts, %d rendered: %q", a.pages, a.scripted, a.rendered,
				a.reasons)
		}
		if round == 0 || o.node < off.node {
			off = o
		}
		if round == 0 || a.node+a.browser < auto.node+auto.browser {
			auto = a
		}
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	appendResult(t, "rendering.md", staticHead, fmt.Sprintf(
		"%d | %d | %d | %d | %.2f | %.1f | %.1f | %.1f | %s | %s |", len(s.all), auto.pages,
		auto.scripted, auto.rendered,
		100*float64(auto.rendered)/float64(auto.pages), off.node.Seconds(), auto.node.Seconds(),
		auto.browser.Seconds(), strings.Fields(string(load))[0], strings.Join(auto.reasons, "; ")))
}

// crawlStatic crawls the sites with one new node.
func crawlStatic(t *testing.T, s *sites, mode string) (r staticCrawl) {
	t.Helper()
	before := len(s.arrivals(t))
	c := newCluster(t, "--dns", s.dns, "--allow-net", "127.0.0.0/8", "--delay", "0s", "--ip-delay",
		"0", "--partitions", "512", "--render", mode)
	c.addReady(1)
	n := c.nodes[0]
	browser := watchBrowser(t, n)
	var seeds []string
	for i := range s.all {
		seeds = append(seeds, s.all[i].start())
	}
	// only forms lead to the pages that search, and these seem to need a browser
	for i := range s.all {
		if u := strings.TrimSuffix(s.all[i].start(), "index.html") +
			"search.html"; s.all[i].Name == "policy" || s.all[i].Name == "fish" {
			seeds = append(seeds, u)
		}
	}
	n.seed(seeds...)
	c.finished(slack(4 * time.Minute))
	var st crawl.Status
	if err := n.decode("/status", &st); err != nil {
		t.Fatal(err)
	}
	r.node, r.browser = cpuTime(n.cmd.Process.Pid), browser() // before the questions below
	judged := map[string]bool{}
	for _, a := range s.arrivals(t)[before:] {
		u := "http://" + a.host + a.uri
		if mode == crawl.RenderOff || a.status != http.StatusOK || judged[u] {
			continue
		}
		var report crawl.URLReport
		if err := n.decode("/api/v1/urls?url="+url.QueryEscape(u), &report); err != nil {
			t.Fatal(err)
		}
		if report.Render == nil { // no page
			continue
		}
		judged[u] = true
		if report.Render.Reason != "the page has no script" {
			r.scripted++
		}
		if report.Render.Decided == crawl.RenderedPage {
			r.rendered++
			r.reasons = append(r.reasons, strings.TrimPrefix(u, "http://")+": "+report.Render.Reason)
		}
	}
	if int64(r.rendered) != st.Render.PagesTotal {
		t.Errorf("%d pages are called rendered, the status counts %d", r.rendered, st.Render.PagesTotal)
	}
	c.stop()
	archived, _ := archivedPages(t, c, func(p capture) bool {
		return p.status == http.StatusOK && strings.HasPrefix(p.contentType, "text/html")
	})
	if r.pages = len(archived); mode != crawl.RenderOff && len(judged) != r.pages {
		t.Errorf("%d pages are archived, about %d was decided", r.pages, len(judged))
	}
	return r
}

// watchBrowser adds up the processor time of the processes of a node's browser until its result is
// called. Some end before: they are looked at often.
func watchBrowser(t *testing.T, n *node) (used func() time.Duration) {
	t.Helper()
	most := map[int]time.Duration{}
	stop := often(t, func() {
		for _, pid := range inGroups(groupsOf(t, n)) {
			most[pid] = max(most[pid], cpuTime(pid))
		}
	})
	return func() (sum time.Duration) {
		stop()
		for _, d := range most {
			sum += d
		}
		return sum
	}
}
