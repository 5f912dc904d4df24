package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/simweb"
)

// judge compares what the web server saw with what was promised. Times and shares are judged in
// long runs only, on a machine that does nothing else; that nothing is lost, and that no host is
// requested too early, is judged always.
func (f *trial) judge() {
	f.Helper()
	report, requests := f.web.Report(), f.trail.requests()
	f.f.reachable, f.f.duplicates = report.Reachable, report.Duplicates
	f.f.gap, f.f.delay = report.SmallestGap, f.delay
	if f.unfinished {
		report.Missing = 0 // act has judged
	}
	f.f.missing = report.Missing
	f.overlook(&report, requests)
	if err := report.ErrButDuplicates(); err != nil {
		f.Error(err)
	}
	late := unexcused(f.aware(repeats(requests)), f.excuses)
	f.f.late = len(late)
	// A disk that stalls holds completions up for longer than the window.
	if forgiven := f.forgiven(report.Pages); len(late) > forgiven {
		f.Errorf("%d pages had been done and were fetched again, more than %d:\n%s", len(late), forgiven,
			listed(late))
	}
	f.measure(requests)
	f.Logf("%s", f.f)
	if f.Failed() {
		f.Logf("faults: %s", f.story())
	}
	if report.Missing > 0 {
		f.Logf("links that were lost:\n%s", listed(f.lostLinks(requests)))
	}
	if *faultRuns > 0 && !raceDetector {
		f.strict()
	}
}

// forgiven is how many pages may be fetched again although they had been
// answered before the window of a fault: none in long runs.
func (f *trial) forgiven(pages int) int {
	if *faultRuns > 0 || len(f.excuses) == 0 {
		return 0
	}
	return pages / 100
}

// measure takes the times from the trail.
func (f *trial) measure(requests []simweb.Request) {
	for _, l := range f.lost {
		o := takeoverOf(requests, f.door(l.node), l.when, f.delay)
		if o.hosts > 0 {
			f.Logf(
				"%s was at %d hosts when it was lost; the first had another node after %v, the last after %v",
				l.node.name, o.hosts, o.first.Round(time.Millisecond), o.last.Round(time.Millisecond))
		}
		f.f.takeover, f.f.slowest = max(f.f.takeover, o.first), max(f.f.slowest, o.last)
	}
	if len(f.excuses) > 0 && !f.unfinished {
		f.f.pause, _ = longestPause(requests, f.excuses[0].from, f.ended)
	}
}

// strict judges shares and times.
func (f *trial) strict() {
	f.Helper()
	if most := f.scenario.duplicates*float64(f.f.reachable) +
		float64(f.unstored); float64(f.f.duplicates) > most {
		f.Errorf("%d pages (%.2f %%) were fetched twice, at most %.0f are promised", f.f.duplicates,
			f.f.share(), most)
	}
	if promised := f.scenario.takeover + f.delay; f.scenario.takeover > 0 && f.f.takeover > promised {
		f.Errorf("the first request to a lost node's hosts came after %v, promised: %v", f.f.takeover,
			promised)
	}
	if f.scenario.pause > 0 && f.f.pause > f.scenario.pause {
		f.Errorf("there was no request for %v, at most %v is promised", f.f.pause, f.scenario.pause)
	}
}

// lostLink is a page that was answered and links to one that was never requested: pages missing
// behind that one are missing because of it.
type lostLink struct {
	from simweb.Request // its last answer
	to   string
}

func (l lostLink) String() string {
	return fmt.Sprintf("%s, answered to %d at %s, leads to %s", l.from.URL, l.from.Door+1,
		l.from.End.Format("15:04:05.000"), l.to)
}

// lostLinks finds where the missing pages should have come from.
func (f *trial) lostLinks(requests []simweb.Request) []lostLink {
	missing := map[string]bool{}
	for url := range f.web.Reachable() {
		_, answered, _ := f.web.Fetches(url)
		missing[url] = answered == 0
	}
	last := map[string]simweb.Request{}
	for _, r := range requests {
		if r.Answered {
			last[r.URL] = r
		}
	}
	var lost []lostLink
	for _, from := range last {
		for _, to := range f.web.Links(from.URL) {
			if missing[to] {
				lost = append(lost, lostLink{from, to})
			}
		}
	}
	slices.SortFunc(lost, func(a, b lostLink) int { return a.from.End.Compare(b.from.End) })
	return lost
}

