//race:none

package linkrank

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/importance/opic"
)

var only = flag.String("only", "", "the orders of TestMeasuredOrders whose names contain this")

var binary = flag.String("binary", "", "the program for TestRankCosts")

var results = flag.Bool("results", false,
	"run TestMeasuredOrders with 100,000 pages, and write its figures into docs/results/importance.md")

// realSites reads the documentation that the integration tests serve.
func realSites(t *testing.T) *Graph {
	t.Helper()
	raw, err := os.ReadFile("../testdata/sites/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Sites []struct{ Site, Package, Docroot, Start string }
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	var all []Site
	for _, s := range manifest.Sites {
		if _, err := os.Stat(s.Docroot); err != nil {
			why := fmt.Sprintf("needs %s, which make deps installs: %v", s.Package, err)
			if os.Getenv("CI") != "" {
				t.Fatalf("%s; CI is set, and there a missing dependency is a failure", why)
			}
			t.Skip(why)
		}
		all = append(all, Site{s.Site, s.Docroot, s.Start})
	}
	g, err := RealSites(all)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// figures are what is measured at one point of a crawl.
type figures struct {
	share       float64 // of the pages that are fetched
	correlation float64 // with the PageRank of the links that are known, over known pages
	final       float64 // with the PageRank of the whole graph, over known pages
	mass        float64 // of the PageRank of the whole graph that is fetched
	known       int
}

// measure compares a crawl as it is with the exact ranks.
func measure(t *testing.T, c *Crawl, share float64, exact []float64) figures {
	t.Helper()
	now, err := PageRank(c.g, func(page uint32) bool { return c.fetched[page] })
	if err != nil {
		t.Fatal(err)
	}
	f := figures{share: share}
	totals := c.Totals()
	var got, want, whole []float64
	for page, v := range totals {
		if c.fetched[page] {
			f.mass += exact[page]
		}
		if !c.known[page] {
			continue
		}
		f.known++
		if !c.fetched[page] { // its own Unit, as PageRank gives it to every page
			v += float64(opic.Unit)
		}
		got, want, whole = append(got, v), append(want, now[page]), append(whole, exact[page])
	}
	f.correlation, f.final = Spearman(got, want), Spearman(got, whole)
	return f
}

// crawled crawls the whole graph and measures on the way.
func crawled(t *testing.T, g *Graph, cfg Config, exact []float64) (*Crawl, []figures) {
	t.Helper()
	cfg.Oracle = exact
	c := NewCrawl(g, cfg)
	var all []figures
	shares := []float64{0.1, 0.25, 0.5, 1}
	for c.Tick() {
		for len(shares) > 0 && float64(c.count) >= shares[0]*float64(len(g.Links)) {
			all = append(all, measure(t, c, shares[0], exact))
			shares = shares[1:]
		}
	}
	if c.count != len(g.Links) {
		t.Errorf("%s: %d of %d pages are fetched", cfg.Order, c.count, len(g.Links))
	}
	return c, all
}

// conserved checks the sum of cash.
func conserved(t *testing.T, c *Crawl) {
	t.Helper()
	var sum opic.Ledger
	var pending opic.Cash
	for _, b := range c.books {
		sum.Plus(b.Ledger)
		pending += b.Pending()
	}
	if want := opic.Unit * opic.Cash(c.count); sum.Minted != want || sum.Held() != pending ||
		sum.Sent != sum.Received {
		t.Errorf("minted %d, want %d; held %d, pending %d; %+v", sum.Minted, want, sum.Held(), pending,
			sum)
	}
}

// apart are the differences of ranks: mean, 99 of 100, largest.
func apart(a, b []float64) (mean, p99, most float64) {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = math.Abs(a[i] - b[i])
		mean += d[i] / float64(len(a))
	}
	slices.Sort(d)
	return mean, d[len(d)*99/100], d[len(d)-1]
}

// The live measure follows PageRank on the way and at the end, and does not depend on how many
// nodes there are; the small form of TestMeasuredOrders.
func TestLiveMeasureFollowsPageRank(t *testing.T) {
	t.Parallel()
	graphs := map[string]*Graph{"drawn": Copying(rand.New(rand.NewPCG(1, 2)), 6_000, 600)}
	if !testing.Short() {
		graphs["real"] = realSites(t)
	}
	for name, g := range graphs {
		exact, err := PageRank(g, func(uint32) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		var first []float64
		for _, nodes := range []int{1, 3, 7} {
			c, all := crawled(t, g,
				Config{Order: ByBands, Nodes: nodes, Rate: 60, Settles: 1, Seed: uint64(nodes)}, exact)
			conserved(t, c)
			for _, f := range all {
				if f.correlation < 0.9 {
					t.Errorf("%s, %d nodes: correlation %.3f after %.0f %% of the pages", name, nodes,
						f.correlation, 100*f.share)
				}
			}
			c.Rest()
			conserved(t, c)
			ranks := c.RankOf()
			if first == nil {
				first = ranks
			}
			mean, p99, most := apart(first, ranks)
			t.Logf("%s, %d nodes: %+v; ranks differ by %.5f, %.5f, %.5f; %d settled, %d moved", name, nodes,
				all, mean, p99, most, c.settled, c.moves)
			if most > 0.01 {
				t.Errorf("%s: ranks of %d nodes differ from those of one by more than 1 %%: mean %.4f, "+
					"p99 %.4f, most %.4f",
					name, nodes, mean, p99, most)
			}
		}
	}
}

// The order as it is built fetches what is important earlier than breadth-first does.
func TestImportantPagesComeFirst(t *testing.T) {
	t.Parallel()
	g := Copying(rand.New(rand.NewPCG(1, 2)), 10_000, 1_000)
	exact, err := PageRank(g, func(uint32) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	_, breadth := crawled(t, g, Config{Order: BreadthFirst, Nodes: 1, Rate: 20, Seed: 1}, exact)
	c, built := crawled(t, g, Config{Order: AsBuilt, Nodes: 1, Rate: 20, Settles: 1, Seed: 1}, exact)
	t.Logf("breadth-first %+v; as built %+v; %d moves", breadth, built, c.moves)
	for i := range 2 { // after 10 and 25 %
		if built[i].mass < breadth[i].mass+0.01 {
			t.Errorf("after %.0f %% of the pages %.3f of PageRank are fetched, breadth-first %.3f",
				100*built[i].share, built[i].mass, breadth[i].mass)
		}
	}
	if c.moves > len(g.Links)*opic.MaxMoves {
		t.Errorf("%d moves", c.moves)
	}
}

// TestMeasuredOrders compares the orders, on 100,000 pages with -results.
func TestMeasuredOrders(t *testing.T) {
	if !*results {
		t.Skip("on request: -results was not given; TestLiveMeasureFollowsPageRank is the small form")
	}
	var out strings.Builder
	for _, c := range []struct {
		name string
		g    *Graph
		rate int
	}{
		{"drawn by the copying model", Copying(rand.New(rand.NewPCG(1, 2)), 100_000, 10_000), 100},
		{"real: documentation of sqlite, postgresql, debian-policy, gnuplot", realSites(t), 28},
	} {
		exact, err := PageRank(c.g, func(uint32) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		n := len(c.g.Links)
		fmt.Fprintf(&out,
			"\n## %s: %d pages, %d hosts, %d links\n\n"+
				"The best 10 %% of the pages have %.3f of all PageRank, the best 25 %% %.3f.\n\n",
			c.name, n, c.g.Hosts, c.g.Count(), shareOfBest(exact, n/10), shareOfBest(exact, n/4))
		out.WriteString("| order | nodes | settles a page | correlation at 10 % | 25 % | 50 % | 100 % " +
			"| with the final PageRank, at 10 % | 25 % | 50 % | PageRank fetched at 10 % | 25 % | 50 % | " +
			"moves a page |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
		var first []float64
		var differences strings.Builder
		for _, cfg := range []Config{
			{Order: BreadthFirst, Nodes: 1}, {Order: ByCash, Nodes: 1, Settles: 1},
			{Order: ByBands, Nodes: 1, Settles: 0.5}, {Order: ByBands, Nodes: 1, Settles: 1},
			{Order: ByBands, Nodes: 3, Settles: 1}, {Order: ByBands, Nodes: 7, Settles: 1},
			{Order: ByShares, Nodes: 1, Settles: 1}, {Order: ByScore, Nodes: 1, Settles: 1},
			{Order: AsBuilt, Nodes: 1, Settles: 1}, {Order: Omniscient, Nodes: 1},
		} {
			if !strings.Contains(string(cfg.Order), *only) {
				continue
			}
			cfg.Rate, cfg.Seed = c.rate, uint64(cfg.Nodes)
			k, all := crawled(t, c.g, cfg, exact)
			conserved(t, k)
			fmt.Fprintf(&out, "| %s | %d | %.2f |", cfg.Order, cfg.Nodes, float64(k.settled)/float64(n))
			for _, f := range all {
				fmt.Fprintf(&out, " %.3f |", f.correlation)
			}
			for _, f := range all[:3] {
				fmt.Fprintf(&out, " %.3f |", f.final)
			}
			for _, f := range all[:3] {
				fmt.Fprintf(&out, " %.3f |", f.mass)
			}
			fmt.Fprintf(&out, " %.2f |\n", float64(k.moves)/float64(n))
			if cfg.Order != ByBands || cfg.Settles != 1 {
				continue
			}
			more := k.Rest()
			conserved(t, k)
			ranks := k.RankOf()
			if first == nil {
				first = ranks
			}
			mean, p99, most := apart(first, ranks)
			fmt.Fprintf(&differences, "| %d | %.2f | %.5f | %.5f | %.5f | %.4f |\n", cfg.Nodes,
				float64(more)/float64(n), mean, p99, most, Spearman(k.Totals(), exact))
		}
		fmt.Fprintf(&out,
			"\nAt rest, after the crawl:\n\n| nodes | settles a page until rest | ranks differ from one "+
				"node's: mean | 99 of 100 | most | correlation |\n|---|---|---|---|---|---|\n%s",
			differences.String())
	}
	appendResults(t, "the order of a crawl, and the live measure beside PageRank", out.String())
}

// resultsHead is the beginning of the file of results.
const resultsHead = `# Importance

Appended by ` + "`go test ./integration/linkrank -v -results -binary bin/crawlnode`" +
	`. How the graphs are made and what is simulated stands in the package's comment. Correlation
is Spearman's, over all known pages, between the live measure and exact PageRank: of the links known at that time, or of the whole graph at the end ("final", which
nobody can know on the way: queued pages have few of their links yet). "Settles a page" are the times that fetched pages passed on cash again, for each page fetched.
`

// appendResults writes a section of docs/results/importance.md.
func appendResults(t *testing.T, title, text string) {
	t.Helper()
	t.Log(text)
	commit, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	const path = "../../docs/results/importance.md"
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		t.Fatal(err)
	} else if info.Size() == 0 {
		text = resultsHead + fmt.Sprintf("\n# %s, %s: %s\n%s", time.Now().UTC().Format(time.DateOnly),
			strings.TrimSpace(string(commit)), title, text)
	} else {
		text = fmt.Sprintf("\n# %s, %s: %s\n%s", time.Now().UTC().Format(time.DateOnly),
			strings.TrimSpace(string(commit)), title, text)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// TestRankCosts measures crawlnode graph rank on drawn graphs, with -results.
func TestRankCosts(t *testing.T) {
	if !*results || *binary == "" {
		t.Skip("on request: -results and -binary were not given")
	}
	out := "\n`crawlnode graph rank` of one list of links (gzip), all iterations to a change below " +
		"1e-9.\n\n" +
		"| pages | links in the file | distinct | iterations | CPU s | elapsed s | RSS at most, MiB |\n" +
		"|---|---|---|---|---|---|---|\n"
	for _, pages := range []int{160_000, 640_000} {
		g := Copying(rand.New(rand.NewPCG(1, 2)), pages, pages/10)
		path := filepath.Join(t.TempDir(), "links.jsonl.gz")
		writeLinks(t, g, path)
		began := time.Now()
		cmd := exec.Command(*binary, "graph", "rank", path, "-o", "json", "--top", "1", "--temp-dir",
			t.TempDir())
		raw, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		elapsed := time.Since(began)
		var got struct{ Nodes, Links, Iterations int }
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if got.Links != g.Count() {
			t.Errorf("%d links, the graph has %d", got.Links, g.Count())
		}
		used := cmd.ProcessState
		usage := used.SysUsage().(*syscall.Rusage)
		out += fmt.Sprintf("| %d | %d | %d | %d | %.1f | %.1f | %d |\n", got.Nodes, g.Count(), got.Links,
			got.Iterations, (used.UserTime() + used.SystemTime()).Seconds(), elapsed.Seconds(),
			usage.Maxrss>>10)
	}
	appendResults(t, "exact PageRank from files", out)
}

// writeLinks writes a list of links as package lists does.
func writeLinks(t *testing.T, g *Graph, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	url := func(page uint32) string {
		return fmt.Sprintf("http://host%d.example.org/pages/%d.html", g.Host[page], page)
	}
	for s, targets := range g.Links {
		for _, target := range targets {
			fmt.Fprintf(z, `{"source":"%s","target":"%s","text":"an anchor","tag":"a"}`+"\n", url(uint32(s)),
				url(target))
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}
