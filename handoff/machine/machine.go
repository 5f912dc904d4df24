package machine

import (
	"fmt"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// Limits bound how many tokens one node passes at a time.
type Limits struct{ Out int }

// part is one partition on this node.
type part struct {
	state    State
	epoch    crawl.Epoch  // Holding, Freezing, Released: of the tenure
	maxEpoch crawl.Epoch  // the highest epoch that this node ever held it in
	to       crawl.NodeID // Freezing, Released: the receiver
	view     crawl.Epoch  // Freezing, Released: the move's view
	attempt  uint64       // names the running freeze or token; events of older ones are ignored
	running  bool         // a freeze or a token runs
	needCopy bool         // Released: the receiver must get the copy again first
	notUntil crawl.Epoch  // Holding: the receiver was at this view; wait for it

	set      Set  // the recorded in-sync set, as far as known here
	sure     bool // a set of this tenure was recorded since this process has it
	proposed *Set // a newer one that is being recorded; nil: none
	links    map[crawl.NodeID]*link
	acks     []crawl.NodeID // nodes that must acknowledge, as last told
	full     bool
	unsure   bool // as last told
	acksTold bool
	atRest   bool // links and sets are as they should be: tend has nothing to do

	offline string // Absent and owned: why this node cannot have it now; "": not known
	away    bool   // because a node that has what it needs is away: it must return, or be forgotten
}

// held reports whether this node has something to keep or to pass on.
func (p *part) held() bool { return p.state != Absent }

// Machine decides for all partitions of one node. It is not safe for
// concurrent use: the Driver's goroutine owns it.
type Machine struct {
	self     crawl.NodeID
	limits   Limits
	factor   int
	view     crawl.Epoch
	table    *ring.Table // nil: no active member
	members  []crawl.NodeID
	barred   []crawl.NodeID
	since    map[crawl.NodeID]crawl.Epoch // of members; nil: unknown
	past     []PastView
	active   int
	listed   bool
	fenceEnd time.Duration
	now      time.Duration
	parts    []part
	attempt  uint64
	out      int
	next     int // where fill looks first, so that no partition is always last
	backoffs map[crawl.NodeID]*backoff
	ask      asking
	askFrom  int // the partition that the next round of questions begins with
	lost     int // partitions whose last copies were forgotten

	waiting   bool          // there may be something for a next retry to do; Waits explains it
	nextSweep time.Duration // not before this moment
	actions   []Action
}

// backoff keeps a node that cannot be reached from being tried all the time: after
// each failure in a row it is left out for twice as many retries.
type backoff struct{ left, length int }

// maxBackoff bounds a backoff, in retries.
const maxBackoff = 16

// New returns a machine that knows no view and holds nothing. factor is
// the number of copies of a partition, the holder's included.
func New(self crawl.NodeID, partitions, factor int, l Limits) *Machine {
	return &Machine{self: self, limits: l, factor: factor, parts: make([]part, partitions),
		backoffs: map[crawl.NodeID]*backoff{}}
}

// Step takes one event and returns what must be done, in order.
func (m *Machine) Step(e Event) []Action {
	m.actions = nil
	m.waiting = true // a retry knows better
	switch e := e.(type) {
	case Loaded:
		m.load(e)
	case ViewInstalled:
		m.install(e)
	case Retry:
		m.retry(e)
	case LinkCopying:
		m.onLink(e.P, e.Node, e.Attempt, copying)
	case LinkFollows:
		m.onLink(e.P, e.Node, e.Attempt, following)
	case LinkUp:
		m.onLink(e.P, e.Node, e.Attempt, up)
	case LinkDown:
		m.onLinkDown(e)
	case LinkAhead:
		m.onLinkAhead(e)
	case Recorded:
		m.onRecorded(e)
	case Frozen:
		m.onFrozen(e)
	case ReleaseStored:
		m.onReleaseStored(e)
	case Took:
		m.onTook(e)
	case RefusedNewer:
		m.onRefused(e)
	case Broken:
		m.onBroken(e)
	case TokenArrived:
		m.onToken(e)
	case Promoted:
		m.onPromoted(e)
	case Asked:
		m.onAsked(e)
	case Answered:
		m.onAnswered(e)
	case AskOver:
		m.onAskOver(e)
	case CopyArrived:
		m.onCopyArrived(e)
	case UselessAsked:
		m.onUselessAsked(e)
	case ListAsked:
		m.onListAsked(e)
	default:
		panic(fmt.Sprintf("BUG: unknown event %T", e))
	}
	return m.actions
}

func (m *Machine) do(a Action) { m.actions = append(m.actions, a) }

// ownerOf is "" while no node may hold anything.
func (m *Machine) ownerOf(p crawl.Partition) crawl.NodeID {
	if m.table == nil {
		return ""
	}
	return m.table.Owner(p)
}

func (m *Machine) member(id crawl.NodeID) bool { return slices.Contains(m.members, id) }

// leaves reports whether a member is draining: the table has nothing for it.
func (m *Machine) leaves(id crawl.NodeID) bool {
	return m.table != nil && m.member(id) && !slices.Contains(m.table.Members(), id)
}

// current returns the partition when the event belongs to its running attempt.
func (m *Machine) current(p crawl.Partition, attempt uint64, want ...State) *part {
	x := &m.parts[p]
	if x.attempt != attempt || !slices.Contains(want, x.state) {
		return nil
	}
	return x
}

func (m *Machine) load(e Loaded) {
	p := &m.parts[e.P]
	p.epoch, p.maxEpoch, p.to, p.view, p.set = e.Epoch, e.MaxEpoch, e.To, e.View, e.Set
	if e.State != Absent {
		p.become(e.State)
		p.links = map[crawl.NodeID]*link{}
		if len(p.set.Members) == 0 {
			p.set = Set{Epoch: e.Epoch, Members: []crawl.NodeID{m.self}}
		}
	}
}

// install takes a newer view. What this node has no right to any more ends at
// once; moves that were not released are called off; links follow the new table.
func (m *Machine) install(e ViewInstalled) {
	if e.View < m.view {
		return
	}
	first := m.view == 0
	m.view, m.table, m.members, m.barred, m.listed, m.now = e.View, e.Table, e.Members, e.Barred,
		e.Listed, e.Now
	m.since = e.Sinces
	m.past = remember(m.past, []PastView{{View: e.View, Members: e.Members}})
	m.active = 0
	if e.Table != nil {
		m.active = len(e.Table.Members())
	}
	m.fenceEnd = max(m.fenceEnd, e.Now+e.Fence)
	clear(m.backoffs)
	m.ask.reset()
	for i := range m.parts {
		p := &m.parts[i]
		p.offline, p.away = "", false
		switch {
		case !p.held():
		case !e.Listed || p.epoch < e.Since:
			m.yield(crawl.Partition(i), p, false)
		default:
			m.keep(crawl.Partition(i), p, first)
		}
	}
	m.fill()
	m.startAsk()
}

// keep goes on with what this node has in a newer view. first: no other package was told
// of it yet.
func (m *Machine) keep(i crawl.Partition, p *part, first bool) {
	if p.state == Freezing {
		m.callOff(i, p)
	}
	if first && p.state == Holding {
		m.do(Acquired{P: i, Epoch: p.epoch})
	}
	m.proposeAgain(i, p)
	m.tend(i, p)
}

// retry is the timer's turn. When m.waiting is false after it, another one would change nothing and
// order nothing until a next event comes, but a sweep: doc.go has the states that wait.
func (m *Machine) retry(e Retry) {
	m.now = e.Now
	m.waiting = m.ask.wait > 0 || m.ask.rounds > 0
	for _, r := range m.backoffs {
		m.waiting = m.waiting || r.left > 0
		r.left = max(r.left-1, 0)
	}
	for i := range m.parts {
		if p := &m.parts[i]; p.held() && !p.atRest {
			m.tend(crawl.Partition(i), p)
		}
		m.waiting = m.waiting || m.partWaits(crawl.Partition(i))
	}
	m.fill()
	m.ask.wait = max(m.ask.wait-1, 0)
	m.startAsk()
	m.waiting = m.waiting || len(m.actions) > 0
	m.startSweep()
}

// partWaits reports whether a partition is not where or as it should be, so that a retry may do
// something for it.
func (m *Machine) partWaits(i crawl.Partition) bool {
	p, owner := &m.parts[i], m.ownerOf(i)
	if p.state != Holding {
		return p.held() || owner == m.self
	}
	return !p.atRest || owner != m.self && owner != ""
}

// yield ends a tenure at once (ownership rule 11).
func (m *Machine) yield(i crawl.Partition, p *part, suspect bool) {
	m.endTenure(i, p)
	m.do(Yield{P: i, Suspect: suspect})
}

// endTenure forgets all that belongs to a tenure.
func (m *Machine) endTenure(i crawl.Partition, p *part) {
	if p.running {
		m.do(AbortMove{P: i, Attempt: p.attempt})
		m.stop(p)
	}
	for _, id := range p.linked() {
		m.closeLink(i, p, id)
	}
	m.do(EndAcks{P: i})
	p.become(Absent)
	*p = part{maxEpoch: p.maxEpoch, attempt: p.attempt, set: p.set}
}

// callOff ends an outgoing move that was not released.
func (m *Machine) callOff(i crawl.Partition, p *part) {
	m.do(AbortMove{P: i, Attempt: p.attempt})
	m.do(Resume{P: i})
	p.become(Holding)
	m.stop(p)
}

// stop ends the running attempt's use of a slot.
func (m *Machine) stop(p *part) {
	if p.running {
		p.running = false
		m.out--
	}
}

// fill starts as many moves as the limits allow. Tokens that are on their way
// come first: no node serves those partitions.
func (m *Machine) fill() {
	if !m.listed {
		return
	}
	m.scan(func(i crawl.Partition, p *part) {
		if p.state == Released && !p.running && !p.needCopy && !m.backingOff(p.to) {
			m.start(i, p)
			m.passToken(i, p)
		}
	})
	m.scan(func(i crawl.Partition, p *part) {
		owner := m.ownerOf(i)
		if p.state != Holding || owner == m.self || owner == "" || p.notUntil > m.view ||
			m.backingOff(owner) {
			return
		}
		if p.proposed != nil || !slices.Contains(p.set.Members, owner) || !p.isUp(owner) {
			return // it is being made a replica
		}
		p.become(Freezing)
		p.to, p.view = owner, m.view
		m.start(i, p)
		m.do(Freeze{P: i, Attempt: p.attempt})
	})
}

// scan calls f for the partitions in turn, going on where the last move began,
// while there is a place for one more.
func (m *Machine) scan(f func(crawl.Partition, *part)) {
	begin := m.next
	for k := range m.parts {
		if m.out >= m.limits.Out {
			return
		}
		i := (begin + k) % len(m.parts)
		f(crawl.Partition(i), &m.parts[i])
	}
}

func (m *Machine) backingOff(to crawl.NodeID) bool {
	r := m.backoffs[to]
	return r != nil && r.left > 0
}

// backOff leaves a node out for a while, after a failure.
func (m *Machine) backOff(to crawl.NodeID) {
	r := m.backoffs[to]
	if r == nil {
		r = &backoff{}
		m.backoffs[to] = r
	}
	if r.left > 0 {
		return // the failures of one moment count once
	}
	r.length = min(max(2*r.length, 1), maxBackoff)
	r.left = r.length
}

func (m *Machine) start(i crawl.Partition, p *part) {
	m.out++
	m.next = int(i) + 1
	m.attempt++
	p.attempt, p.running = m.attempt, true
}

func (m *Machine) passToken(i crawl.Partition, p *part) {
	m.do(PassToken{P: i, To: p.to, View: p.view, Epoch: p.epoch, Set: p.set, Attempt: p.attempt})
}

func (m *Machine) onFrozen(e Frozen) {
	p := m.current(e.P, e.Attempt, Freezing)
	switch {
	case p == nil:
	case p.proposed != nil:
		// The receiver must know the newest set: not while one is being recorded.
		m.onBroken(Broken{P: e.P, Attempt: e.Attempt, Later: true})
	default:
		m.do(StoreReleased{P: e.P, To: p.to, View: p.view, Attempt: e.Attempt})
	}
}

func (m *Machine) onReleaseStored(e ReleaseStored) {
	if p := m.current(e.P, e.Attempt, Freezing); p != nil {
		p.become(Released)
		m.do(EndAcks{P: e.P})
		p.acksTold = false
		m.passToken(e.P, p)
	}
}

// onTook ends the tenure. The sender's copy stays: it is in the in-sync set that
// the receiver has taken over.
func (m *Machine) onTook(e Took) {
	if p := m.current(e.P, e.Attempt, Released); p != nil {
		delete(m.backoffs, p.to)
		m.stop(p)
		m.endTenure(e.P, p)
		m.do(StoreCopy{P: e.P})
		m.fill()
	}
}

func (m *Machine) onRefused(e RefusedNewer) {
	p := m.current(e.P, e.Attempt, Released)
	if p == nil || e.View <= p.view {
		return
	}
	m.stop(p)
	p.become(Holding)
	p.notUntil, p.needCopy = e.View, false
	m.do(StoreHolder{P: e.P})
	m.tend(e.P, p)
	m.fill()
}

// onBroken ends an attempt. A partition that was let go stays so.
func (m *Machine) onBroken(e Broken) {
	p := m.current(e.P, e.Attempt, Freezing, Released)
	if p == nil {
		return
	}
	m.stop(p)
	if !e.Later && !e.NoCopy {
		m.backOff(p.to)
	}
	switch {
	case p.state == Freezing:
		p.become(Holding)
		m.do(Resume{P: e.P})
	case e.NoCopy:
		m.closeLink(e.P, p, p.to)
		p.needCopy = true
		m.tend(e.P, p)
	}
}

// onCopyArrived: a node that sends copies of a later tenure has taken the token,
// even if its answer was lost.
func (m *Machine) onCopyArrived(e CopyArrived) {
	p := &m.parts[e.P]
	if p.state == Released && e.Epoch > p.epoch {
		m.endTenure(e.P, p)
		m.fill()
	}
}
