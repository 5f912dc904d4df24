package integration

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"crawlnode/simweb"
)

// cuts are what happens to the network between five nodes that each have one of
// their own.
var cuts = []scenario{
	{
		name:       "cut-20s",
		quick:      true,
		lab:        true,
		duplicates: cutRepeats,
		shape:      long,
		act:        func(f *trial) { f.cutFor(20*time.Second, f.draw(2)) },
	},
	{
		name:       "cut-90s",
		instead:    []string{"TestNetns/cut-20s"},
		lab:        true,
		duplicates: cutRepeats,
		shape:      longer,
		act:        func(f *trial) { f.cutFor(90*time.Second, f.draw(2)) },
	},
	{
		name:       "isolated-30s",
		instead:    []string{"TestNetns/cut-20s", "TestOneOfTwoStopped"},
		lab:        true,
		duplicates: cutRepeats,
		shape:      long,
		act:        func(f *trial) { f.cutFor(30*time.Second, f.draw(1)) },
	},
	{name: "one-way-30s", instead: []string{"fault cut"}, lab: true, duplicates: cutRepeats, shape: long, act: oneWay},
	{name: "loss-20-percent", instead: []string{"fault links"}, lab: true, shape: steady, act: loseaFifth},
}

// cutRepeats is the share of pages that a cut may repeat: those that the smaller side completes
// during its lease, up to eight seconds, and cannot copy to another node.
const cutRepeats = 0.1

// longer makes a web that takes some two minutes.
func longer(c *simweb.Config) {
	long(c)
	c.PagesPerHost = 160
}

// steady makes a web that is crawled at one speed for some three minutes: all
// hosts are known from the start and are of one size.
func steady(c *simweb.Config) {
	c.Thin, c.Hosts, c.SeedHosts = false, 40, 40
	c.Delay, c.PagesPerHost = 500*time.Millisecond, 330
}

// TestNetns cuts, loses and heals between nodes in network namespaces. `make
// soak` runs each scenario many times with -faults.
func TestNetns(t *testing.T) {
	needsProcesses(t)
	needsRoot(t)
	beside(t, *faultRuns)
	for _, list := range [][]scenario{cuts, renamed} {
		runScenarios(t, list)
	}
}

// enterNamespace puts a node into its namespace, at an address of its own.
func (f *trial) enterNamespace(n *node) {
	f.Helper()
	i := f.lab.add()
	if i != f.door(n) {
		f.Fatalf("BUG: %s is node %d and has namespace %d", n.name, f.door(n), i)
	}
	f.moveTo(n, i)
	n.flags = append(n.flags, "--insecure")
	if f.names != nil {
		f.names.serve(f.T, i)
		f.call(n)
	}
}

// labDoor tells by its address which node sent a request.
func labDoor(remote string) int {
	addr, err := netip.ParseAddrPort(remote)
	if err != nil {
		return -1
	}
	return int(addr.Addr().Unmap().As4()[3]) - labFirst
}

// draw draws some nodes, by number.
func (f *trial) draw(count int) []int { return f.random.Perm(len(f.c.nodes))[:count] }

// cutFor cuts a minority off, checks that it pauses in time and that no host is
// asked from both sides, heals, and checks that all come together again.
func (f *trial) cutFor(d time.Duration, few []int) {
	f.Helper()
	f.crawlTo(0.05, 0.15)
	few = few[:min(len(few), (len(f.c.nodes)-1)/2)] // a minority, however many there are
	var many []int
	for i := range f.c.nodes {
		if !slices.Contains(few, i) {
			many = append(many, i)
		}
	}
	cut := time.Now()
	f.lab.cut(few, many)
	f.Logf("%s: cut %v off from %v at %d pages", cut.Format("15:04:05.000"), few, many,
		f.web.Progress())
	// What a side fetched until its lease ended cannot be copied to the other.
	f.excuses = append(f.excuses,
		disturbance{fmt.Sprintf("cut of %v", few), cut.Add(-commitWindow), cut.Add(10 * time.Second)})
	for _, i := range few {
		n := f.c.nodes[i]
		f.lost = append(f.lost, loss{n, cut})
		until(f.T, time.Until(cut.Add(10*time.Second)), func() string {
			if s, err := n.status(); err != nil || s.Cluster.State != "paused_minority" ||
				!s.explains("paused_minority") {
				return fmt.Sprintf("%s is %q, with %+v: %v", n.name, s.Cluster.State, s.Cluster.Health, err)
			}
			return ""
		})
	}
	time.Sleep(time.Until(cut.Add(d)))
	healed := time.Now()
	f.lab.heal()
	f.Logf("%s: healed at %d pages", healed.Format("15:04:05.000"), f.web.Progress())
	f.c.converged(30 * time.Second)
	f.Logf("all together again after %v", time.Since(healed).Round(100*time.Millisecond))
	f.judgeSides(few, cut, healed)
}

