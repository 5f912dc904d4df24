package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/integration/simnet"
)

// action is the beginning or the end of a fault.
type action struct {
	at time.Duration
	do func()
}

// run lets the faults happen. The end of each is put among what is to come when
// it begins.
func (s *simulation) run(faults []fault) {
	var todo []action
	later := func(at time.Duration, do func()) {
		i, _ := slices.BinarySearchFunc(todo, at, func(a action, at time.Duration) int {
			if a.at <= at {
				return -1
			}
			return 1
		})
		todo = slices.Insert(todo, i, action{at, do})
	}
	for _, f := range faults {
		later(f.at,
			func() { s.begin(f, func(d time.Duration, do func()) { later(time.Since(s.began)+d, do) }) })
	}
	for s.react() || len(todo) > 0 || len(s.promised) > 0 {
		if len(todo) == 0 {
			s.doze(100 * time.Millisecond)
			continue
		}
		next := todo[0]
		if wait := next.at - time.Since(s.began); wait > 0 {
			s.doze(wait) // what happens meanwhile may put something before it
			continue
		}
		todo = todo[1:]
		next.do()
	}
}

// clock is the time since the seeds were given.
func (s *simulation) clock() time.Duration {
	return time.Since(s.began).Round(10 * time.Millisecond)
}

// note writes down what happens.
func (s *simulation) note(format string, args ...any) {
	s.t.Logf("%6.2fs %4d pages: %s", s.clock().Seconds(), s.web.judge.progress(),
		fmt.Sprintf(format, args...))
}

// begin lets one fault happen; after says what happens how much later.
func (s *simulation) begin(f fault, after func(time.Duration, func())) {
	if f.at < 0 {
		return // it has been so from the start
	}
	s.note("%v", f)
	switch f.kind {
	case joinNode:
		s.join(f, after)
	case leaveNode:
		s.leave(f.nodes[0])
	case strikeNode:
		s.prepare(f, after)
		return // shakes when it comes
	case killNode, powerNode:
		kind := f.kind
		if kind != killNode && !s.survivable(kind, f.nodes) {
			kind = killNode
		}
		for i, name := range f.nodes {
			s.down(name, kind, f.lasts[i], after)
		}
	case stopNode:
		for i, name := range f.nodes {
			s.stop(name, f.lasts[i], after)
		}
	case cutLinks:
		s.cutAll(f.cuts, after)
	case slowLinks:
		s.did(slowLinks)
		s.slow = append(s.slow, f.link)
		s.net.SetDefault(f.link)
		era := s.era
		after(f.lasts[0], func() {
			if s.era == era {
				s.fast(f.link)
			}
		})
	case tearLinks:
		s.did(tearLinks)
		s.net.Tear(f.nodes[0], f.nodes[1])
	case giveSeed:
		s.giveSeed(f.nodes[0], anySeed)
		return // shakes nothing
	case expectThat:
		s.expect(f)
		return // as above
	default:
		if s.edge(f, after) {
			s.did(f.kind)
		}
	}
	s.shaken = time.Now()
}

// join starts a new machine. One that has the name of a lost node may be started at once:
// it has to wait by itself until a view has dropped that one.
func (s *simulation) join(f fault, after func(time.Duration, func())) {
	name, old := f.nodes[0], s.members[f.as]
	if old != nil && old.lost {
		if f.forget && !old.forgotten && s.tryForget(f.as) != nil {
			after(5*time.Second, func() { s.join(f, after) })
			return
		}
		s.heirs[name] = heir{old: old, place: f.heir}
		s.did(replaceNode)
	}
	s.did(joinNode)
	s.start(name)
	s.shaken = time.Now()
}

// running finds a member that can be hurt.
func (s *simulation) running(name string) *simMember {
	if m := s.members[name]; m != nil && m.runs() {
		return m
	}
	s.note("skipped: %s is not running", name)
	return nil
}

// leave asks a node to leave, unless no node would be left to take over.
func (s *simulation) leave(name string) {
	if m := s.running(name); m != nil && !m.gone && len(s.up()) > 1 {
		s.did(leaveNode)
		s.drain(name)
	}
}

// survivable reports whether the design promises that nothing is lost when these
// machines lose their disks, or what was not synced: with --sync any loss of
// power; else one machine at a time, once everything has all its copies.
func (s *simulation) survivable(kind faultKind, names []string) bool {
	if kind == powerNode && s.sync {
		return true
	}
	if simReplication < 2 || len(names) > 1 || time.Since(s.shaken) < 4*time.Second ||
		len(s.cut) > 0 || len(s.force) > 0 {
		return false
	}
	up := s.up()
	if len(up) < 2 ||
		len(up) != len(s.those(func(m *simMember) bool { return !m.lost && (!m.gone || m.runs()) })) {
		return false
	}
	for _, name := range up {
		ring := s.status(name).Ring
		if s.members[name].stopped || !ring.Converged || ring.UnderReplicated > 0 || ring.Offline > 0 ||
			ring.Promoting > 0 {
			return false
		}
	}
	return true
}

// down ends a process; for a time, or for good.
func (s *simulation) down(
	name string,
	kind faultKind,
	lasts time.Duration,
	after func(time.Duration, func()),
) {
	m := s.running(name)
	if m == nil {
		return
	}
	life := m.life
	s.did(kind)
	s.crash(name, kind == powerNode)
	if kind == loseNode {
		m.lost = true
		s.note("%s is lost", name)
		s.loseSmall(name, after)
		return
	}
	after(lasts, func() { s.startAgain(m, life, after) })
}

