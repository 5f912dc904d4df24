package visits

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"crawlnode/recrawl/policy"
)

// results makes TestSimulatedWeb run in full and write what it found.
var results = flag.String("results", "", "simulate 100,000 pages and write this section of "+
	"docs/results/recrawl.md, such as \"sites, 0.2\"; all: every section")

const resultsFile = "../../docs/results/recrawl.md"

var bounds = policy.Bounds{Min: time.Minute, Max: 90 * 24 * time.Hour}

// gained is what a policy gains over equal intervals, as a share of what the optimum with known
// rates gains, in each mean interval.
func gained(s *simulation, equal, best float64) []float64 {
	out := make([]float64, len(s.curve))
	for k, fresh := range s.curve {
		out[k] = (fresh - equal) / (best - equal)
	}
	return out
}

// around is the mean of a curve over the intervals from k on, at most five of them.
func around(curve []float64, k int) (sum float64) {
	part := curve[k:min(k+5, len(curve))]
	for _, v := range part {
		sum += v
	}
	return sum / float64(len(part))
}

// TestSimulatedWeb: from unknown rates, the policy gains most of what can be known after ten mean
// intervals, and more later; equal intervals and doubling gain nothing.
func TestSimulatedWeb(t *testing.T) {
	if *results != "" {
		writeResults(t)
		return
	}
	const n = 3000
	for _, c := range []struct {
		web    *web
		visits float64 // a mean change
		least  float64 // gain after ten mean intervals
	}{{siteWeb(n), 1, 0.7}, {siteWeb(n), 3, 0.75}, {flatWeb(n), 1, 0.5}} {
		budget := c.visits * c.web.total()
		equal, best := equalFreshness(c.web.rates, budget), bestFreshness(c.web.rates, budget)
		ours := gained(simulate(c.web, budget, 15, newAdaptive(c.web, budget, bounds), 5), equal, best)
		heuristic := gained(simulate(c.web, budget, 15, doubling{bounds}, 5), equal, best)
		t.Logf("%s, %.1f visits a change: equal %.4f, best %.4f, gain %.3f, doubling %.3f", c.web.name,
			c.visits, equal, best, around(ours, 10), around(heuristic, 10))
		if around(ours, 10) < c.least {
			t.Errorf("%s, %.1f visits a change: the gain is %.3f of the optimum's, want %.2f", c.web.name,
				c.visits, around(ours, 10), c.least)
		}
		if around(ours, 10) < around(heuristic, 10)+0.3 {
			t.Errorf("%s, %.1f visits a change: the gain is %.3f, that of doubling %.3f", c.web.name,
				c.visits, around(ours, 10), around(heuristic, 10))
		}
	}
}

// TestLiars: sites that date each answer with the present gain nothing by it, and the other sites
// lose nothing.
func TestLiars(t *testing.T) {
	w := siteWeb(2000)
	budget := w.total()
	equal, best := equalFreshness(w.rates, budget), bestFreshness(w.rates, budget)
	gain := func(lies float64) float64 {
		w.lies = lies
		return around(gained(simulate(w, budget, 15, newAdaptive(w, budget, bounds), 5), equal, best), 10)
	}
	without, with := gain(0), gain(0.5)
	if with < without-0.1 {
		t.Errorf("the gain is %.3f when half of the sites lie, %.3f when none does", with, without)
	}
}

// TestExpectedFreshness: what the model expects at its price is what the pages have.
func TestExpectedFreshness(t *testing.T) {
	w := siteWeb(3000)
	budget := w.total()
	a := newAdaptive(w, budget, bounds)
	s := simulate(w, budget, 20, a, 5)
	expected, ok := a.sum.Expected(a.price)
	if got := around(s.curve, 15); !ok || expected < got-0.03 || expected > got+0.03 {
		t.Errorf("%.3f is expected, %.3f of the pages are fresh", expected, got)
	}
}

// marks are the intervals that the results show.
var marks = []int{0, 1, 2, 5, 10, 20, 50, 100, 200, 400}

func line(b *strings.Builder, label string, curve []float64) {
	fmt.Fprintf(b, "| %s |", label)
	for _, k := range marks {
		if k >= len(curve) {
			b.WriteString(" |")
			continue
		}
		fmt.Fprintf(b, " %.3f |", around(curve, k))
	}
	b.WriteString("\n")
}

func header(b *strings.Builder, first string) {
	fmt.Fprintf(b, "\n| %s |", first)
	for _, k := range marks {
		fmt.Fprintf(b, " %d |", k)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(marks)) + "\n")
}

// writeResults replaces the sections that were asked for. Each begins with its heading.
func writeResults(t *testing.T) {
	for _, of := range []func(int) *web{siteWeb, flatWeb} {
		for _, visits := range []float64{0.2, 1, 3} {
			heading := fmt.Sprintf("\n## %s, %.1f visits a mean change\n", of(1).name, visits)
			if *results != "all" && !strings.Contains(heading, *results+" visits") {
				continue
			}
			section := heading + compare(of, visits)
			text, err := os.ReadFile(resultsFile)
			if err != nil {
				t.Fatal(err)
			}
			before, rest, found := strings.Cut(string(text), heading)
			if _, after, more := strings.Cut(rest, "\n## "); found && more {
				section += "\n## " + after
			}
			if err := os.WriteFile(resultsFile, []byte(before+section), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// compare runs all policies on one web.
func compare(of func(int) *web, visits float64) string {
	const many, few = 100000, 2000
	var b strings.Builder
	w := of(many)
	budget := visits * w.total()
	equal, best := equalFreshness(w.rates, budget), bestFreshness(w.rates, budget)
	fmt.Fprintf(&b, "\nFreshness of 100,000 pages: equal intervals %.4f, "+
		"optimum with known rates %.4f. The pages' mean interval between changes is %.1f mean "+
		"intervals.\n",
		equal, best, w.meanInterval()*budget/many)
	run := func(label string, intervals int, how schedule) {
		line(&b, label, gained(simulate(w, budget, intervals, how, 5), equal, best))
	}
	header(&b, "gain after mean intervals")
	run("100,000 pages: doubling", 12, doubling{bounds})
	run("ours", 12, newAdaptive(w, budget, bounds))

	w = of(few)
	budget = visits * w.total()
	equal, best = equalFreshness(w.rates, budget), bestFreshness(w.rates, budget)
	run("2,000 pages: ours", 405, newAdaptive(w, budget, bounds))
	told := newAdaptive(w, budget, bounds)
	told.told = true
	run("told each site's distribution", 25, told)
	w.dated = 1
	run("servers date their changes", 55, newAdaptive(w, budget, bounds))
	w.lies = 0.5
	run("half of the sites lie about their dates", 55, newAdaptive(w, budget, bounds))
	w.dated, w.lies, w.drift = 0, 0, 30
	run("rates drawn anew each 30 intervals", 55, newAdaptive(w, budget, bounds))
	return b.String()
}
