package consensus

import (
	"maps"
	"slices"
	"time"

	"crawlnode/crawl"
)

// Event is something that happened to a node.
type Event interface{ event() }

// Founded asks a node without a view to install the first one.
type Founded struct{ View *View }

// Received is a message from another core, checked by its decoder only.
type Received struct{ Message Message }

// Seen is the complete set of nodes in sight, this one included. It replaces
// the one before.
type Seen struct{ Nodes []Sighting }

// Tick is the passing of one TickInterval. Random
// spreads the retries and picks whom to greet.
type Tick struct{ Random uint64 }

// Heard says that a boot of another node spoke to this one in another way than
// by a Message: it asked for or granted a lease.
type Heard struct {
	ID   crawl.NodeID
	Boot crawl.Boot
}

// Dead says that this node has proof that this boot of another node, and so
// all lower ones, can send nothing any more.
type Dead struct {
	ID   crawl.NodeID
	Boot crawl.Boot
}

// Woken says that this node stood still for a while. Others may have called in
// vain meanwhile, so their silence counts from now.
type Woken struct{}

// Forget is an operator's oath that a node is gone for good.
type Forget struct{ ID crawl.NodeID }

func (Founded) event()  {}
func (Received) event() {}
func (Seen) event()     {}
func (Tick) event()     {}
func (Heard) event()    {}
func (Dead) event()     {}
func (Woken) event()    {}
func (Forget) event()   {}

// Action is what the driver has to do, in the order given.
type Action interface{ action() }

// Persist replaces the durable state. It must be on the disk before any later
// action is carried out: promises outlive crashes.
type Persist struct{ State State }

// Send hands a message to its receiver, with no guarantee.
type Send struct{ Message Message }

// Install makes View the node's view. Skipped says that it does not follow the
// view installed before: this node missed at least one.
type Install struct {
	View    *View
	Skipped bool
}

func (Persist) action() {}
func (Send) action()    {}
func (Install) action() {}

// State is what a node must not forget. Promised, Accepted and AcceptedView
// belong to the decision about view View.Number+1 and start anew with each
// installed view.
type State struct {
	View         *View  `json:"view"` // installed; nil before the first
	Promised     Ballot `json:"promised"`
	Accepted     Ballot `json:"accepted"`
	AcceptedView *View  `json:"accepted_view"` // nil when nothing was accepted
	// Forgotten are the ids that an operator swore to be gone and that View
	// does not bar yet, sorted. It is replaced, never changed.
	Forgotten []crawl.NodeID `json:"forgotten,omitempty"`
}

// Units of Tick.
const (
	debounceTicks = 1  // changes that come together go into one view
	rankTicks     = 5  // head start over the next reachable member
	retryTicks    = 5  // least wait before the next attempt
	helloTicks    = 10 // between two greetings
	maxBackoff    = 4  // doublings of the random part of the wait
)

// Core decides views: it takes events and gives actions, without clock or I/O.
// It is not safe for concurrent use.
//
// Its parts: plan.go says which view should come next, paxos.go gets it
// decided, quorum.go counts the votes, fate.go keeps who is silent or dead,
// silence.go lets the voters judge silence, forgotten.go keeps whom an operator
// gave up, twins.go keeps two processes with one id apart. This file spreads what
// was decided.
type Core struct {
	self      crawl.NodeID
	boot      crawl.Boot
	mark      string
	quorumOff bool
	cluster   Cluster // without id until the first view is installed
	digest    string  // of the installed view, with the quorum off
	state     State
	seen      map[crawl.NodeID]Sighting
	proposal  *proposal // what this node is trying to get decided, or nil
	round     uint64    // highest round heard of for this decision

	heard     map[crawl.NodeID]voice
	dead      map[crawl.NodeID]crawl.Boot // boots up to this are dead
	newer     map[crawl.NodeID]crawl.Boot // the highest boot of a member that spoke or was seen
	twins     map[crawl.NodeID]twin
	greeted   map[crawl.NodeID]int // tick of the last greeting
	flaps     map[crawl.NodeID]flap
	denials   map[crawl.NodeID]denial // in this decision
	listening int                     // tick since when silence counts

	ticks    int // since the start
	waited   int // ticks since a change was first wanted or last tried
	delay    int // extra wait drawn at the last attempt
	attempts int // failed attempts at the present decision
}

