package integration

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// This file holds what happens at the edges of a cluster: to addresses, names,
// clocks, disks, machines and flags. Each begins here and ends by itself, or with
// the next rest.

// lasting is for what is in force for a while; the next rest ends it sooner.
func (s *simulation) lasting(d time.Duration, after func(time.Duration, func()), end func()) {
	s.begun++
	number := s.begun
	s.force[number] = end
	after(d, func() {
		if s.force[number] != nil {
			delete(s.force, number)
			end()
			s.shaken = time.Now()
		}
	})
}

// edge lets one fault of these kinds begin. It reports whether anything did.
func (s *simulation) edge(f fault, after func(time.Duration, func())) bool {
	switch f.kind {
	case moveNode:
		return s.moveAll(f, after)
	case otherRun:
		if m := s.running(f.nodes[0]); m != nil {
			m.flags = f.flags
			s.down(f.nodes[0], killNode, f.lasts[0], after)
			return true
		}
	case skewClock:
		if m := s.running(f.nodes[0]); m != nil {
			s.skew(m, f)
			return true
		}
	case fullDisk, fullArchive, quotaArchive, frozenDisk, badDisk:
		return s.ail(f, after)
	case slowDisk:
		if m := s.running(f.nodes[0]); m != nil {
			m.disk.pace.Store(int64(slowPace))
			s.lasting(f.lasts[0], after, func() { m.disk.pace.Store(int64(s.pace)) })
			return true
		}
	case pauseMachine:
		return s.pause(f.nodes[0], f.lasts[0], after)
	case stallLinks:
		return s.stall(f, after)
	case placeNode:
		return s.place(f)
	}
	return false
}

// moveAll kills nodes, each of which comes back at another address: a new one, or
// that of another of them, or its own. Names follow, and are remembered wrongly for
// a while.
func (s *simulation) moveAll(f fault, after func(time.Duration, func())) bool {
	was := map[string]netip.Addr{}
	for _, name := range f.nodes {
		if m := s.members[name]; m != nil {
			was[name] = m.addr
		}
	}
	moved, kind := false, killNode
	if f.silent && s.survivable(powerNode, f.nodes) {
		kind = powerNode
	}
	for i, name := range f.nodes {
		if m := s.running(name); m != nil {
			m.place = func() netip.Addr { return was[f.to[i]] } // none: a new one
			s.down(name, kind, f.lasts[i], after)
			moved = true
		}
	}
	return moved
}

// skew steps a machine's time of day, or changes how fast its clocks run. The lease
// of a node that sees a step ends.
func (s *simulation) skew(m *simMember, f fault) {
	m.clock.Step(f.step)
	m.clock.Run(f.rate)
	if m.life != nil && f.step != 0 {
		now := time.Now()
		s.troubles = append(s.troubles, trouble{m.name, now, now.Add(leftover)})
	}
}

// ail makes a machine's disk full, freezes it or lets it fail. A node whose disk
// fails ends; it is started again when there is another disk with the same content.
func (s *simulation) ail(f fault, after func(time.Duration, func())) bool {
	name, lasts := f.nodes[0], f.lasts[0]
	m := s.running(name)
	if m == nil {
		return false
	}
	now := time.Now()
	s.troubles = append(s.troubles, trouble{name, now, now.Add(lasts + leftover)})
	m.disk.ail(f.kind, 1)
	m.life.spoiled = m.life.spoiled || f.kind == badDisk
	s.lasting(lasts, after, func() {
		m.disk.ail(f.kind, -1)
		s.note("the disk of %s is good again", name)
		if f.kind == badDisk {
			s.revive(m)
		}
	})
	return true
}

// revive starts a node again that its disk has ended.
func (s *simulation) revive(m *simMember) {
	switch {
	case m.lost || m.life.crashed || !m.life.spoiled || !m.disk.sound():
	case !m.ended():
		s.crash(m.name, false) // it did not notice yet, or it still ends
		s.start(m.name)
	default:
		s.start(m.name)
	}
}

// pause stops a machine and its clocks. Requests that its node makes before another node has told
// it that time has passed may come too early.
func (s *simulation) pause(
	name string,
	lasts time.Duration,
	after func(time.Duration, func()),
) bool {
	m := s.running(name)
	if m == nil || m.stopped {
		return false
	}
	life := m.life
	m.clock.Pause()
	m.stopped = true
	s.net.Pause(name)
	now := time.Now()
	m.early = now.Add(lasts + s.unnoticed())
	s.web.judge.early(name, now, m.early)
	s.troubles = append(s.troubles, trouble{name, now, m.early.Add(leftover)})
	s.lasting(lasts, after, func() {
		if m.life == life && m.stopped {
			m.stopped = false
			m.clock.Resume()
			m.early = time.Now().Add(s.unnoticed())
			s.web.judge.early(name, now, m.early)
			s.note("the machine of %s goes on", name)
			s.net.Resume(name)
		}
	})
	return true
}

