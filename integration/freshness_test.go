package integration

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/recrawl/policy"
	"crawlnode/recrawl/policy/estimate"
	"crawlnode/simweb"
)

// freshness makes TestFreshness run some of its cases in full.
var freshness = flag.String("freshness", "", "names of the cases of freshnessCases, "+
	"comma-separated, that TestFreshness runs in full; the figures go to docs/results/freshness.md")

// freshVirtual makes TestFreshness run its cases in virtual time.
var freshVirtual = flag.Bool("freshness-virtual", false, "run the cases of -freshness in virtual "+
	"time, where the speed of the machine is of no account; the figures are only logged")

// freshWorth is --recrawl-worth in the cases of TestFreshness.
var freshWorth = flag.Float64("freshness-worth", config.Default().RecrawlWorth,
	"--recrawl-worth in the cases of -freshness")

// freshCase is a web that changes, and a crawler with a fixed number of visits a second.
type freshCase struct {
	name   string
	mode   string
	visits float64 // a mean change
	nodes  int
	last   int     // mean intervals after the first pass
	least  float64 // gain in the last ten of them
	turn   int     // mean intervals after which a page's rate is drawn anew; 0: never
	// half of the hosts lie with their sitemaps, dates and entity tags, half tell the truth
	claims bool
}

var freshnessCases = []freshCase{
	{name: "0.2", mode: crawl.RecrawlAdaptive, visits: 0.2, nodes: 1, last: 50},
	{name: "1", mode: crawl.RecrawlAdaptive, visits: 1, nodes: 1, last: 50, least: 0.85},
	{name: "3", mode: crawl.RecrawlAdaptive, visits: 3, nodes: 1, last: 50, least: 0.85},
	{name: "1 on three nodes", mode: crawl.RecrawlAdaptive, visits: 1, nodes: 3, last: 50},
	{name: "1 fixed", mode: crawl.RecrawlFixed, visits: 1, nodes: 1, last: 10},
	{name: "1 with rates that change", mode: crawl.RecrawlAdaptive, visits: 1, nodes: 1, last: 50, turn: 20},
	{name: "1 with liars", mode: crawl.RecrawlAdaptive, visits: 1, nodes: 1, last: 50, claims: true},
}

// The web: 2,000 pages, as in the simulation of package recrawl. A host's pages change in a mean
// interval between the usual one and 114 times more or less, each page's rate is drawn around that.
// An answer takes freshLatency, so the fetchers of all nodes make up to freshBudget visits a
// second. A host is left alone for twice that after each answer, so it can have a 30th of the
// visits: 1.5 times what the best intervals give to any.
const (
	freshHosts, freshPages = 200, 10
	freshLatency           = 150 * time.Millisecond
	freshFetchers          = 10
	freshBudget            = freshFetchers / 0.150 // 67
	freshSpread            = 114
)

func (c *freshCase) web(mean time.Duration) simweb.Config {
	changes := simweb.Changes{
		Mean:   mean,
		Shape:  1,
		Spread: freshSpread,
		ETags:  simweb.Claims{Truthful: 500},
	}
	if c.turn > 0 {
		changes.Turn = time.Duration(c.turn) * meanInterval
	}
	if c.claims {
		half := simweb.Claims{Truthful: 500, Lying: 500}
		changes.ETags, changes.Dates, changes.Lastmods, changes.Ages = half, half, half, half
	}
	return simweb.Config{
		Seed:         91,
		Hosts:        freshHosts,
		PagesPerHost: freshPages,
		Skew:         -1,
		LinksPerPage: 6,
		PageBytes:    2500,
		Latency:      freshLatency,
		Changes:      changes,
	}
}

// meanInterval is the time in which each page can be visited once.
const meanInterval = time.Duration(freshHosts*freshPages*1000/freshBudget) * time.Millisecond // 30 s

