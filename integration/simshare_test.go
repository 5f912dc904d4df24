package integration

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"crawlnode/crawl"
)

// did notes that something has happened to the cluster.
func (s *simulation) did(kind faultKind) { s.happened[string(kind)]++ }

// traits are what a schedule is beside its faults, for the table of shares.
func (p schedule) traits() []string {
	traits := []string{fmt.Sprintf("nodes at first: %d", p.first)}
	for trait, so := range map[string]bool{
		"--sync":              p.sync,
		"nodes have names":    p.named,
		"all have one --join": p.listed,
		"nodes keep archives": p.warc,
		"--recrawl fixed":     p.again.mode == crawl.RecrawlFixed,
		"--recrawl adaptive":  p.again.mode == crawl.RecrawlAdaptive,
	} {
		if so {
			traits = append(traits, trait)
		}
	}
	for _, f := range p.faults {
		if f.at < 0 {
			traits = append(traits, string(f.kind)+", from the start")
		}
	}
	return traits
}

// tellShare writes down what has happened, for TestSim.
func (s *simulation) tellShare() {
	for _, trait := range s.plan.traits() {
		s.happened[trait]++
	}
	s.t.Logf("happened: %s.", strings.Join(slices.Sorted(maps.Keys(s.happened)), "; "))
}

var shareLine = regexp.MustCompile(`happened: (.*)\.\n`)

// shares counts in how many of the seeds each fault has happened.
type shares struct {
	mu    sync.Mutex // guards the rest
	seeds int
	had   map[string]int
}

// note reads one seed's output.
func (s *shares) note(out string) {
	line := shareLine.FindStringSubmatch(out)
	if line == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seeds++
	for kind := range strings.SplitSeq(line[1], "; ") {
		s.had[kind]++
	}
}

// enough is the number of seeds in which each fault must have happened.
const enough = 50

// report prints the shares, and fails for a fault that has not happened.
func (s *shares) report(t *testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, kind := range allKinds {
		if s.had[string(kind)] == 0 && s.seeds >= enough {
			t.Errorf("%s has happened in none of %d seeds", kind, s.seeds)
		}
		if _, ok := s.had[string(kind)]; !ok && kind != lateName && kind != wrongJoin {
			s.had[string(kind)] = 0
		}
	}
	for _, kind := range slices.SortedFunc(maps.Keys(s.had),
		func(a, b string) int { return s.had[b] - s.had[a] }) {
		fmt.Fprintf(&b, "%-28s %5d %5.1f %%\n", kind, s.had[kind],
			100*float64(s.had[kind])/float64(max(s.seeds, 1)))
	}
	t.Logf("of %d seeds had\n%s", s.seeds, b.String())
}

// allKinds are the faults that a seed may draw.
var allKinds = []faultKind{joinNode, leaveNode, killNode, powerNode, loseNode, stopNode, cutLinks,
	slowLinks, tearLinks, giveSeed,
	moveNode, skewClock, replaceNode, otherRun, fullDisk, fullArchive, quotaArchive, frozenDisk,
	slowDisk, badDisk, pauseMachine, stallLinks}