// Identity is what a core has to know of its node.
type Identity struct {
	ID   crawl.NodeID
	Boot crawl.Boot
	// Mark is drawn by this process, in hex: two that were started from one and the
	// same data have the same id and boot.
	Mark string
	// Cluster is what the node knows of its cluster; with a view in the state,
	// the view's is taken.
	Cluster Cluster
	// QuorumOff lets any members decide once all others are silent or dead.
	QuorumOff bool
}

// New continues from a durable state.
func New(me Identity, state State) *Core {
	c := &Core{
		self: me.ID, boot: me.Boot, mark: me.Mark, quorumOff: me.QuorumOff, cluster: me.Cluster, state: state,
		seen: map[crawl.NodeID]Sighting{}, heard: map[crawl.NodeID]voice{},
		dead: map[crawl.NodeID]crawl.Boot{}, newer: map[crawl.NodeID]crawl.Boot{}, twins: map[crawl.NodeID]twin{}, greeted: map[crawl.NodeID]int{}, flaps: map[crawl.NodeID]flap{},
		denials: map[crawl.NodeID]denial{},
	}
	if state.View != nil {
		c.enter(state.View)
	}
	return c
}

// View returns the installed view, nil before the first.
func (c *Core) View() *View { return c.state.View }

// Forgotten returns the ids that an operator swore to be gone and that the view
// does not bar yet, sorted. It must not be changed.
func (c *Core) Forgotten() []crawl.NodeID { return c.state.Forgotten }

// Grants returns the view in which this node grants leases: the installed one,
// or nil once it has accepted a successor.
func (c *Core) Grants() *View {
	if c.state.AcceptedView != nil {
		return nil
	}
	return c.state.View
}

// Step takes one event in and returns what must be done about it.
func (c *Core) Step(e Event) []Action {
	switch e := e.(type) {
	case Founded:
		if c.state.View != nil {
			return nil
		}
		return c.install(e.View)
	case Received:
		return c.receive(e.Message)
	case Seen:
		c.seen = make(map[crawl.NodeID]Sighting, len(e.Nodes))
		for _, s := range e.Nodes {
			c.seen[s.ID] = s
			c.outlived(s.ID, s.Boot)
		}
		return nil
	case Heard:
		return c.hear(e.ID, e.Boot)
	case Dead:
		c.proved(e.ID, e.Boot)
		return nil
	case Woken:
		c.listenAnew()
		return nil
	case Forget:
		return c.forget(e.ID)
	case Tick:
		return c.tick(e.Random)
	}
	panic("BUG: unknown event")
}

func (c *Core) number() crawl.Epoch {
	if c.state.View == nil {
		return 0
	}
	return c.state.View.Number
}

// member reports whether id votes on the next view.
func (c *Core) member(id crawl.NodeID) bool {
	_, ok := c.listed(id)
	return ok
}

// listed returns the member of the installed view with an id.
func (c *Core) listed(id crawl.NodeID) (Member, bool) {
	if c.state.View == nil {
		return Member{}, false
	}
	return c.state.View.Member(id)
}

// tick greets and proposes when a change is due. The reachable member with the
// lowest id goes first; the others have the longer to wait the more reachable
// members are before them, so that they step in only when those do not get on.
// While no quorum is in sight there is nothing to gain by asking.
func (c *Core) tick(random uint64) []Action {
	c.ticks++
	c.prune()
	out := c.greet(random)
	if !c.wants() || !c.QuorumInSight() {
		c.waited, c.delay, c.attempts = 0, 0, 0
		return out
	}
	c.waited++
	if c.waited <= debounceTicks+c.rank()*rankTicks+c.delay {
		return out
	}
	c.attempts++
	c.waited = 0
	c.delay = retryTicks + int(random%uint64(retryTicks<<min(c.attempts, maxBackoff)))
	return append(out, c.prepare()...)
}

// wants reports whether a new view is needed, or a decision was left half done.
func (c *Core) wants() bool {
	return c.member(c.self) && (c.state.AcceptedView != nil || c.plan() != nil)
}

// rank counts the reachable members with lower ids.
func (c *Core) rank() int {
	n := 0
	for _, m := range c.state.View.Members {
		if s, ok := c.seen[m.ID]; ok && m.ID < c.self && s.Status != Left && c.fate(m) == stays {
			n++
		}
	}
	return n
}