// story lists what was done to the cluster, for a reader of a failure.
func (f *trial) story() string {
	var parts []string
	for _, e := range f.excuses {
		parts = append(parts, e.from.Add(commitWindow).Format("15:04:05.000")+" "+e.what)
	}
	return strings.Join(parts, "; ")
}

func (f figures) share() float64 {
	return 100 * float64(f.duplicates) / float64(max(f.reachable, 1))
}

func (f figures) String() string {
	return fmt.Sprintf("%d pages, %d missing, %d fetched twice (%.2f %%), %d of these long done; "+
		"smallest gap %v of %v; take-over %v, last host %v; longest pause %v",
		f.reachable, f.missing, f.duplicates, f.share(), f.late, f.gap.Round(time.Millisecond), f.delay,
		f.takeover.Round(time.Millisecond), f.slowest.Round(time.Millisecond),
		f.pause.Round(time.Millisecond))
}

// soakScenario runs a scenario many times, with a new seed each, and appends one
// line with the worst figures.
func soakScenario(t *testing.T, s *scenario, runs int) {
	var worst figures
	failed, share, tight := 0, 0.0, 0.0
	for i := range runs {
		seed := testSeed(t)
		ok := t.Run(fmt.Sprint("run", i+1), func(t *testing.T) {
			f := runTrial(t, s, seed)
			worst.missing = max(worst.missing, f.missing)
			worst.takeover, worst.slowest = max(worst.takeover, f.takeover), max(worst.slowest, f.slowest)
			worst.pause = max(worst.pause, f.pause)
			share = max(share, f.share())
			if ratio := float64(f.gap) / float64(f.delay); tight == 0 || ratio < tight {
				tight = ratio
			}
		})
		if !ok {
			failed++
		}
	}
	appendFaults(t, s.name, runs, failed, worst, share, tight)
}

const faultsHead = `# Faults

Five real processes crawl a synthetic web in which every page has one way to it, while a fault strikes at a random moment;
judged at the web server's side. Worst figures of all runs: pages missing at the end, pages fetched twice, the smallest
gap between two requests to one host as a share of the promised one, the time until the first and until the last of a
lost node's hosts had another node, the longest time without any request. Appended by ` + "`make soak`" +
	`, or

    go test ./integration -count=1 -timeout 12h -v -run '^Test(Faults|Netns)$' -faults 20

| date | commit | scenario | runs | failed | missing | fetched twice, % | smallest gap / delay | take-over, s | last host, s | longest pause, s |
|---|---|---|---|---|---|---|---|---|---|---|
`

// figure writes a time in seconds, and a dash for what a scenario does not measure.
func figure(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", d.Seconds())
}

// appendFaults writes one row of docs/results/faults.md.
func appendFaults(
	t *testing.T,
	name string,
	runs, failed int,
	worst figures,
	share, tight float64,
) {
	t.Helper()
	appendResult(t, "faults.md", faultsHead, fmt.Sprintf(
		"%s | %d | %d | %d | %.2f | %.3f | %s | %s | %s |", name, runs, failed, worst.missing, share,
		tight,
		figure(worst.takeover), figure(worst.slowest), figure(worst.pause)))
}

// dump shows how each running node sees the cluster, for a reader of a failure.
func (f *trial) dump() {
	for _, n := range f.c.living() {
		var s struct {
			Cluster, Ring, Crawl, Frontier json.RawMessage
		}
		if err := n.decode("/status", &s); err != nil {
			f.Logf("%s: %v", n.name, err)
			continue
		}
		f.Logf("%s says:\ncluster %s\nring %s\ncrawl %s\nfrontier %s\n%s", n.name, s.Cluster, s.Ring,
			s.Crawl, s.Frontier, unconverged(n))
	}
}

// unconverged lists the partitions that are not held by their owner with all
// copies, as a node sees them.
func unconverged(n *node) string {
	var ring struct{ Partitions []map[string]any }
	if err := n.decode("/api/v1/ring", &ring); err != nil {
		return err.Error()
	}
	var odd []string
	for _, p := range ring.Partitions {
		if p["owner"] != p["holder"] || p["state"] != "held" {
			odd = append(odd, fmt.Sprint(p))
		}
	}
	return fmt.Sprintf("%d partitions are not with their owner, such as\n%s", len(odd),
		strings.Join(odd[:min(8, len(odd))], "\n"))
}
