package handoff

import (
	"fmt"
	"slices"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// State is what a partition is on this node; see the package comment.
type State uint8

// The states.
const (
	Absent State = iota
	Holding
	Copying
	Freezing
	Released
	Importing
)

var stateNames = [...]string{"absent", "holding", "copying", "freezing", "released", "importing"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Limits bound how many partitions one node moves at a time.
type Limits struct {
	Out, In int
}

// part is one partition on this node.
type part struct {
	state    State
	maxEpoch crawl.Epoch  // the highest epoch that this node ever held it in
	to       crawl.NodeID // Copying, Freezing, Released: the receiver
	view     crawl.Epoch  // Copying, Freezing, Released, Importing: the move's view
	attempt  uint64       // names the running attempt; events of older ones are ignored
	running  bool         // Released: an attempt to pass the token runs
	notUntil crawl.Epoch  // Holding: the receiver was at this view; wait for it
}

// Machine decides the moves of all partitions of one node. It is not safe for
// concurrent use: the Driver's goroutine owns it.
type Machine struct {
	self    crawl.NodeID
	limits  Limits
	view    crawl.Epoch
	table   *ring.Table // nil: no active member
	parts   []part
	attempt uint64
	out, in int
	next    int // where fill looks first, so that no partition is always last
	rests   map[crawl.NodeID]*rest
	actions []Action
}

// rest keeps a receiver that cannot be reached from taking the places of
// others: after each failure in a row it is left out for twice as many retries.
type rest struct{ left, length int }

// maxRest bounds a rest, in retries.
const maxRest = 32

// NewMachine returns a machine that knows no view and holds nothing.
func NewMachine(self crawl.NodeID, partitions int, l Limits) *Machine {
	return &Machine{self: self, limits: l, parts: make([]part, partitions), rests: map[crawl.NodeID]*rest{}}
}

// State tells a partition's state.
func (m *Machine) State(p crawl.Partition) State { return m.parts[p].state }

// View is the number of the view that the machine has installed.
func (m *Machine) View() crawl.Epoch { return m.view }

// Progress counts the partitions that must still leave or arrive here by the
// installed table, and those on their way.
func (m *Machine) Progress() (moving, outstanding int) {
	for i := range m.parts {
		p := &m.parts[i]
		mine := m.ownerOf(crawl.Partition(i)) == m.self
		switch {
		case p.state == Copying || p.state == Freezing || p.state == Released || p.state == Importing:
			moving++
			outstanding++
		case p.state == Holding && !mine && m.table != nil, p.state == Absent && mine:
			outstanding++
		}
	}
	return moving, outstanding
}

// Step takes one event and returns what must be done, in order.
func (m *Machine) Step(e Event) []Action {
	m.actions = nil
	switch e := e.(type) {
	case Loaded:
		m.load(e)
	case ViewInstalled:
		m.install(e)
	case Retry:
		for _, r := range m.rests {
			r.left = max(r.left-1, 0)
		}
		m.fill()
	case Copied:
		m.onCopied(e)
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
	case Offered:
		m.onOffered(e)
	case TokenArrived:
		m.onToken(e)
	case ImportDone:
		m.onImportDone(e)
	case ImportBroken:
		m.onImportBroken(e)
	default:
		panic(fmt.Sprintf("BUG: unknown event %T", e))
	}
	return m.actions
}

func (m *Machine) do(a Action) { m.actions = append(m.actions, a) }

// ownerOf is "" while nobody may hold anything.
func (m *Machine) ownerOf(p crawl.Partition) crawl.NodeID {
	if m.table == nil {
		return ""
	}
	return m.table.Owner(p)
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
	p.state, p.maxEpoch, p.to, p.view = e.State, e.MaxEpoch, e.To, e.View
}

// install takes a newer view. Moves that the new table does not want any more,
// or wants elsewhere, are called off while they still can be.
func (m *Machine) install(e ViewInstalled) {
	if e.View < m.view {
		return
	}
	m.view, m.table = e.View, e.Table
	for i := range m.parts {
		p := &m.parts[i]
		if p.state == Copying || p.state == Freezing {
			m.callOff(crawl.Partition(i), p)
		}
	}
	m.fill()
}

// callOff ends an outgoing move that was not released.
func (m *Machine) callOff(i crawl.Partition, p *part) {
	m.do(AbortCopy{P: i, Attempt: p.attempt})
	if p.state == Freezing {
		m.do(Resume{P: i})
	}
	p.state = Holding
	m.stop(p)
}

// fill starts as many moves as the limits allow. Tokens that are on their way
// come first: nobody serves those partitions.
func (m *Machine) fill() {
	m.scan(func(i crawl.Partition, p *part) {
		if p.state == Released && !p.running && !m.resting(p.to) {
			m.start(i, p, true)
		}
	})
	m.scan(func(i crawl.Partition, p *part) {
		owner := m.ownerOf(i)
		if p.state != Holding || owner == m.self || owner == "" || p.notUntil > m.view || m.resting(owner) {
			return
		}
		p.state, p.to, p.view = Copying, owner, m.view
		m.start(i, p, false)
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

func (m *Machine) resting(to crawl.NodeID) bool {
	r := m.rests[to]
	return r != nil && r.left > 0
}

func (m *Machine) start(i crawl.Partition, p *part, released bool) {
	m.out++
	m.next = int(i) + 1
	m.attempt++
	p.attempt, p.running = m.attempt, true
	m.do(StartCopy{P: i, To: p.to, View: p.view, Attempt: p.attempt, Released: released})
}

func (m *Machine) onCopied(e Copied) {
	if p := m.current(e.P, e.Attempt, Copying); p != nil {
		p.state = Freezing
		m.do(Freeze(e))
		return
	}
	if m.current(e.P, e.Attempt, Released) != nil {
		m.do(PassToken(e)) // already frozen and let go
	}
}

func (m *Machine) onFrozen(e Frozen) {
	if p := m.current(e.P, e.Attempt, Freezing); p != nil {
		m.do(StoreReleased{P: e.P, To: p.to, View: p.view, Attempt: e.Attempt})
	}
}

func (m *Machine) onReleaseStored(e ReleaseStored) {
	if p := m.current(e.P, e.Attempt, Freezing); p != nil {
		p.state = Released
		m.do(PassToken(e))
	}
}

func (m *Machine) onTook(e Took) {
	if p := m.current(e.P, e.Attempt, Released); p != nil {
		m.stop(p)
		delete(m.rests, p.to)
		*p = part{maxEpoch: p.maxEpoch, attempt: p.attempt}
		m.do(Delete{P: e.P})
		m.fill()
	}
}

func (m *Machine) onRefused(e RefusedNewer) {
	p := m.current(e.P, e.Attempt, Copying, Released)
	if p == nil || e.View <= p.view {
		return
	}
	released := p.state == Released
	m.stop(p)
	p.state, p.notUntil = Holding, e.View
	if released {
		m.do(StoreHolder{P: e.P})
	}
	m.fill()
}

// onBroken ends an attempt. A partition that was let go stays so.
func (m *Machine) onBroken(e Broken) {
	p := m.current(e.P, e.Attempt, Copying, Freezing, Released)
	if p == nil {
		return
	}
	m.stop(p)
	if !e.Later {
		m.letRest(p.to)
	}
	switch p.state {
	case Copying:
		p.state = Holding
	case Freezing:
		p.state = Holding
		m.do(Resume{P: e.P})
	}
}

// letRest leaves a receiver out for a while after a failure.
func (m *Machine) letRest(to crawl.NodeID) {
	r := m.rests[to]
	if r == nil {
		r = &rest{}
		m.rests[to] = r
	}
	r.length = min(max(2*r.length, 1), maxRest)
	r.left = r.length
}

// stop ends the running attempt's use of a slot.
func (m *Machine) stop(p *part) {
	if p.running {
		p.running = false
		m.out--
	}
}
