package membership

import (
	"maps"
	"slices"

	"crawlnode/crawl"
)

// Event is something that happened to a node: Founded, Received, Seen or Tick.
type Event interface{ event() }

// Founded asks a node without a view to install the first one.
type Founded struct{ View *View }

// Received is a message from another core, checked by its decoder only.
type Received struct{ Message Message }

// Seen is the complete set of nodes in sight, this one included. It replaces
// the one before.
type Seen struct{ Nodes []Sighting }

// Tick is the passing of one unit of time (TickInterval in the driver). Random
// spreads the retries and picks whom to greet.
type Tick struct{ Random uint64 }

func (Founded) event()  {}
func (Received) event() {}
func (Seen) event()     {}
func (Tick) event()     {}

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
// decided, this file spreads what was decided. The rules of leases, exclusion
// and proof of death work on the same State and Events: a lease may be granted
// only while AcceptedView is nil, and a tie is decided in quorum.
type Core struct {
	self     crawl.NodeID
	cluster  Cluster // without id until the first view is installed
	state    State
	seen     map[crawl.NodeID]Sighting
	proposal *proposal // what this node is trying to get decided, or nil
	round    uint64    // highest round heard of for this decision

	ticks    int // since the start
	waited   int // ticks since a change was first wanted or last tried
	delay    int // extra wait drawn at the last attempt
	attempts int // failed attempts at the present decision
}

// NewCore continues from a durable state. cluster is what the node knows of
// its cluster; with a view in the state, it is the view's.
func NewCore(self crawl.NodeID, cluster Cluster, state State) *Core {
	if state.View != nil {
		cluster = state.View.Cluster
	}
	return &Core{self: self, cluster: cluster, state: state, seen: map[crawl.NodeID]Sighting{}}
}

// View returns the installed view, nil before the first.
func (c *Core) View() *View { return c.state.View }

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
		}
		return nil
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
	if c.state.View == nil {
		return false
	}
	_, ok := c.state.View.Member(id)
	return ok
}

// tick greets somebody now and then and proposes when a change is due. The
// reachable member with the lowest id goes first; the others have the longer
// to wait the more reachable members are before them, so that they step in
// only when those do not get on.
func (c *Core) tick(random uint64) []Action {
	c.ticks++
	var out []Action
	if c.ticks%helloTicks == 0 {
		out = c.greet(random)
	}
	if !c.wants() {
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
	if !c.member(c.self) {
		return false
	}
	return c.state.AcceptedView != nil || next(c.state.View, c.seen) != nil
}

// rank counts the reachable members with lower ids.
func (c *Core) rank() int {
	n := 0
	for _, m := range c.state.View.Members {
		if s, ok := c.seen[m.ID]; ok && m.ID < c.self && s.Status != Left {
			n++
		}
	}
	return n
}

// greet tells one known node how far this one is. Whoever is behind learns the
// newer view by that, whichever side greets.
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
	if len(known) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(known))
	return []Action{c.send(ids[random%uint64(len(ids))], Message{Kind: KindHello})}
}

// receive takes a message in. Votes count only between nodes with the same
// view; to everybody else only the newer view matters.
func (c *Core) receive(m Message) []Action {
	if m.To != c.self || m.From == c.self || !c.sameCluster(m) {
		return nil
	}
	if m.Kind == KindDecided {
		return c.learn(m.View)
	}
	switch {
	case m.Number < c.number():
		return []Action{c.send(m.From, Message{Kind: KindDecided, View: c.state.View})}
	case m.Number > c.number():
		return []Action{c.send(m.From, Message{Kind: KindHello})}
	case m.Kind == KindHello || !c.member(c.self) || !c.member(m.From):
		return nil
	}
	return c.vote(m)
}

// sameCluster keeps clusters apart. A node without a cluster listens to
// decided views and greetings, and is heard only when it greets.
func (c *Core) sameCluster(m Message) bool {
	switch {
	case c.cluster.ID == "":
		return m.Kind == KindHello || m.Kind == KindDecided
	case m.Cluster == "":
		return m.Kind == KindHello
	}
	return m.Cluster == c.cluster.ID
}

// learn installs a decided view if it is newer.
func (c *Core) learn(v *View) []Action {
	if v.Number <= c.number() || c.cluster.difference(v.Cluster) != "" {
		return nil
	}
	return c.install(v)
}

// install moves to v and starts the next decision from nothing.
func (c *Core) install(v *View) []Action {
	skipped := v.Number != c.number()+1
	c.state = State{View: v}
	c.cluster = v.Cluster
	c.proposal, c.round = nil, 0
	c.waited, c.delay, c.attempts = 0, 0, 0
	return []Action{Persist{c.state}, Install{View: v, Skipped: skipped}}
}

// send fills in the envelope.
func (c *Core) send(to crawl.NodeID, m Message) Send {
	m.Cluster, m.From, m.To, m.Number = c.cluster.ID, c.self, to, c.number()
	return Send{m}
}