// greet tells others how far this one is. Whoever is behind learns the newer
// view by that, whichever side greets. One at random is greeted each
// helloTicks, and each that was not heard for suspectTicks, so that nobody
// counts as silent without having been asked.
func (c *Core) greet(random uint64) []Action {
	known := make(map[crawl.NodeID]bool, len(c.seen))
	for id := range c.seen {
		known[id] = true
	}
	if c.state.View != nil {
		for _, m := range c.state.View.Members {
			known[m.ID] = true
		}
	}
	delete(known, c.self)
	ids := slices.Sorted(maps.Keys(known))
	var out []Action
	for i, id := range ids {
		v, heard := c.heard[id]
		last, greeted := c.greeted[id]
		picked := c.ticks%helloTicks == 0 && i == int(random%uint64(len(ids)))
		due := (!heard || c.ticks-v.tick >= suspectTicks) && (!greeted || c.ticks-last >= helloTicks)
		if (picked || due) && !c.IsForgotten(id) {
			c.greeted[id] = c.ticks
			out = append(out, c.send(id, Message{Kind: KindHello}))
		}
	}
	return out
}

// receive takes a message in.
func (c *Core) receive(m Message) []Action {
	if m.To != c.self || !c.sameCluster(m) {
		return nil
	}
	if m.From == c.self {
		return c.meet(m)
	}
	c.noteTwin(m.From, m.Boot)
	if listed, ok := c.listed(m.From); ok && c.shadows(listed, m.Boot) {
		return nil
	}
	out := c.hear(m.From, m.Boot)
	out = append(out, c.heardForgotten(m)...)
	return append(out, c.react(m)...)
}

// react answers a message. Votes count only between nodes with the same view;
// to everybody else only the newer view matters.
func (c *Core) react(m Message) []Action {
	switch {
	case m.Kind == KindDecided:
		// Who told of the view may wait to hear that it is known here.
		return append(c.learn(m.View), c.send(m.From, Message{Kind: KindHere}))
	case m.Number < c.number() || m.Number == c.number() && m.Digest < c.digest && m.Digest != "":
		return []Action{c.send(m.From, Message{Kind: KindDecided, View: c.state.View})}
	case m.Number > c.number() || m.Digest > c.digest && c.digest != "":
		return []Action{c.send(m.From, Message{Kind: KindHello})}
	case m.Kind == KindHello:
		return []Action{c.send(m.From, Message{Kind: KindHere})}
	case m.Kind == KindHere || !c.member(c.self) || !c.member(m.From):
		return nil
	}
	return c.vote(m)
}

// sameCluster keeps clusters apart. A node without a cluster listens to
// decided views and greetings, and is heard only when it greets.
func (c *Core) sameCluster(m Message) bool {
	greeting := m.Kind == KindHello || m.Kind == KindHere
	switch {
	case c.cluster.ID == "":
		return greeting || m.Kind == KindDecided
	case m.Cluster == "":
		return greeting
	}
	return m.Cluster == c.cluster.ID
}

// learn installs a decided view if it is newer. With the quorum off two views
// may have one number; then the higher digest wins everywhere.
func (c *Core) learn(v *View) []Action {
	if c.cluster.Difference(v.Cluster) != "" || v.Number < c.number() {
		return nil
	}
	if v.Number == c.number() && (!c.quorumOff || v.Digest() <= c.digest) {
		return nil
	}
	return c.install(v)
}

// install moves to v and starts the next decision from nothing.
func (c *Core) install(v *View) []Action {
	skipped := v.Number != c.number()+1
	c.state = State{View: v, Forgotten: stillForgotten(v, c.state.Forgotten)}
	c.enter(v)
	c.noteFlaps(v)
	return []Action{Persist{c.state}, Install{View: v, Skipped: skipped}}
}

// enter sets what is kept in memory for an installed view.
func (c *Core) enter(v *View) {
	c.cluster = v.Cluster
	if c.quorumOff {
		c.digest = v.Digest()
	}
	c.proposal, c.round, c.denials = nil, 0, map[crawl.NodeID]denial{}
	c.waited, c.delay, c.attempts = 0, 0, 0
	c.listenAnew()
}

// send fills in the envelope.
func (c *Core) send(to crawl.NodeID, m Message) Send {
	m.Cluster, m.From, m.Boot, m.To, m.Number = c.cluster.ID, c.self, c.boot, to, c.number()
	m.Forgotten, m.Digest = c.state.Forgotten, c.digest
	return Send{m}
}

// TickInterval is the core's unit of time: what one Tick stands for.
const TickInterval = 100 * time.Millisecond
