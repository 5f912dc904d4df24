package consensus

import (
	"time"

	"crawlnode/crawl"
)

// A machine that is paused from outside, as a virtual machine is for a snapshot or a
// migration, cannot detect it alone: all its clocks stand still, and its lease seems
// valid, while others may have taken over what it holds. Its peers' clocks run on
// meanwhile. So each renewal, and each answer, carries a reading of the sender's clock,
// and the receiver compares it with its own.

// By how much a node may fall behind a peer since the peer's last answer: a tenth of the
// time, which is twice the allowed drift between clocks, and half a second. Over the
// length of a lease that is less than the margin of Fence.
const (
	driftShare          = 10
	standstillAllowance = 500 * time.Millisecond
)

// Standstill detects that the own clock stood still. It is pure, and not safe for
// concurrent use. For each peer it keeps an upper bound of how far the peer's clock was
// ahead of the own one. A reading that was made before now gives a lower bound of how far
// it is ahead now. If that exceeds the upper bound, the own clock has lost the
// difference, however long messages took.
type Standstill map[crawl.NodeID]peerClock

// peerClock is the upper bound for one peer's clock.
type peerClock struct {
	boot crawl.Boot
	// ahead is how far the peer's clock was ahead at most, at the own time at.
	ahead, at time.Duration
}

// most is how far the peer's clock is ahead at most now, unless the own one stood still.
func (p peerClock) most(now time.Duration) time.Duration {
	return p.ahead + (now-p.at)/driftShare
}

// Knows reports whether a reading of that clock can be compared: the peer has answered since it started.
func (s Standstill) Knows(id crawl.NodeID, boot crawl.Boot) bool {
	p, known := s[id]
	return known && p.boot == boot
}

// Told takes in a reading of a peer's clock that was made before now. It returns for how
// long the own clock has certainly stood still since the last answer of that peer,
// the allowance deducted; 0 for not at all.
func (s Standstill) Told(
	id crawl.NodeID,
	boot crawl.Boot,
	reading, now time.Duration,
) (lost time.Duration) {
	p, known := s[id]
	if !known || p.boot != boot || reading <= 0 {
		return 0
	}
	if lost = reading - now - p.most(now) - standstillAllowance; lost <= 0 {
		return 0
	}
	clear(s) // all bounds are from before
	return lost
}

// Answered is Told for a reading that was also made after the own time asked, which gives
// an upper bound for the peer's clock.
func (s Standstill) Answered(
	id crawl.NodeID,
	boot crawl.Boot,
	reading, asked, now time.Duration,
) (lost time.Duration) {
	if reading <= 0 {
		return 0
	}
	lost = s.Told(id, boot, reading, now)
	p, known := s[id]
	switch {
	case lost > 0, known && p.boot > boot:
		return lost // asked may be from before the standstill; or the answer is an earlier boot's
	case !known || p.boot < boot || reading-asked < p.most(asked):
		s[id] = peerClock{boot: boot, ahead: reading - asked, at: asked}
	}
	return 0
}

// Follow forgets all but the members of a view.
func (s Standstill) Follow(v *View) {
	for id, p := range s {
		if m, ok := v.Member(id); !ok || m.Boot != p.boot {
			delete(s, id)
		}
	}
}
