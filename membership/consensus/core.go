package consensus

import (
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

// Seen is the complete set of nodes that are alive in gossip, this one included. It
// replaces the one before. Nodes in another order count as a change. They are read during the Step
// only.
type Seen struct{ Nodes []Sighting }

// Tick is the passing of one TickInterval. Random spreads the retries and picks the node
// that is sent a hello.
type Tick struct{ Random uint64 }

// Heard says that a boot of another node asked this one for a lease, or granted one.
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

// Woken says that this node stood still for a while. Messages of others may have been lost
// meanwhile, so their silence counts from now.
type Woken struct{}

// Forget is an operator's request to forget a node, which is gone for good.
type Forget struct{ ID crawl.NodeID }

func (Founded) event()  {}
func (Received) event() {}
func (Seen) event()     {}
func (Tick) event()     {}
func (Heard) event()    {}
func (Dead) event()     {}
func (Woken) event()    {}
func (Forget) event()   {}

// Action is what the driver must do, in the order given.
type Action interface{ action() }

// Persist replaces the durable state. It must be on the disk before any later action is
// performed: promises survive crashes.
type Persist struct{ State State }

// Send sends a message, with no guarantee.
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

// State is what a node must keep across restarts. Promised, Accepted and AcceptedView
// belong to the decision about view View.Number+1 and start anew with each
// installed view.
type State struct {
	View         *View  `json:"view"` // installed; nil before the first
	Promised     Ballot `json:"promised"`
	Accepted     Ballot `json:"accepted"`
	AcceptedView *View  `json:"accepted_view"` // nil when nothing was accepted
	// Forgotten are the ids of forget requests that View does not bar yet, sorted. It
	// is replaced, never changed.
	Forgotten []crawl.NodeID `json:"forgotten,omitempty"`
}

// Units of Tick.
const (
	debounceTicks = 1  // changes that come together go into one view
	rankTicks     = 5  // head start over the next reachable member
	retryTicks    = 5  // least wait before the next attempt
	helloTicks    = 10 // between two hellos
	maxBackoff    = 4  // doublings of the random part of the wait
)

// Core decides views: it takes events and returns actions, without clock or I/O.
// It is not safe for concurrent use.
//
// Its parts: plan.go computes the next view, paxos.go gets it decided, quorum.go counts
// the votes, delta.go tells views, liveness.go keeps which members are silent or dead, silence.go lets the
// voters judge silence, forgotten.go keeps the forget requests, duplicates.go tells two
// processes with one id apart. This file spreads the decided views.
type Core struct {
	self      crawl.NodeID
	boot      crawl.Boot
	mark      string
	quorumOff bool
	cluster   Cluster // without id until the first view is installed
	digest    string  // of the installed view, with the quorum off
	state     State
	seen      sightings
	changed   bool      // seen or the view, since the last prune
	proposal  *proposal // what this node is trying to get decided, or nil
	round     uint64    // highest round heard of for this decision

	heard      map[crawl.NodeID]lastHeard
	dead       map[crawl.NodeID]crawl.Boot // boots up to this are dead
	newer      map[crawl.NodeID]crawl.Boot // the highest boot of a member that was heard or shown by gossip
	duplicates map[crawl.NodeID]duplicate
	greeted    map[crawl.NodeID]int // tick of the last hello
	flaps      map[crawl.NodeID]flap
	denials    map[crawl.NodeID]denial // in this decision
	silentFrom int                     // tick since when silence counts

	// How views are told: delta.go.
	readsDeltas map[crawl.NodeID]crawl.Boot // the boots whose messages said that they read deltas
	before      *View                       // the view before the installed one; nil when that skipped some
	delta       *Delta                      // the installed view, told by what it changes in before; nil until needed
	told        *View                       // the last view that was made of a delta
	toldSum     string                      // its digest

	ticks    int // since the start
	waited   int // ticks since a change was first wanted or last tried
	delay    int // extra wait drawn at the last attempt
	attempts int // failed attempts at the present decision
}

// Identity is what a core must know of its node.
type Identity struct {
	ID   crawl.NodeID
	Boot crawl.Boot
	// Mark is a random number of this process, in hex: two processes that were started
	// from the same data have the same id and boot.
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
		heard: map[crawl.NodeID]lastHeard{},
		dead:  map[crawl.NodeID]crawl.Boot{}, newer: map[crawl.NodeID]crawl.Boot{}, duplicates: map[crawl.NodeID]duplicate{}, greeted: map[crawl.NodeID]int{}, flaps: map[crawl.NodeID]flap{},
		denials: map[crawl.NodeID]denial{}, readsDeltas: map[crawl.NodeID]crawl.Boot{},
	}
	if state.View != nil {
		c.enter(state.View)
	}
	return c
}

// View returns the installed view, nil before the first.
func (c *Core) View() *View { return c.state.View }

// Forgotten returns the ids of forget requests that the view does not bar yet, sorted.
// The caller must not change it.
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
		if !slices.Equal(c.seen.nodes, e.Nodes) { // most events show the same nodes
			c.seen, c.changed = sightingsOf(e.Nodes), true
		}
		for i := range e.Nodes {
			c.noteBoot(e.Nodes[i].ID, e.Nodes[i].Boot)
		}
		return nil
	case Heard:
		return c.hear(e.ID, e.Boot)
	case Dead:
		c.proved(e.ID, e.Boot)
		return nil
	case Woken:
		c.restartSilence()
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
	if c.state.View == nil {
		return false
	}
	_, ok := find(c.state.View.Members, id)
	return ok
}

