package membership

import (
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// handClock is moved by the test.
type handClock struct{ boot, wall atomic.Int64 }

func (c *handClock) BootTime() time.Duration { return time.Duration(c.boot.Load()) }

func (c *handClock) Wall() time.Time { return time.Unix(0, c.wall.Load()) }

func (c *handClock) pass(d time.Duration) {
	c.boot.Add(int64(d))
	c.wall.Add(int64(d))
}

// viewOf is a view of members with ids of one letter, all in their first boot.
func viewOf(number crawl.Epoch, ids string) *View {
	v := &View{Number: number, Cluster: foundedCluster}
	for _, r := range ids {
		v.Members = append(v.Members, Member{ID: crawl.NodeID(r), Boot: 1, Since: 1})
	}
	return v
}

func TestLeasing(t *testing.T) {
	t.Parallel()
	clock := new(handClock)
	clock.pass(time.Hour)
	l := newLeasing(clock, "a", 1, false)
	if l.remaining() != 0 {
		t.Error("leased without a view")
	}
	v := viewOf(1, "ab")
	m := &Membership{leases: l}
	l.follow(v, v)
	if got := m.Lease(); got != consensus.LeaseTime || !m.LeaseValid() {
		t.Errorf("half of two lasts %v", got)
	}
	if !m.Grant(1, "b", 1) || m.Grant(1, "b", 2) || m.Grant(2, "b", 1) || m.Grant(1, "c", 1) {
		t.Error("grants wrongly")
	}
	// A slow drift is no jump, whatever it adds up to.
	for range 5 {
		clock.wall.Add(int64(time.Second))
		if _, jumped := l.look(); jumped || !m.LeaseValid() {
			t.Error("a drift ends the lease")
		}
	}
	l.follow(v, nil)
	if m.Grant(1, "b", 1) {
		t.Error("grants after an acceptance")
	}
	clock.pass(3 * time.Second)
	if got := m.Lease(); got != 5*time.Second {
		t.Errorf("three seconds after an acceptance: %v", got)
	}
	clock.wall.Add(-int64(3 * time.Second))
	if m.LeaseValid() {
		t.Error("leased after a jump of the wall clock")
	}
	heard, jumped := l.look()
	if !jumped || m.LeaseValid() {
		t.Errorf("the jump is noticed: %v, leased: %v", jumped, m.LeaseValid())
	}
	if heard["b"] != 1 {
		t.Errorf("heard: %v", heard)
	}
	if heard, _ := l.look(); len(heard) != 0 {
		t.Errorf("heard twice: %v", heard)
	}
	next := viewOf(2, "abc")
	l.follow(next, next)
	if m.LeaseValid() {
		t.Error("leased without a grant")
	}
	sent := m.LeaseAsked()
	clock.pass(time.Second)
	m.LeaseGranted(2, "b", sent)
	if got := m.Lease(); got != 7*time.Second {
		t.Errorf("granted for a request of a second ago: %v", got)
	}
	if heard, _ := l.look(); heard["b"] != 1 {
		t.Errorf("a grant is no sign of life: %v", heard)
	}
}

// TestSystemClock: both clocks move, and forwards.
func TestSystemClock(t *testing.T) {
	t.Parallel()
	var c systemClock
	first, wall := c.BootTime(), c.Wall()
	for c.BootTime() == first {
	}
	if c.BootTime() < first || c.Wall().Before(wall.Add(-time.Minute)) || first <= 0 {
		t.Errorf("boot time %v, then %v", first, c.BootTime())
	}
}

func BenchmarkLease(b *testing.B) {
	l := newLeasing(systemClock{}, "a", 1, false)
	v := viewOf(1, "ab")
	l.follow(v, v)
	m := &Membership{leases: l}
	for b.Loop() {
		m.LeaseValid()
	}
}

// A lease is void once the clocks of others say that this machine stood still, also when
// an answer from before comes after; it is back with a grant that was asked for since.
func TestLeaseOfPausedMachine(t *testing.T) {
	t.Parallel()
	clock := new(handClock)
	clock.pass(time.Hour)
	m := &Membership{leases: newLeasing(clock, "a", 1, false), leaseEnded: make(chan struct{}, 1)}
	m.o.setDefaults()
	v := viewOf(1, "abc")
	m.leases.follow(v, v)
	peer := 7 * time.Hour
	asked := m.ClockReading()
	m.ClockAnswered("b", 1, peer, asked)
	m.LeaseGranted(1, "b", asked)
	if !m.LeaseValid() {
		t.Fatal("not leased")
	}
	clock.pass(time.Second)
	peer += time.Second
	stale := m.ClockReading()
	// The machine is paused here for 25 s.
	peer += 25 * time.Second
	clock.pass(time.Millisecond)
	if !m.LeaseValid() {
		t.Fatal("nobody can know yet")
	}
	if at := m.ClockCompared(); at != 0 {
		t.Errorf("compared at %v: the first answer of a member compares nothing", at)
	}
	m.ClockTold("c", 1, peer)
	m.ClockTold("z", 1, 100*time.Hour)
	if at := m.ClockCompared(); at != 0 {
		t.Errorf("compared at %v with clocks that have never answered", at)
	}
	if !m.LeaseValid() {
		t.Fatal("void by a clock that it was never compared with")
	}
	m.ClockTold("b", 1, peer)
	if m.LeaseValid() {
		t.Error("leased after a pause")
	}
	if m.ClockCompared() != m.ClockReading() {
		t.Errorf("compared at %v, want %v", m.ClockCompared(), m.ClockReading())
	}
	select {
	case <-m.LeaseEnded():
	default:
		t.Error("nobody is told")
	}
	m.LeaseGranted(1, "b", stale)
	clock.pass(time.Millisecond)
	m.LeaseGranted(1, crawl.NodeID("c"), stale)
	if m.LeaseValid() {
		t.Error("leased by what was asked for before the pause")
	}
	m.LeaseGranted(1, "b", m.ClockReading())
	if !m.LeaseValid() {
		t.Error("not leased by what was asked for after it")
	}
}

// TestSharesClock: only members with this very clock say nothing by their readings.
func TestSharesClock(t *testing.T) {
	t.Parallel()
	own := consensus.Process{Machine: "m", PID: 1}
	for _, c := range []struct {
		name  string
		self  consensus.Process
		clock Clock
		other string
		want  bool
	}{
		{"same machine", own, systemClock{}, "m", true},
		{"another machine", own, systemClock{}, "n", false},
		{"unknown machines", consensus.Process{}, systemClock{}, "", false},
		{"a clock of its own", own, new(handClock), "m", false},
	} {
		shares := sharesClock(c.self, c.clock)
		if got := shares(Member{ID: "b", Process: consensus.Process{Machine: c.other, PID: 2}}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	// A reading of such a member is no comparison.
	m := &Membership{leases: newLeasing(new(handClock), "a", 1, false), leaseEnded: make(chan struct{}, 1)}
	m.leases.shares = func(o Member) bool { return o.ID == "b" }
	v := viewOf(1, "abc")
	m.leases.follow(v, v)
	for i, id := range []crawl.NodeID{"b", "b", "c", "c"} {
		m.leases.clock.(*handClock).pass(time.Second)
		m.ClockAnswered(id, 1, time.Hour, m.ClockReading())
		if compared := m.ClockCompared() == m.ClockReading(); compared != (i == 3) {
			t.Errorf("answer %d, of %s: compared %v", i, id, compared)
		}
	}
}
