package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/integration/simnet"
	"crawlnode/simweb"
)

// TestSim crawls a synthetic web with whole nodes in one bubble, while nodes
// join, leave, crash and come back and the network does what networks do, as the
// seed says. Then the network rests, everybody is started again, and the judge at
// the web's side must find every page fetched, politely, by one node at a time,
// and repeated only where a crash explains it.
//
// SEEDS is the number of seeds, from 1 on. A seed repeats the faults and not the
// interleaving of goroutines: run a failing seed many times.
func TestSim(t *testing.T) {
	t.Parallel()
	seeds := 3
	if testing.Short() {
		seeds = 1
	}
	if text := os.Getenv("SEEDS"); text != "" {
		var err error
		if seeds, err = strconv.Atoi(text); err != nil {
			t.Fatalf("SEEDS: %v", err)
		}
	}
	for seed := 1; seed <= seeds; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { simulate(t, dir, uint64(seed)) })
			if t.Failed() {
				t.Logf("repeat with: SEEDS=%d go test -race -run '^TestSim$/^seed=%d$' -count=20 ./integration", seed, seed)
			}
		})
	}
}

// step is one thing that happens to the cluster.
type step struct {
	after time.Duration // the step before
	what  string        // join, leave, crash, restart, cut, heal, link
	node  string
	other string      // cut
	link  simnet.Link // link
}

func (s step) String() string {
	switch s.what {
	case "cut":
		return fmt.Sprintf("%6v cut %s -> %s", s.after, s.node, s.other)
	case "link":
		return fmt.Sprintf("%6v link %+v", s.after, s.link)
	}
	return fmt.Sprintf("%6v %s %s", s.after, s.what, s.node)
}

// plan draws what happens. A crashed node is started again before the next thing
// happens, so that most of the members are there and the crawl goes on.
func plan(random *rand.Rand) []step {
	var steps []step
	add := func(least, most int, s step) {
		s.after = time.Duration(least+random.IntN(most-least+1)) * 100 * time.Millisecond
		steps = append(steps, s)
	}
	active, next := []string{"n1", "n2", "n3"}, 4
	for range 6 {
		i := random.IntN(len(active))
		name, other := active[i], active[(i+1+random.IntN(len(active)-1))%len(active)]
		switch kind := random.IntN(10); {
		case kind < 2 && next <= 5:
			joiner := fmt.Sprint("n", next)
			next++
			active = append(active, joiner)
			add(20, 100, step{what: "join", node: joiner})
		case kind < 4 && len(active) > 2:
			active = slices.Delete(active, i, i+1)
			add(20, 100, step{what: "leave", node: name})
		case kind < 7:
			add(20, 100, step{what: "crash", node: name})
			add(1, 150, step{what: "restart", node: name})
		case kind < 9:
			add(20, 100, step{what: "cut", node: name, other: other})
			if random.IntN(2) == 0 {
				add(0, 0, step{what: "cut", node: other, other: name})
			}
			add(10, 100, step{what: "heal"})
		default:
			add(20, 100, step{what: "link", link: simnet.Link{
				Delay:  time.Duration(random.IntN(60)) * time.Millisecond,
				Jitter: time.Duration(random.IntN(60)) * time.Millisecond,
				Drop:   random.Float64() * 0.05, Dup: random.Float64() * 0.05,
			}})
		}
	}
	return steps
}

func simulate(t *testing.T, dir string, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	steps := plan(random)
	for _, step := range steps {
		t.Log(step)
	}
	// Few links, and most of them to other hosts: a lost one can be missed.
	s := newSimulation(t, dir, seed, simweb.Config{Seed: seed, Hosts: 12, SeedHosts: 3, PagesPerHost: 50, Skew: 0.2, TrapPages: 10,
		LinksPerPage: 5, CrossHost: 600, PageBytes: 2000, Addrs: simAddrs, Delay: simDelay}.Quirky())
	defer s.shutdown()
	s.net.SetDefault(simnet.Link{Delay: 5 * time.Millisecond, Jitter: 20 * time.Millisecond, Drop: 0.005, Dup: 0.01})
	began := time.Now()
	for _, name := range []string{"n1", "n2", "n3"} {
		s.start(name)
	}
	if !s.converged(time.Minute, 3) {
		s.logs()
		return
	}
	s.seed("n2")
	for _, step := range steps {
		time.Sleep(step.after)
		t.Logf("%7v %4d pages:%v", time.Since(began).Round(time.Millisecond), s.web.Progress(), step)
		s.do(step)
	}
	s.calm()
	t.Logf("%7v %4d pages: calm", time.Since(began).Round(time.Millisecond), s.web.Progress())
	if s.finished(20 * time.Minute) {
		t.Logf("%7v finished", time.Since(began).Round(time.Millisecond))
		s.judge()
	}
	if t.Failed() {
		s.logs()
	}
}

