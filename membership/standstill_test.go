package membership

import (
	"math/rand/v2"
	"testing"
	"time"

	"crawlnode/crawl"
)

// twoClocks are those of a node and of its peer. The true time passes for both; a pause
// passes for the peer alone.
type twoClocks struct {
	own, peer           time.Duration
	ownSpeed, peerSpeed float64
}

func (c *twoClocks) pass(d time.Duration) {
	c.own += time.Duration(float64(d) * c.ownSpeed)
	c.peer += time.Duration(float64(d) * c.peerSpeed)
}

func (c *twoClocks) pause(d time.Duration) { c.peer += time.Duration(float64(d) * c.peerSpeed) }

// exchange is a call that takes there and back, and returns what s says of it.
func (c *twoClocks) exchange(s standstill, there, back time.Duration) time.Duration {
	asked := c.own
	c.pass(there)
	reading := c.peer
	c.pass(back)
	return s.answered("b", 1, reading, asked, c.own)
}

// Whatever messages take, and however clocks drift within their 5 %, no node that ran on
// is told that it stood still; and one that did for longer than a lease's margin learns
// of it with the next message of any kind.
func TestStandstill(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	delay := func() time.Duration {
		if rng.IntN(20) == 0 {
			return time.Duration(rng.Int64N(int64(3 * time.Second)))
		}
		return time.Duration(rng.Int64N(int64(20 * time.Millisecond)))
	}
	for round := range 500 {
		c := &twoClocks{own: time.Hour, peer: time.Duration(rng.Int64N(int64(100*time.Hour))) + 1, ownSpeed: 1, peerSpeed: 0.95 + rng.Float64()/10}
		s := standstill{}
		for n := range 200 {
			lost := time.Duration(0)
			switch rng.IntN(3) {
			case 0: // a reading that comes unasked
				reading := c.peer
				c.pass(delay())
				lost = s.told("b", 1, reading, c.own)
			case 1:
				c.pass(time.Duration(rng.Int64N(int64(time.Second))))
			case 2:
				lost = c.exchange(s, delay(), delay())
			}
			if lost != 0 {
				t.Fatalf("round %d, message %d: %v are said to be lost", round, n, lost)
			}
		}
		c.exchange(s, 5*time.Millisecond, 5*time.Millisecond)
		c.pass(time.Second)
		pause := time.Second + time.Duration(rng.Int64N(int64(time.Hour)))
		c.pause(pause)
		var lost time.Duration
		if round%2 == 0 {
			lost = c.exchange(s, 5*time.Millisecond, 5*time.Millisecond)
		} else {
			reading := c.peer
			c.pass(5 * time.Millisecond)
			lost = s.told("b", 1, reading, c.own)
		}
		if lost <= 0 || lost > time.Duration(1.06*float64(pause)) {
			t.Fatalf("round %d: a pause of %v, %v are said to be lost", round, pause, lost)
		}
		// It is told once, and then there is nothing to hold readings against.
		if again := s.told("b", 1, c.peer, c.own); again != 0 {
			t.Fatalf("round %d: told twice: %v", round, again)
		}
	}
}

// Pauses that are short each count together, while a lease lasts.
func TestStandstillAddsUp(t *testing.T) {
	t.Parallel()
	c := &twoClocks{own: time.Hour, peer: time.Hour, ownSpeed: 1, peerSpeed: 1}
	s := standstill{}
	lost, paused := time.Duration(0), time.Duration(0)
	for range int(LeaseTime / time.Second) {
		if lost = c.exchange(s, time.Millisecond, time.Millisecond); lost > 0 {
			break
		}
		c.pause(300 * time.Millisecond)
		paused += 300 * time.Millisecond
		c.pass(time.Second - 2*time.Millisecond)
	}
	if lost == 0 || paused > Fence-LeaseTime {
		t.Errorf("after pauses of %v in all, %v are said to be lost", paused, lost)
	}
	if margin := Fence - LeaseTime - LeaseTime/driftShare - standstillAllowance; margin < 0 {
		t.Errorf("what is not noticed during a lease exceeds the fence by %v", -margin)
	}
}

// What does not tell anything: other boots, missing readings, who is no member.
func TestStandstillOfWhom(t *testing.T) {
	t.Parallel()
	s := standstill{}
	const h = time.Hour
	s.answered("b", 2, 10*h, 5*h, 5*h)
	for name, lost := range map[string]time.Duration{
		"an earlier life":          s.told("b", 1, 20*h, 5*h),
		"an answer of one":         s.answered("b", 1, 20*h, 5*h, 5*h),
		"no reading":               s.told("b", 2, 0, 0),
		"somebody else":            s.told("c", 2, 20*h, 5*h),
		"the same":                 s.told("b", 2, 10*h, 5*h),
		"the peer has stood still": s.told("b", 2, 10*h, 6*h),
	} {
		if lost != 0 {
			t.Errorf("%s: %v are said to be lost", name, lost)
		}
	}
	if s.told("b", 2, 11*h, 5*h) == 0 {
		t.Error("what does not tell anything has hidden a standstill")
	}
	s.answered("b", 3, h, 5*h, 5*h) // a new life, of a machine that was started again
	if s.told("b", 3, h+time.Second, 5*h) == 0 {
		t.Error("a new life is not followed")
	}
	s.answered("b", 3, h, 5*h, 5*h)
	s.follow(leaseView(2, 1, "ac"))
	if len(s) != 0 {
		t.Error("who left the view is remembered")
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
	v := leaseView(1, 1, "abc")
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
	m.ClockTold("c", 1, peer)
	m.ClockTold("z", 1, 100*time.Hour)
	if !m.LeaseValid() {
		t.Fatal("void by a clock that it was never compared with")
	}
	m.ClockTold("b", 1, peer)
	if m.LeaseValid() {
		t.Error("leased after a pause")
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