// unnoticed is how long after a pause a node may not know of it: until an exchange of
// clocks with another one, which begins every 250 ms. The others have closed their ends of
// its connections: the first request finds that out (a round trip), then come TCP's
// handshake, that of HTTP/2, and the exchange. One of these pieces may be lost and come a
// retransmission later. When that cannot be, it is until its lease has run out.
func (s *simulation) unnoticed() time.Duration {
	if len(s.cut) == 0 && len(s.slow) == 0 && s.stalls == 0 {
		const retransmission = 200 * time.Millisecond // as package simnet has it
		return 400*time.Millisecond + 8*(s.sound.Delay+s.sound.Jitter) + retransmission
	}
	return leftover
}

// stall lets a node take nothing from some others for a while; what they send waits.
func (s *simulation) stall(f fault, after func(time.Duration, func())) bool {
	if s.running(f.nodes[0]) == nil {
		return false
	}
	now, lasts := time.Now(), f.lasts[0]
	for _, name := range f.nodes {
		s.troubles = append(s.troubles, trouble{name, now, now.Add(lasts + leftover)})
	}
	s.stalls++
	for _, from := range f.nodes[1:] {
		s.net.Stall(from, f.nodes[0])
	}
	s.lasting(lasts, after, func() {
		s.stalls--
		for _, from := range f.nodes[1:] {
			s.net.Unstall(from, f.nodes[0])
		}
	})
	return true
}

// slowPace is what a write takes at most on a slow disk.
const slowPace = 400 * time.Millisecond

// promise is something that must be true some time after it was asked for.
type promise struct {
	fault
	end   time.Time
	pages int // at the beginning
}

// promiseKind is what is promised.
type promiseKind string

const (
	allServed   promiseKind = "every partition is served"
	restServed  promiseKind = "every partition is served that has a copy left"
	isMember    promiseKind = "is a member"
	morePages   promiseKind = "pages are fetched"
	hasEnded    promiseKind = "its process has ended"
	allCopies   promiseKind = "every partition has its copies"
	hasStood    promiseKind = "knows that its machine stood still"
	saysNoSpace promiseKind = "says that its archive has no space"
)

// expect begins to watch a promise.
func (s *simulation) expect(f fault) {
	s.promised = append(s.promised, &promise{f, time.Now().Add(f.lasts[0]), s.web.judge.progress()})
}

// watchPromises drops the promises that are kept and blames the broken ones.
func (s *simulation) watchPromises() {
	s.promised = slices.DeleteFunc(s.promised, func(p *promise) bool {
		why := s.missing(p)
		switch {
		case why == "":
			s.note("after %v: %s %v", time.Since(p.end.Add(-p.lasts[0])).Round(10*time.Millisecond),
				p.promise, p.nodes)
		case time.Now().After(p.end):
			s.t.Errorf("at %v: not after %v: %s: %s", s.clock(), p.lasts[0], p.promise, why)
		default:
			return false
		}
		return true
	})
}

// exhausted reports whether a promise has run its time and its node has nothing left to fetch. The
// node's identity differs in each run, and with it its share of the hosts: in some runs the rest of
// the web is behind the hosts of a silent node. A fetcher that waits for something is busy.
func (s *simulation) exhausted(p *promise) bool {
	if len(p.nodes) == 0 || time.Now().Before(p.end) {
		return false
	}
	for _, n := range s.status(p.nodes[0]).Nodes {
		if n.Name == p.nodes[0] {
			return n.Queued != nil && *n.Queued == 0 && n.Fetchers.Busy != nil && *n.Fetchers.Busy == 0
		}
	}
	return false
}

// missing returns why a promise is not kept yet, by the first of its nodes.
func (s *simulation) missing(p *promise) string {
	if p.promise == morePages {
		n := s.web.judge.progress() - p.pages
		if n < p.flags && !s.exhausted(p) {
			return fmt.Sprintf("%d pages of %d", n, p.flags)
		}
		return ""
	}
	m := s.members[p.nodes[0]]
	switch running := m != nil && m.runs(); {
	case p.promise == hasEnded && running:
		return p.nodes[0] + " still runs"
	case p.promise == hasEnded:
		return ""
	case !running:
		return p.nodes[0] + " does not run"
	}
	if p.promise == hasStood {
		if !strings.Contains(m.life.log.String(), "this machine stood still") {
			return "it has not said so"
		}
		return ""
	}
	if p.promise == saysNoSpace {
		if s.exhausted(p) {
			return "" // it has no page to write
		}
		return s.silentOfArchive(p.nodes[0])
	}
	ready, why := m.life.Ready()
	ring := s.status(p.nodes[0]).Ring
	switch p.promise {
	case isMember:
		if !ready {
			return why
		}
	case allServed:
		if ring.Served < simPartitions {
			return fmt.Sprintf("%d of %d", ring.Served, simPartitions)
		}
	case restServed:
		// Two of five nodes have both copies of a tenth of the partitions.
		if ring.Served+ring.Offline < simPartitions || ring.Offline > simPartitions/6 {
			return fmt.Sprintf("%d of %d, and %d are offline", ring.Served, simPartitions, ring.Offline)
		}
	case allCopies:
		if ring.UnderReplicated > 0 || ring.Served < simPartitions {
			return fmt.Sprintf("%d have too few, %d are served", ring.UnderReplicated, ring.Served)
		}
	}
	return ""
}
