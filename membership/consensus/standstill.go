package consensus

import (
	"time"

	"crawlnode/crawl"
)

// A machine that is paused from outside, as a virtual machine is for a snapshot or a
// move, does not see it: all its clocks stand still, its lease seems good, and others
// may have taken over what it holds. Its peers' clocks ran on meanwhile. So each
// renewal, and each answer, carries a reading of the sender's clock, and whoever gets
// one holds it against its own.

// What a node may lag behind a peer since the peer's last answer: a tenth of the time,
// twice what clocks drift against each other, and half a second. Over the length of a
// lease that is less than what Fence has beyond it.
const (
	driftShare          = 10
	standstillAllowance = 500 * time.Millisecond
)

// Standstill notices that the own clock stood still. It is pure, and not safe for
// concurrent use. Of each peer it keeps the most that the peer's clock can have been
// ahead of the own one. A reading that was made before now shows how much ahead it is
// now, at the least; it is never wrong to say that the own clock has lost the
// difference, however long messages took.
type Standstill map[crawl.NodeID]peerClock

// peerClock is what is known of one peer's clock.
type peerClock struct {
	boot crawl.Boot
	// ahead is the most that the peer's clock can have been ahead at the own time at.
	ahead, at time.Duration
}

// most is the most that the peer's clock can be ahead now, unless the own stood still.
func (p peerClock) most(now time.Duration) time.Duration {
	return p.ahead + (now-p.at)/driftShare
}

// Told takes in a reading of a peer's clock that was made before now. It returns by how
// much the own clock has certainly stood still since the last answer of that peer,
// allowance deducted; 0 for not at all.
func (s Standstill) Told(id crawl.NodeID, boot crawl.Boot, reading, now time.Duration) (lost time.Duration) {
	p, known := s[id]
	if !known || p.boot != boot || reading <= 0 {
		return 0
	}
	if lost = reading - now - p.most(now) - standstillAllowance; lost <= 0 {
		return 0
	}
	clear(s) // what was known of any clock is of before
	return lost
}

// Answered is told for a reading that was made after asked, which also says how much the
// peer's clock can be ahead at most.
func (s Standstill) Answered(id crawl.NodeID, boot crawl.Boot, reading, asked, now time.Duration) (lost time.Duration) {
	if reading <= 0 {
		return 0
	}
	lost = s.Told(id, boot, reading, now)
	p, known := s[id]
	switch {
	case lost > 0, known && p.boot > boot:
		return lost // asked may be from before it stood still; an answer of an earlier life
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