func (s *simulation) seed(name string) {
	s.t.Helper()
	var seeds []crawl.Seed
	for _, u := range s.web.Seeds() {
		seeds = append(seeds, crawl.Seed{URL: u})
	}
	report, err := s.members[name].life.AddSeeds(s.t.Context(), seeds)
	if err != nil || report.Accepted != len(seeds) {
		s.t.Errorf("seeds: %+v, %v", report, err)
	}
}

func (s *simulation) do(step step) {
	switch step.what {
	case "join", "restart":
		s.start(step.node)
	case "leave":
		s.drain(step.node)
	case "crash":
		s.crash(step.node)
	case "cut":
		s.net.Cut(step.node, step.other)
	case "heal":
		s.net.Heal()
	case "link":
		s.net.SetDefault(step.link)
	}
}

// calm repairs the network and waits for those who leave. Who could not leave in
// its time is still a member, and is started again.
func (s *simulation) calm() {
	s.net.Heal()
	s.net.SetDefault(simnet.Link{Delay: time.Millisecond})
	for _, name := range s.names {
		m := s.members[name]
		if !m.gone {
			continue
		}
		<-m.life.done
		if m.life.err != nil {
			s.t.Errorf("%s left with %v", name, m.life.err)
		}
		if !strings.Contains(m.life.log.String(), "left the cluster; everything was handed over") {
			s.t.Logf("%s could not leave in its time and is started again", name)
			s.cuts += simFetchers // settling waits for open fetches, but not for ever
			s.start(name)
		}
	}
}

// converged waits until all running nodes are members and the ring rests.
func (s *simulation) converged(within time.Duration, members int) bool {
	s.t.Helper()
	return s.until(within, func() string {
		for _, name := range s.up() {
			st := s.status(name)
			if ok, why := s.members[name].life.Ready(); !ok || !st.Ring.Converged || st.Cluster.Members.Alive != members {
				return fmt.Sprintf("%s: ready %v (%s), ring %+v, members %+v", name, ok, why, st.Ring, st.Cluster.Members)
			}
		}
		return ""
	})
}

// finished waits until every node says that the crawl has ended, and that they
// count the same pages.
func (s *simulation) finished(within time.Duration) bool {
	s.t.Helper()
	return s.until(within, func() string {
		var total int64
		for i, name := range s.up() {
			m, st := s.members[name], s.status(name)
			if m.ended() {
				return fmt.Sprintf("%s has ended: %v", name, m.life.err)
			}
			reason, ok := m.life.Finished()
			if !ok || reason != crawl.FinishExhausted || !st.Ring.Converged || st.Cluster.State != crawl.ClusterFinished {
				return fmt.Sprintf("%s: finished %v (%q), cluster %+v, ring %+v, frontier %+v", name, ok, reason, st.Cluster, st.Ring, st.Frontier)
			}
			if i == 0 {
				total = st.Throughput.PagesTotal
			}
			if st.Throughput.PagesTotal != total {
				return fmt.Sprintf("%s counts %d pages, %s %d", name, st.Throughput.PagesTotal, s.up()[0], total)
			}
		}
		return ""
	})
}

// judge compares what the web has seen with what it should have.
func (s *simulation) judge() {
	s.t.Helper()
	report := s.web.Report()
	if err := report.ErrButDuplicates(); err != nil {
		s.t.Error(err)
	}
	if report.Duplicates > s.cuts {
		s.t.Errorf("%d pages were answered again, the crashes explain %d, such as %v", report.Duplicates, s.cuts, report.DuplicateExamples)
	}
	total := s.status(s.up()[0]).Throughput.PagesTotal
	if total < int64(report.Reachable) {
		s.t.Errorf("the nodes count %d pages, %d were reachable", total, report.Reachable)
	}
	s.t.Logf("%d pages, %d again, smallest gap %v, %d requests", report.Pages, report.Duplicates, report.SmallestGap, report.Requests)
}

// logs shows the ends of what the nodes have logged.
func (s *simulation) logs() {
	for _, name := range s.names {
		for _, l := range s.members[name].lives {
			text := l.log.String()
			s.t.Logf("%s has logged:\n%s", name, text[max(0, len(text)-20_000):])
		}
	}
}
