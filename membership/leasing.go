package membership

import (
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// leasing shares the lease between the loop, which installs and accepts views,
// the callers that report grants, and the hot paths that only ask.
type leasing struct {
	clock Clock
	// granting is the view in which this node grants, nil while it grants
	// nothing. The loop stores it before another node can learn of an acceptance.
	granting  atomic.Pointer[View]
	published atomic.Pointer[askable]

	mu    sync.Mutex // guards the rest; held for memory only
	lease *consensus.Lease
	apart time.Duration               // wall clock minus boot time, at the loop's last look
	view  *View                       // installed
	heard map[crawl.NodeID]crawl.Boot // nodes that called or answered since the loop's last look
	// clocks has the clocks of members of view, and detects that this machine stood still.
	clocks consensus.Standstill
	// compared is when a reading was last compared of a clock that may run on while this one stands still.
	compared time.Duration
	shares   func(Member) bool // a member's clock is this very one
}

// askable is what a question about the lease needs, in one immutable piece.
type askable struct {
	consensus.Terms
	apart time.Duration
}

func newLeasing(clock Clock, id crawl.NodeID, boot crawl.Boot, free bool) *leasing {
	l := &leasing{clock: clock, lease: consensus.NewLease(id, boot, free),
		heard: map[crawl.NodeID]crawl.Boot{}, clocks: consensus.Standstill{},
		shares: func(Member) bool { return false }}
	l.apart = l.difference(clock.BootTime())
	l.publishLocked()
	return l
}

func (l *leasing) difference(now time.Duration) time.Duration {
	return time.Duration(l.clock.Wall().UnixNano()) - now
}

func (l *leasing) publishLocked() {
	l.published.Store(&askable{Terms: l.lease.Terms(), apart: l.apart})
}

// remaining reads the clock first: an own grant must not be dated later than
// the state that it is based on, or it could follow an acceptance.
func (l *leasing) remaining() time.Duration {
	now := l.clock.BootTime()
	apart := l.difference(now)
	terms := l.published.Load()
	if moved := apart - terms.apart; moved > maxWallJump || moved < -maxWallJump {
		return 0 // at the loop's next look the lease ends for good
	}
	return max(terms.End(now)-now, 0)
}

// follow takes over what the core has installed or accepted. The loop calls it
// after each step, before it performs the step's actions: a promise to grant nothing must
// hold before another node can learn of it.
func (l *leasing) follow(installed, granting *View) {
	if installed == nil || installed == l.view && granting == l.granting.Load() {
		return
	}
	l.granting.Store(granting)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.BootTime()
	if installed != l.view {
		l.view = installed
		l.clocks.Follow(installed)
		l.lease.Install(installed, granting == nil, now)
	} else if granting == nil {
		l.lease.Accept(now)
	}
	l.publishLocked()
}

// look compares the clocks, slow drift allowed, and ends the lease when they have jumped
// apart. It returns the nodes that called or answered since the last look.
func (l *leasing) look() (heard map[crawl.NodeID]crawl.Boot, jumped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.BootTime()
	apart := l.difference(now)
	moved := apart - l.apart
	if jumped = moved > maxWallJump || moved < -maxWallJump; jumped {
		l.lease.End(now)
	}
	l.apart = apart
	l.publishLocked()
	heard, l.heard = l.heard, map[crawl.NodeID]crawl.Boot{}
	return heard, jumped
}

func (l *leasing) note(id crawl.NodeID, boot crawl.Boot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteLocked(id, boot)
}

func (l *leasing) noteLocked(id crawl.NodeID, boot crawl.Boot) {
	if old, known := l.heard[id]; known || len(l.heard) < consensus.MaxHeard {
		l.heard[id] = max(old, boot)
	}
}

// Grant answers another member's request for a lease in a view: this node
// grants while it has that view installed, has accepted no successor, and the
// view lists that boot. The request also counts as a sign of life.
func (m *Membership) Grant(view crawl.Epoch, id crawl.NodeID, boot crawl.Boot) bool {
	m.leases.note(id, boot)
	v := m.leases.granting.Load()
	return v != nil && v.Number == view && v.Lists(id, boot)
}

// LeaseAsked returns the time to report with a grant: call it just before the
// request is sent.
func (m *Membership) LeaseAsked() time.Duration { return m.leases.clock.BootTime() }

// LeaseGranted reports that the listed boot of a member has granted the lease
// in a view, as asked for at sentAt (of LeaseAsked).
func (m *Membership) LeaseGranted(view crawl.Epoch, from crawl.NodeID, sentAt time.Duration) {
	m.leases.granted(view, from, sentAt, true)
}

// LeaseGrantedStalled is LeaseGranted for a member that reports that its disk does not
// answer. Its grant from memory is valid: it has accepted no successor of the view, and
// cannot accept one. It cannot decide anything either, so this is no sign of life.
func (m *Membership) LeaseGrantedStalled(
	view crawl.Epoch,
	from crawl.NodeID,
	sentAt time.Duration,
) {
	m.leases.granted(view, from, sentAt, false)
}

func (l *leasing) granted(view crawl.Epoch, from crawl.NodeID, sentAt time.Duration, heard bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.view != nil && heard {
		if member, ok := l.view.Member(from); ok {
			l.noteLocked(from, member.Boot)
		}
	}
	l.lease.Grant(view, from, sentAt, l.clock.BootTime())
	l.publishLocked()
}

// Lease returns for how long this node may still fetch, counted on a clock
// that runs while the process is stopped; 0 for not at all. It is cheap.
func (m *Membership) Lease() time.Duration { return m.leases.remaining() }

// LeaseValid reports whether this node may fetch now.
func (m *Membership) LeaseValid() bool { return m.leases.remaining() > 0 }

// ClockReading is the reading of this node's clock to send to a peer.
func (m *Membership) ClockReading() time.Duration { return m.leases.clock.BootTime() }

// ClockTold reports a reading of the clock of a member's boot that came without a request.
func (m *Membership) ClockTold(id crawl.NodeID, boot crawl.Boot, reading time.Duration) {
	m.compareClocks(id, boot, func(s consensus.Standstill, now time.Duration) time.Duration { return s.Told(id, boot, reading, now) })
}

// ClockAnswered reports a reading that came with an answer of a member's boot, to a
// request sent at askedAt (of ClockReading). Report it before the rest of the answer.
func (m *Membership) ClockAnswered(
	id crawl.NodeID,
	boot crawl.Boot,
	reading, askedAt time.Duration,
) {
	m.compareClocks(id, boot, func(s consensus.Standstill, now time.Duration) time.Duration {
		return s.Answered(id, boot, reading, askedAt, now)
	})
}

// ClockCompared is the reading of this node's clock when it was last compared with one that may run on while this one
// stands still.
func (m *Membership) ClockCompared() time.Duration {
	m.leases.mu.Lock()
	defer m.leases.mu.Unlock()
	return m.leases.compared
}

// SharesClock reports whether a member reads the same clock as this node, because it runs on the same machine: they stand
// still together, so its readings say nothing.
func (m *Membership) SharesClock(other Member) bool { return m.leases.shares(other) }

// sharesClock is SharesClock of a node with a process and a clock. A clock that is not the system's is its own.
func sharesClock(self consensus.Process, clock Clock) func(Member) bool {
	_, system := clock.(systemClock)
	return func(other Member) bool { return system && self.Machine != "" && other.Machine == self.Machine }
}

func (m *Membership) compareClocks(
	id crawl.NodeID,
	boot crawl.Boot,
	compare func(consensus.Standstill, time.Duration) time.Duration,
) {
	lost := m.leases.compare(id, boot, compare)
	if lost == 0 {
		return
	}
	m.o.Logger.Warn("this machine stood still while others ran on: the lease has ended", "peer", id,
		"for_more_than", lost)
	crawl.Signal(m.leaseEnded)
}

// LeaseEnded gets a signal when the lease has ended early.
func (m *Membership) LeaseEnded() <-chan struct{} { return m.leaseEnded }

// compare takes a reading in, and ends the lease when the own clock stood still. Readings
// of nodes that are no members of the view are ignored.
func (l *leasing) compare(
	id crawl.NodeID,
	boot crawl.Boot,
	compare func(consensus.Standstill, time.Duration) time.Duration,
) (lost time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.view == nil || !l.view.Lists(id, boot) {
		return 0
	}
	now := l.clock.BootTime()
	if member, ok := l.view.Member(id); ok && l.clocks.Knows(id, boot) && !l.shares(member) {
		l.compared = now
	}
	if lost = compare(l.clocks, now); lost > 0 {
		l.lease.End(now)
		l.publishLocked()
	}
	return lost
}

// maxWallJump ends a lease when the wall clock moves by more than this against the boot
// time: then the boot time stood still, as in a machine that was copied or suspended from
// outside.
const maxWallJump = 2 * time.Second