// judgeSides checks that during a cut a host may go from the minority to the
// majority, once, and never back.
func (f *trial) judgeSides(few []int, cut, healed time.Time) {
	f.Helper()
	taken := map[string]time.Time{}
	for _, r := range f.trail.requests() {
		if r.Start.Before(cut) || r.Start.After(healed) {
			continue
		}
		since, over := taken[r.Host]
		switch {
		case !slices.Contains(few, r.Door):
			if !over {
				taken[r.Host] = r.Start
			}
		case over:
			f.Errorf("%s was asked for by node %d %v after the other side had come to its host", r.URL,
				r.Door+1, r.Start.Sub(since))
		}
	}
}

// oneWay makes one node deaf to two others, which still hear it.
func oneWay(f *trial) {
	f.crawlTo(0.05, 0.15)
	drawn := f.draw(3)
	s, err := f.c.nodes[drawn[1]].status()
	if err != nil {
		f.Fatal(err)
	}
	before := s.Ring.View
	cut := time.Now()
	f.lab.deafen(drawn[0], drawn[1])
	f.lab.deafen(drawn[0], drawn[2])
	f.Logf("%s: node %d does not hear %d and %d", cut.Format("15:04:05.000"), drawn[0], drawn[1],
		drawn[2])
	time.Sleep(30 * time.Second)
	f.lab.heal()
	healed := time.Now()
	f.excuses = append(f.excuses,
		disturbance{fmt.Sprintf("one-way cut of %v", drawn), cut.Add(-commitWindow), healed})
	f.c.converged(30 * time.Second)
	if s, err = f.c.nodes[drawn[1]].status(); err != nil {
		f.Fatal(err)
	}
	// Out and in again is two views; more is a cluster that cannot make up its mind.
	f.Logf("%d views in %v", s.Ring.View-before, time.Since(cut).Round(time.Second))
	if s.Ring.View-before > 4 {
		f.Errorf("%d views were decided during one cut: the members flap", s.Ring.View-before)
	}
}

// loseaFifth drops every fifth packet between nodes: no node is considered dead, and the crawl
// continues nearly as fast.
func loseaFifth(f *trial) {
	f.crawlTo(0.03, 0.04) // all hosts are known and under way
	rate := func(d time.Duration) float64 {
		pages, start := f.web.Progress(), time.Now()
		time.Sleep(d)
		return float64(f.web.Progress()-pages) / time.Since(start).Seconds()
	}
	before := rate(15 * time.Second)
	view := 0
	for i, to := range f.c.nodes {
		s, err := to.status()
		if err != nil {
			f.Fatal(err)
		}
		view = max(view, s.Ring.View)
		for j := range f.c.nodes {
			if i != j {
				f.lab.deafen(i, j, "-m", "statistic", "--mode", "random", "--probability", "0.2")
			}
		}
	}
	during := rate(2 * time.Minute)
	for _, n := range f.c.nodes {
		if s, err := n.status(); err != nil || s.Ring.View != view || s.Cluster.Members.Failed > 0 {
			f.Errorf("%s: view %d, was %d; %d members failed (%v)", n.name, s.Ring.View, view,
				s.Cluster.Members.Failed, err)
		}
	}
	f.lab.heal()
	f.Logf("%.0f pages/s before, %.0f with one packet in five lost", before, during)
	if during < 0.7*before {
		f.Errorf("%.0f pages/s with one packet in five lost, %.0f before: less than 70 %%", during,
			before)
	}
}