// listed returns the member of the installed view with an id.
func (c *Core) listed(id crawl.NodeID) (Member, bool) {
	if c.state.View == nil {
		return Member{}, false
	}
	return c.state.View.Member(id)
}

// tick sends hellos, and proposes when a change is due. The reachable member with the
// lowest id proposes first; each other one waits longer the more reachable members have
// lower ids, so that it proposes only if those fail. Without a quorum of reachable
// members no attempt is made, since none could succeed.
func (c *Core) tick(random uint64) []Action {
	c.ticks++
	c.prune()
	out := c.greet(random)
	if !c.wants() || !c.QuorumReached() {
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

// wants reports whether a new view is needed, or a decision is incomplete.
func (c *Core) wants() bool {
	return c.member(c.self) && (c.state.AcceptedView != nil || c.plan() != nil)
}

// rank counts the reachable members with lower ids.
func (c *Core) rank() int {
	n := 0
	for _, m := range c.state.View.Members {
		if m.ID >= c.self {
			break // they are sorted
		}
		if s, ok := c.seen.byID[m.ID]; ok && s.Status != Left && c.verdict(m) == stay {
			n++
		}
	}
	return n
}

// greet sends hellos with the number of this node's view. The side that is behind gets the
// newer view, whichever side sent the hello. Each helloTicks a random node gets one, and
// so does each node that was not heard for suspectTicks: no node counts as silent unless
// it was asked. So does a node that is heard and has answered no call yet.
func (c *Core) greet(random uint64) []Action {
	ids := c.others()
	var out []Action
	for i, id := range ids {
		v, heard := c.heard[id]
		last, greeted := c.greeted[id]
		picked := c.ticks%helloTicks == 0 && i == int(random%uint64(len(ids)))
		due := (!heard || c.ticks-v.tick >= suspectTicks || c.seen.byID[id].Unanswered) && (!greeted || c.ticks-last >= helloTicks)
		if (picked || due) && !c.IsForgotten(id) {
			c.greeted[id] = c.ticks
			out = append(out, c.send(id, Message{Kind: KindHello}))
		}
	}
	return out
}

// others are the ids of the members and of the nodes that are alive in gossip, without this
// one, sorted.
func (c *Core) others() []crawl.NodeID {
	ids := slices.Clone(c.seen.ids)
	if c.state.View != nil {
		for i := range c.state.View.Members {
			id := c.state.View.Members[i].ID
			if at, ok := slices.BinarySearch(ids, id); !ok {
				ids = slices.Insert(ids, at, id)
			}
		}
	}
	if at, ok := slices.BinarySearch(ids, c.self); ok {
		ids = slices.Delete(ids, at, at+1)
	}
	return ids
}

// receive takes a message in, if it is for this node and of its cluster.
func (c *Core) receive(m Message) []Action {
	if m.To != c.self || !c.sameCluster(m) {
		return nil
	}
	if m.From == c.self {
		return c.answerSelf(m)
	}
	c.noteDuplicate(m.From, m.Boot)
	if m.ReadsDeltas {
		c.readsDeltas[m.From] = max(c.readsDeltas[m.From], m.Boot)
	}
	m = c.whole(m)
	if listed, ok := c.listed(m.From); ok && c.shadowed(listed, m.Boot) {
		return nil
	}
	out := c.hear(m.From, m.Boot)
	out = append(out, c.adoptForgotten(m)...)
	return append(out, c.react(m)...)
}

// react answers a message. Votes count only between nodes with the same view; between all
// others only the newer view matters.
func (c *Core) react(m Message) []Action {
	switch {
	case m.Kind == KindDecided:
		// The sender may wait until it knows that the view is installed here.
		return append(c.learn(m.View), c.send(m.From, Message{Kind: KindHere}))
	case m.Number < c.number() || m.Number == c.number() && m.Digest < c.digest && m.Digest != "":
		return []Action{c.catchUp(m)}
	case m.Number > c.number() || m.Digest > c.digest && c.digest != "":
		return []Action{c.send(m.From, Message{Kind: KindHello})}
	case m.Kind == KindHello:
		return []Action{c.send(m.From, Message{Kind: KindHere})}
	case m.Kind == KindHere || !c.member(c.self) || !c.member(m.From):
		return nil
	}
	return c.vote(m)
}

// sameCluster keeps clusters apart. A node without a cluster accepts decided views and
// hellos, and only its hellos are accepted.
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

// install replaces the view by v and starts the next decision anew.
func (c *Core) install(v *View) []Action {
	skipped := v.Number != c.number()+1
	c.before, c.delta = c.state.View, nil
	if skipped {
		c.before = nil
	}
	c.state = State{View: v, Forgotten: stillForgotten(v, c.state.Forgotten)}
	c.enter(v)
	c.noteFlaps(v)
	return []Action{Persist{c.state}, Install{View: v, Skipped: skipped}}
}

// enter sets what is kept in memory for an installed view.
func (c *Core) enter(v *View) {
	c.cluster, c.changed = v.Cluster, true
	if c.quorumOff {
		c.digest = v.Digest()
	}
	c.proposal, c.round, c.denials = nil, 0, map[crawl.NodeID]denial{}
	c.waited, c.delay, c.attempts = 0, 0, 0
	c.restartSilence()
}

// send fills in the fields that all messages have.
func (c *Core) send(to crawl.NodeID, m Message) Send {
	m.Cluster, m.From, m.Boot, m.To, m.Number = c.cluster.ID, c.self, c.boot, to, c.number()
	m.Forgotten, m.Digest, m.ReadsDeltas = c.state.Forgotten, c.digest, true
	return Send{m}
}

// TickInterval is the core's unit of time: what one Tick stands for.
const TickInterval = 100 * time.Millisecond
