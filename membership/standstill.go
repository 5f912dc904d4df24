package membership

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

// standstill notices that the own clock stood still. It is pure, and not safe for
// concurrent use. Of each peer it keeps the most that the peer's clock can have been
// ahead of the own one. A reading that was made before now shows how much ahead it is
// now, at the least; it is never wrong to say that the own clock has lost the
// difference, however long messages took.
type standstill map[crawl.NodeID]peerClock

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

// told takes in a reading of a peer's clock that was made before now. It returns by how
// much the own clock has certainly stood still since the last answer of that peer,
// allowance deducted; 0 for not at all.
func (s standstill) told(id crawl.NodeID, boot crawl.Boot, reading, now time.Duration) (lost time.Duration) {
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

// answered is told for a reading that was made after asked, which also says how much the
// peer's clock can be ahead at most.
func (s standstill) answered(id crawl.NodeID, boot crawl.Boot, reading, asked, now time.Duration) (lost time.Duration) {
	if reading <= 0 {
		return 0
	}
	lost = s.told(id, boot, reading, now)
	p, known := s[id]
	switch {
	case lost > 0, known && p.boot > boot:
		return lost // asked may be from before it stood still; an answer of an earlier life
	case !known || p.boot < boot || reading-asked < p.most(asked):
		s[id] = peerClock{boot: boot, ahead: reading - asked, at: asked}
	}
	return 0
}

// follow forgets all but the members of a view.
func (s standstill) follow(v *View) {
	for id, p := range s {
		if m, ok := v.Member(id); !ok || m.Boot != p.boot {
			delete(s, id)
		}
	}
}

// ClockReading is what to send to a peer as a reading of this node's clock.
func (m *Membership) ClockReading() time.Duration { return m.leases.clock.BootTime() }

// ClockTold reports a reading of the clock of a member's boot that came unasked.
func (m *Membership) ClockTold(id crawl.NodeID, boot crawl.Boot, reading time.Duration) {
	m.compareClocks(id, boot, func(s standstill, now time.Duration) time.Duration { return s.told(id, boot, reading, now) })
}

// ClockAnswered reports a reading that came with an answer of a member's boot, to what
// was asked at askedAt (of ClockReading). Report it before what else the answer says.
func (m *Membership) ClockAnswered(id crawl.NodeID, boot crawl.Boot, reading, askedAt time.Duration) {
	m.compareClocks(id, boot, func(s standstill, now time.Duration) time.Duration {
		return s.answered(id, boot, reading, askedAt, now)
	})
}

func (m *Membership) compareClocks(id crawl.NodeID, boot crawl.Boot, compare func(standstill, time.Duration) time.Duration) {
	lost := m.leases.compare(id, boot, compare)
	if lost == 0 {
		return
	}
	m.o.Logger.Warn("this machine stood still while others ran on: the lease has ended", "peer", id, "for_more_than", lost)
	select {
	case m.leaseEnded <- struct{}{}:
	default:
	}
}

// LeaseEnded gets a signal when the lease has ended before its time.
func (m *Membership) LeaseEnded() <-chan struct{} { return m.leaseEnded }

// compare takes a reading in, and ends the lease when the own clock stood still. Readings
// of who is no member of the view count for nothing.
func (l *leasing) compare(id crawl.NodeID, boot crawl.Boot, compare func(standstill, time.Duration) time.Duration) (lost time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.view == nil || !l.view.Lists(id, boot) {
		return 0
	}
	now := l.clock.BootTime()
	if lost = compare(l.clocks, now); lost > 0 {
		l.lease.End(now)
		l.publishLocked()
	}
	return lost
}
