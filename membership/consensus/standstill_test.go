package consensus

import (
	"math/rand/v2"
	"testing"
	"time"
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
func (c *twoClocks) exchange(s Standstill, there, back time.Duration) time.Duration {
	asked := c.own
	c.pass(there)
	reading := c.peer
	c.pass(back)
	return s.Answered("b", 1, reading, asked, c.own)
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
		s := Standstill{}
		for n := range 200 {
			lost := time.Duration(0)
			switch rng.IntN(3) {
			case 0: // a reading that comes unasked
				reading := c.peer
				c.pass(delay())
				lost = s.Told("b", 1, reading, c.own)
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
			lost = s.Told("b", 1, reading, c.own)
		}
		if lost <= 0 || lost > time.Duration(1.06*float64(pause)) {
			t.Fatalf("round %d: a pause of %v, %v are said to be lost", round, pause, lost)
		}
		// It is told once, and then there is nothing to hold readings against.
		if again := s.Told("b", 1, c.peer, c.own); again != 0 {
			t.Fatalf("round %d: told twice: %v", round, again)
		}
	}
}

// Pauses that are short each count together, while a lease lasts.
func TestStandstillAddsUp(t *testing.T) {
	t.Parallel()
	c := &twoClocks{own: time.Hour, peer: time.Hour, ownSpeed: 1, peerSpeed: 1}
	s := Standstill{}
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
	s := Standstill{}
	const h = time.Hour
	s.Answered("b", 2, 10*h, 5*h, 5*h)
	for name, lost := range map[string]time.Duration{
		"an earlier life":          s.Told("b", 1, 20*h, 5*h),
		"an answer of one":         s.Answered("b", 1, 20*h, 5*h, 5*h),
		"no reading":               s.Told("b", 2, 0, 0),
		"somebody else":            s.Told("c", 2, 20*h, 5*h),
		"the same":                 s.Told("b", 2, 10*h, 5*h),
		"the peer has stood still": s.Told("b", 2, 10*h, 6*h),
	} {
		if lost != 0 {
			t.Errorf("%s: %v are said to be lost", name, lost)
		}
	}
	if s.Told("b", 2, 11*h, 5*h) == 0 {
		t.Error("what does not tell anything has hidden a standstill")
	}
	s.Answered("b", 3, h, 5*h, 5*h) // a new life, of a machine that was started again
	if s.Told("b", 3, h+time.Second, 5*h) == 0 {
		t.Error("a new life is not followed")
	}
	s.Answered("b", 3, h, 5*h, 5*h)
	s.Follow(leaseView(2, 1, "ac"))
	if len(s) != 0 {
		t.Error("who left the view is remembered")
	}
}
