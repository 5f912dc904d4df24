package membership

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/ring"
)

// Peer is a node as gossip shows it. It is for people: no decision depends on it.
type Peer struct {
	ID                crawl.NodeID
	Name              string
	Boot              crawl.Boot
	State             string // crawl.NodeAlive, NodeSuspect, NodeDraining, NodeLeft or NodeFailed
	Listed            bool   // the view lists this boot
	RPC, HTTP, Gossip string // host:port each
	// Weight and Zone are those by which the table is made; of a node that is no member, those that
	// it announces.
	Weight int
	Zone   string
}

// Snapshot is what a node knows at one moment. It is immutable.
type Snapshot struct {
	// View is the newest view this node has installed, nil before the first.
	// It need not list this node.
	View *View
	// Table is the assignment by the active members of View; nil without one.
	Table *ring.Table
	// Peers are the members of the view and all other nodes that gossip shows, this one
	// included, sorted by id.
	Peers []Peer
	// Status is this node's own. Active means that View lists this boot.
	Status consensus.Status
	// Followed says that more than half of View's members are known to have it
	// installed: no other successor of an earlier view can be decided without one of them.
	Followed bool
	// Minority says that this node is in the view, has no lease, and receives messages
	// of too few members to get one: it may not fetch until others return or are
	// forgotten.
	Minority bool
	// Join are the addresses of Options.Join that are of no use, in its order.
	Join []JoinTrouble
	// Unanswered are the nodes that this one hears and cannot call, sorted by id.
	Unanswered []Unanswered
}

// Unanswered is a node that calls this one, and that answers none of its calls.
type Unanswered struct {
	ID        crawl.NodeID
	Name, RPC string
	Since     time.Time
}

// unansweredAfter is for how long all calls to a node must fail before people are told.
const unansweredAfter = 5 * time.Second

// Joining reports whether this node waits to be listed.
func (s *Snapshot) Joining() bool { return s.Status == consensus.Joining }

// State is the state of a node (crawl.NodeAlive and so on); "" when gossip never showed it.
func (s *Snapshot) State(id crawl.NodeID) string {
	for _, p := range s.Peers {
		if p.ID == id {
			return p.State
		}
	}
	return ""
}

// Joiners are the nodes other than self that gossip shows as alive and that no view lists yet.
func (s *Snapshot) Joiners(self crawl.NodeID) (found []Member) {
	if s.View == nil {
		return nil
	}
	for _, p := range s.Peers {
		if p.Listed || p.ID == self || p.State != crawl.NodeAlive {
			continue
		}
		if _, ok := s.View.Member(p.ID); !ok {
			found = append(found, Member{ID: p.ID, Name: p.Name, Boot: p.Boot, RPC: p.RPC})
		}
	}
	return found
}

// Knows reports whether a node is a member, or gossip shows it.
func (s *Snapshot) Knows(id crawl.NodeID) bool {
	if s.View != nil {
		if _, ok := s.View.Member(id); ok {
			return true
		}
	}
	return slices.ContainsFunc(s.Peers, func(p Peer) bool { return p.ID == id })
}

func (s *Snapshot) equal(other *Snapshot) bool {
	return s.View == other.View && s.Status == other.Status && s.Minority == other.Minority &&
		s.Followed == other.Followed && slices.Equal(s.Peers, other.Peers) &&
		slices.Equal(s.Join, other.Join) && slices.Equal(s.Unanswered, other.Unanswered)
}

// node is what the loop remembers of another node.
type node struct {
	consensus.Sighting
	cluster consensus.ClusterID // "" while it has none
	alive   bool                // in gossip
	first   bool                // it claims to be at the first address of Join
	// unreachable is set while calls to it fail, which began at failing.
	unreachable bool
	failing     time.Time
	answered    crawl.Boot // the boot that has answered a call last
}

// called notes how a call to the node's present boot has ended.
func (n *node) called(answered bool, now time.Time) {
	switch {
	case answered:
		n.answered = n.Boot
	case !n.unreachable:
		n.failing = now
	}
	n.unreachable = !answered
}

func (n *node) state() string {
	switch {
	case !n.alive && n.Status >= consensus.Leaving:
		return crawl.NodeLeft
	case !n.alive:
		return crawl.NodeFailed
	case n.unreachable:
		return crawl.NodeSuspect
	case n.Status >= consensus.Draining:
		return crawl.NodeDraining
	}
	return crawl.NodeAlive
}

// peers merges the view with the nodes that gossip shows. A member whose listed boot
// gossip has not shown yet appears with the addresses of the view: it takes seconds until
// gossip shows the new address of a node that has moved. Its state is failed unless it
// was heard lately. A member whose listed boot is proved dead is failed, unless gossip
// shows a later one.
func peers(v *View, nodes map[crawl.NodeID]*node, c *consensus.Core) []Peer {
	out := make([]Peer, 0, len(nodes)) // made after every event
	for id, n := range nodes {
		if notShown(v, nodes, id) {
			continue
		}
		state, place := n.state(), n.Place
		if v != nil {
			if m, ok := v.Member(id); ok {
				place = m.Place
			}
		}
		if v != nil && state != crawl.NodeLeft {
			if m, ok := v.Member(id); ok && m.Boot == n.Boot && c.IsDead(m) {
				state = crawl.NodeFailed
			}
		}
		out = append(out, Peer{
			ID: id, Name: n.Name, Boot: n.Boot, State: state, Listed: v != nil && v.Lists(id, n.Boot),
			RPC: n.RPC, HTTP: n.HTTP, Gossip: n.Gossip, Weight: place.Share(), Zone: place.Zone,
		})
	}
	if v != nil {
		for _, m := range v.Members {
			if notShown(v, nodes, m.ID) {
				state := crawl.NodeFailed
				if c.Reached(m.ID) && !c.IsDead(m) {
					state = crawl.NodeAlive
				}
				out = append(out, Peer{
					ID: m.ID, Name: m.Name, Boot: m.Boot, State: state, Listed: true,
					RPC: m.RPC, HTTP: m.HTTP, Gossip: m.Gossip, Weight: m.Share(), Zone: m.Zone,
				})
			}
		}
	}
	slices.SortFunc(out, func(a, b Peer) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// notShown reports whether gossip has not shown the boot of a member that the view
// lists, nor a later one.
func notShown(v *View, nodes map[crawl.NodeID]*node, id crawl.NodeID) bool {
	if v == nil {
		return false
	}
	m, ok := v.Member(id)
	return ok && (nodes[id] == nil || nodes[id].Boot < m.Boot)
}

// watchers signals a change of the snapshot to all channels of Watch. A signal carries no
// data, and a channel holds at most one.
type watchers struct {
	mu  sync.Mutex // guards all; held for the map only
	all map[chan struct{}]bool
}

func (w *watchers) add() chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[chan struct{}]bool)
	}
	c := make(chan struct{}, 1)
	w.all[c] = true
	return c
}

func (w *watchers) remove(c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, c)
}

func (w *watchers) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.all {
		crawl.Signal(c)
	}
}