// make makes the web in which so many visits a change are possible.
func (c *freshCase) make(t *testing.T, build func(simweb.Config) *simweb.Web) *simweb.Web {
	t.Helper()
	probe, err := simweb.New(c.web(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, u := range reachable(probe) {
		total += 1 / probe.Interval(u, time.Now()).Seconds()
	}
	return build(c.web(time.Duration(float64(time.Hour) * total * c.visits / freshBudget)))
}

// TestFreshness visits a web of 2,000 pages again and again, whose pages change at rates that the
// crawler does not know, with a fixed number of visits a second. The web server knows when it
// changed, and so how fresh the crawler's copies are, and how fresh they would be with equal
// intervals and with the best intervals for the pages' real rates.
func TestFreshness(t *testing.T) {
	needsProcesses(t)
	onRequest(t, *freshness != "",
		"a quarter of an hour for a case of -freshness; recrawl.TestSimulatedWeb judges the policy")
	for _, name := range strings.Split(*freshness, ",") {
		i := slices.IndexFunc(freshnessCases, func(c freshCase) bool { return c.name == name })
		if i < 0 {
			t.Fatalf("there is no case %q", name)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !*freshVirtual {
				freshnessCases[i].run(t)
				return
			}
			dir, row := t.TempDir(), ""
			synctest.Test(t, func(t *testing.T) { row = freshnessCases[i].runBubble(t, dir) })
			t.Log(row)
		})
	}
}

func (c *freshCase) run(t *testing.T) {
	var srv *simweb.Server
	web := c.make(t, func(config simweb.Config) (web *simweb.Web) {
		web, srv = serveSimweb(t, config)
		return web
	})
	pages := reachable(web)
	nodes := simCluster(t, srv, time.Millisecond, "--partitions", "512", "--store", "none",
		"--fetchers", fmt.Sprint(freshFetchers/c.nodes),
		"--recrawl", c.mode, "--recrawl-interval", c.guess().String(), "--recrawl-min", freshMin.String(),
		"--recrawl-max", freshMax.String(),
		"--recrawl-worth", fmt.Sprint(*freshWorth))
	nodes.addReady(c.nodes)
	nodes.converged(time.Minute)
	nodes.nodes[0].seed(web.Seeds()...)
	eachVisited(t, web, pages, 1, time.Time{})
	start := time.Now()
	for k := range c.last {
		time.Sleep(time.Until(start.Add(time.Duration(k+1) * meanInterval)))
		var s crawl.Status
		if err := nodes.nodes[0].decode("/status", &s); err != nil {
			t.Fatal(err)
		}
		c.note(t, k, &s)
	}
	nodes.stop()
	appendResult(t, "freshness.md", freshnessHead, c.judge(t, web, pages, start))
}

// The bounds of the intervals.
const freshMin, freshMax = time.Second, 2 * time.Hour

// guess is the usual interval that the crawler is given.
func (c *freshCase) guess() time.Duration {
	if c.mode == crawl.RecrawlAdaptive {
		return 3 * meanInterval // it is not known
	}
	return meanInterval
}

// note logs what a node says of a mean interval.
func (c *freshCase) note(t *testing.T, k int, s *crawl.Status) {
	t.Helper()
	f := s.Freshness
	t.Logf("interval %d: due %d, overdue %v, revisits %d, changed %d, expected %v", k, f.Due,
		quantile(f.OverdueSeconds.P50), f.RevisitsTotal, f.ChangedTotal, quantile(f.Expected))
}

func quantile(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

const freshnessHead = `# Freshness with the real binary

2,000 pages of 200 synthetic sites that change at random times, each at a rate of its own (the mean interval of a site within a factor of 114 of the usual one, its pages by a gamma distribution of shape 1), on a clock of seconds.
The crawler knows no rate and is given a usual interval that is wrong by a factor of three. Its 10 fetchers and answers of 150 ms make up to 67 visits a second (30 and 450 ms in rows before 0222). The web server knows when a copy is fresh. *case*: visits that are possible for each change of a page, and what
else is special. *gain*: what the crawler gains over equal intervals, as a share of what the best intervals for the real rates gain, with the same visits in each 30 seconds and on the same changes; mean of five mean intervals from the one named on. *mean interval*: the time in which
as many visits were made as there are pages; the column says how many there were after the first pass. *last ten*: gain in the last ten of them, as seen and by the rates, and the freshness there. Why it is judged so: [0219](../decisions/0219-freshness-at-the-web-server.md). Written by

    go test ./integration -run TestFreshness -freshness '1,3' -timeout 50m

| date | commit | case | visits a second | mean intervals | gain after 0 | 1 | 2 | 5 | 10 | 20 | 30 | last ten | by the rates | freshness then: ours, equal, best |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// freshPage is a page, and the visits that a schedule makes of it.
type freshPage struct {
	url    string
	visits []time.Time
}

// judge compares what the crawler did with schedules that have the same number of visits in each
// interval: equal intervals, and the best ones for the pages' real rates. It returns the row of the
// results.
func (c *freshCase) judge(
	t *testing.T,
	web *simweb.Web,
	pages []string,
	start time.Time,
) (row string) {
	t.Helper()
	ours, budgets := c.visitsOf(web, pages, start)
	n := float64(len(pages))
	equals := c.schedule(web, ours, start, budgets, func(_ []float64, budget float64) []float64 {
		return slices.Repeat([]float64{n / budget}, len(pages))
	})
	bests := c.schedule(web, ours, start, budgets, bestIntervals)
	var all freshCurves
	for k := range budgets {
		from, to := start.Add(time.Duration(k)*meanInterval), start.Add(time.Duration(k+1)*meanInterval)
		for i, of := range [][]freshPage{ours, equals, bests} {
			all.seen[i] = append(all.seen[i], freshOf(web, of, from, to))
			all.expected[i] = append(all.expected[i], expectedOf(web, of, from, to))
		}
		t.Logf(
			"%3d: %.1f visits a second; seen %.4f, equal %.4f, best %.4f; by the rates %.4f, %.4f, %.4f",
			k, budgets[k],
			all.seen[0][k], all.seen[1][k], all.seen[2][k], all.expected[0][k], all.expected[1][k],
			all.expected[2][k])
	}
	row = fmt.Sprintf("%s | %.1f | %.0f |", c.name, mean(budgets),
		intervals(budgets, len(budgets), len(pages)))
	for _, n := range []float64{0, 1, 2, 5, 10, 20, 30} {
		if intervals(budgets, len(budgets), len(pages)) < n+1 {
			row += " – |"
			continue
		}
		row += fmt.Sprintf(" %.2f |",
			gainOf(&all.seen, windowAt(budgets, n, len(pages)), windowAt(budgets, n+5, len(pages))))
	}
	last := windowAt(budgets, intervals(budgets, len(budgets), len(pages))-10, len(pages))
	final := gainOf(&all.seen, last, len(budgets))
	row += fmt.Sprintf(" %.3f | %.3f | %.4f, %.4f, %.4f |", final,
		gainOf(&all.expected, last, len(budgets)), mean(all.seen[0][last:]), mean(all.seen[1][last:]),
		mean(all.seen[2][last:]))
	t.Log(row)
	if final < c.least {
		t.Errorf(
			"in the last ten mean intervals the gain is %.3f of what the best intervals gain, want %.2f",
			final, c.least)
	}
	return row
}

// intervals is how often each of so many pages could be visited in the first k windows: in mean
// intervals.
func intervals(budgets []float64, k, pages int) (sum float64) {
	for _, b := range budgets[:k] {
		sum += b * meanInterval.Seconds() / float64(pages)
	}
	return sum
}

// windowAt is the window in which so many mean intervals have passed.
func windowAt(budgets []float64, n float64, pages int) (k int) {
	for k < len(budgets)-1 && intervals(budgets, k, pages) < n {
		k++
	}
	return k
}

// freshCurves has the freshness in each interval: of the crawler, of equal intervals and of the
// best ones.
type freshCurves struct{ seen, expected [3][]float64 }

// gainOf is what the crawler gains over equal intervals, as a share of what the best ones gain, in
// some intervals.
func gainOf(of *[3][]float64, from, to int) float64 {
	to = min(max(to, from+1), len(of[0]))
	equal := mean(of[1][from:to])
	return (mean(of[0][from:to]) - equal) / (mean(of[2][from:to]) - equal)
}

func mean(of []float64) (sum float64) {
	for _, v := range of {
		sum += v / float64(len(of))
	}
	return sum
}

// visitsOf returns the visits that the crawler has made, and how many of them a second in each
// interval.
func (c *freshCase) visitsOf(
	web *simweb.Web,
	pages []string,
	start time.Time,
) (ours []freshPage, budgets []float64) {
	ours, budgets = make([]freshPage, len(pages)), make([]float64, c.last)
	for i, u := range pages {
		ours[i].url = u
		for _, v := range web.Visits(u) {
			ours[i].visits = append(ours[i].visits, v.At)
			if k := int(v.At.Sub(start) / meanInterval); !v.At.Before(start) && k < c.last {
				budgets[k] += 1 / meanInterval.Seconds()
			}
		}
	}
	return ours, budgets
}

// schedule visits pages from the start on by the intervals that next chooses for the rates and the
// budget of the moment; the first visit after a random part of one. What was visited before the
// start stays.
func (c *freshCase) schedule(
	web *simweb.Web,
	ours []freshPage,
	start time.Time,
	budgets []float64,
	next func(rates []float64, budget float64) []float64,
) []freshPage {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]freshPage, len(ours))
	left := make([]float64, len(ours)) // of an interval, until the next visit
	for i := range ours {
		out[i].url = ours[i].url
		for _, at := range ours[i].visits {
			if at.Before(start) {
				out[i].visits = append(out[i].visits, at)
			}
		}
		left[i] = r.Float64()
	}
	for k, budget := range budgets {
		from, to := start.Add(time.Duration(k)*meanInterval), start.Add(time.Duration(k+1)*meanInterval)
		for i, seconds := range next(ratesAt(web, ours, from), budget) {
			at := from.Add(time.Duration(left[i] * seconds * float64(time.Second)))
			for ; at.Before(to); at = at.Add(time.Duration(seconds * float64(time.Second))) {
				out[i].visits = append(out[i].visits, at)
			}
			left[i] = at.Sub(to).Seconds() / seconds
		}
	}
	return out
}

func ratesAt(web *simweb.Web, pages []freshPage, at time.Time) []float64 {
	rates := make([]float64, len(pages))
	for i := range pages {
		rates[i] = 1 / web.Interval(pages[i].url, at).Seconds()
	}
	return rates
}

// bestIntervals are those with the greatest freshness for known rates under a budget of visits a
// second.
func bestIntervals(rates []float64, budget float64) []float64 {
	next := make([]float64, len(rates))
	low, high := 1e-6, 1e12
	for high/low > 1.0005 {
		price, visits := math.Sqrt(low*high), 0.0
		for i, rate := range rates {
			next[i] = min(policy.Interval(estimate.Known(rate), price), 1e8)
			visits += 1 / next[i]
		}
		if visits > budget {
			low = price
		} else {
			high = price
		}
	}
	return next
}

// freshOf is the share of a time in which the pages' copies are fresh.
func freshOf(web *simweb.Web, pages []freshPage, from, to time.Time) (sum float64) {
	for _, p := range pages {
		sum += web.FreshnessIf(p.url, p.visits, from, to)
	}
	return sum / float64(len(pages))
}

// expectedOf is the mean of freshOf over all webs whose pages have these rates.
func expectedOf(web *simweb.Web, pages []freshPage, from, to time.Time) (sum float64) {
	for _, p := range pages {
		rate := 1 / web.Interval(p.url, from).Seconds()
		k, _ := slices.BinarySearchFunc(p.visits, from, time.Time.Compare)
		for at, last := from, max(k-1, 0); at.Before(to); last++ {
			until := to
			if last+1 < len(p.visits) && p.visits[last+1].Before(to) {
				until = p.visits[last+1]
			}
			sum += math.Exp(-rate*at.Sub(p.visits[last]).Seconds()) *
				-math.Expm1(-rate*until.Sub(at).Seconds()) / rate
			at = until
		}
	}
	return sum / to.Sub(from).Seconds() / float64(len(pages))
}