// startAgain starts a crashed member again, unless it was already started. With a disk that accepts
// no writes no process gets far.
func (s *simulation) startAgain(m *simMember, last *life, after func(time.Duration, func())) {
	switch {
	case m.life != last:
	case !m.disk.sound():
		after(500*time.Millisecond, func() { s.startAgain(m, last, after) })
	default:
		s.note("start %s", m.name)
		s.start(m.name)
		s.shaken = time.Now()
	}
}

// stop pauses a process. It may fetch what others fetch again until it has
// noticed that its lease has run out.
func (s *simulation) stop(name string, lasts time.Duration, after func(time.Duration, func())) {
	m := s.running(name)
	if m == nil || m.stopped {
		return
	}
	life := m.life
	s.did(stopNode)
	m.stopped = true
	s.net.Pause(name)
	now := time.Now()
	s.troubles = append(s.troubles, trouble{name, now, now.Add(lasts + leftover)})
	after(lasts, func() {
		if m.life == life && m.stopped {
			m.stopped = false
			s.note("continue %s", name)
			s.net.Resume(name)
			s.shaken = time.Now()
		}
	})
}

// cutAll cuts directions, each until it heals or the last of the cuts that it is
// part of has.
func (s *simulation) cutAll(cuts []cut, after func(time.Duration, func())) {
	now, era := time.Now(), s.era
	if len(cuts) > 0 {
		s.did(cutLinks)
	}
	for _, c := range cuts {
		key := [2]string{c.from, c.to}
		s.cut[key]++
		s.net.Cut(c.from, c.to)
		for _, name := range key {
			s.troubles = append(s.troubles, trouble{name, now, now.Add(c.lasts + leftover)})
		}
		after(c.lasts, func() {
			if s.era != era {
				return
			}
			if s.cut[key]--; s.cut[key] == 0 {
				delete(s.cut, key)
				s.net.Mend(c.from, c.to)
				s.shaken = time.Now()
			}
		})
	}
}

// fast ends one time of slow links.
func (s *simulation) fast(l simnet.Link) {
	if i := slices.Index(s.slow, l); i >= 0 {
		s.slow = slices.Delete(s.slow, i, i+1)
	}
	link := s.sound
	if len(s.slow) > 0 {
		link = s.slow[len(s.slow)-1]
	}
	s.net.SetDefault(link)
	s.shaken = time.Now()
}

// seedBook remembers which spare seeds no node has acknowledged yet.
type seedBook struct {
	mu     sync.Mutex // guards left
	left   []string
	giving sync.WaitGroup
}

func newSeedBook(urls []string) *seedBook { return &seedBook{left: urls} }

// take takes a seed out of the book, to be given to a node: a preferred one, if there is one.
func (b *seedBook) take(liked func(url string) bool) (url string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.left) == 0 {
		return "", false
	}
	i := max(0, slices.IndexFunc(b.left, liked))
	url = b.left[i]
	b.left = slices.Delete(b.left, i, i+1)
	return url, true
}

func anySeed(string) bool { return true }

// refused puts a seed back that was not accepted.
func (b *seedBook) refused(url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = append(b.left, url)
}

// giveSeed gives a spare seed to a node. What a node has accepted is not given
// again: it must be crawled, whatever happens to that node from then on.
func (s *simulation) giveSeed(name string, liked func(url string) bool) {
	m := s.running(name)
	if m == nil {
		return
	}
	if url, ok := s.seeds.take(liked); ok {
		s.did(giveSeed)
		l := m.life
		s.seeds.giving.Go(func() {
			report, err := addSeed(l, url)
			if err != nil {
				s.seeds.refused(url)
				return
			}
			s.ambush.saw(acknowledged, "")
			if report.Accepted+report.Duplicates != 1 {
				s.web.judge.blame("%s reports %+v of seed %s", name, report, url)
			}
		})
	}
}

func addSeed(l *life, url string) (crawl.SeedReport, error) {
	return l.AddSeeds(context.Background(), []crawl.Seed{{URL: url}})
}

// calm ends every fault and starts every member that is needed. A member that could not leave in
// its time is still a member, and is started again.
func (s *simulation) calm() {
	s.note("calm")
	s.mendAll()
	for _, name := range s.names {
		m := s.members[name]
		switch {
		case m.lost:
		case m.ended() && !m.gone && !m.life.crashed:
			if !m.life.endedOfDisk() {
				s.t.Errorf("%s ended by itself: %v", name, m.life.err)
			}
			s.start(name)
		case m.life.crashed:
			s.start(name)
		case m.stopped:
			m.stopped = false
			s.net.Resume(name)
		}
	}
	for _, name := range s.those(func(m *simMember) bool { return m.gone && !m.lost }) {
		m := s.members[name]
		<-m.life.done
		if m.life.err != nil && !m.life.endedOfDisk() {
			s.t.Errorf("%s left with %v", name, m.life.err)
		}
		if !strings.Contains(m.life.log.String(), "left the cluster; everything was handed over") {
			s.note("%s could not leave in its time and is started again", name)
			s.start(name)
		}
	}
	s.forget()
	s.seeds.giving.Wait()
	s.until(5*time.Minute, func() string {
		url, ok := s.seeds.take(anySeed)
		if !ok {
			return ""
		}
		report, err := addSeed(s.members[s.up()[0]].life, url)
		if err != nil || report.Accepted+report.Duplicates != 1 {
			s.seeds.refused(url)
			return fmt.Sprintf("%s does not take seed %s: %+v, %v", s.up()[0], url, report, err)
		}
		return fmt.Sprintf("seed %s was taken only now", url)
	})
}
