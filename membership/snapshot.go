package membership

import (
	"cmp"
	"slices"
	"sync"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/ring"
)

// Peer is a node as gossip sees it. It is news for people: it decides nothing.
type Peer struct {
	ID                crawl.NodeID
	Name              string
	Boot              crawl.Boot
	State             string // crawl.NodeAlive, NodeSuspect, NodeDraining, NodeLeft or NodeFailed
	Listed            bool   // the view lists this boot
	RPC, HTTP, Gossip string // host:port each
}

// Snapshot is what a node knows at one moment. It is immutable.
type Snapshot struct {
	// View is the newest view this node has installed, nil before the first.
	// It need not list this node.
	View *View
	// Table is the assignment by the active members of View; nil without one.
	Table *ring.Table
	// Peers are the members of the view and all other nodes in sight, this one
	// included, sorted by id.
	Peers []Peer
	// Status is this node's own. Active means that View lists this boot.
	Status consensus.Status
	// Followed says that more than half of View's members are known to have it
	// installed: no view before it can be gone on from without one of them.
	Followed bool
	// Minority says that this node is in the view, has no lease, and hears too
	// few members to get one: it may not fetch until others come back or are
	// forgotten.
	Minority bool
	// Join are the addresses of Options.Join that are of no use, in its order.
	Join []JoinTrouble
}

func (s *Snapshot) equal(other *Snapshot) bool {
	return s.View == other.View && s.Status == other.Status && s.Minority == other.Minority && s.Followed == other.Followed && slices.Equal(s.Peers, other.Peers) && slices.Equal(s.Join, other.Join)
}

// node is what the loop remembers of another node.
type node struct {
	consensus.Sighting
	cluster consensus.ClusterID // "" while it has none
	alive   bool                // as gossip says
	first   bool                // it says that it finds itself at the first address of Join
	// unreachable is set while calls to it fail.
	unreachable bool
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

// peers merges the view with the nodes that were sighted. A member whose listed boot
// was never sighted shows with the addresses of the view: gossip takes seconds to
// learn that a node has moved. It has failed unless it was heard of late; so has one
// whose listed boot is proved dead, unless a later one is in sight.
func peers(v *View, nodes map[crawl.NodeID]*node, c *consensus.Core) []Peer {
	var out []Peer
	for id, n := range nodes {
		if unsighted(v, nodes, id) {
			continue
		}
		state := n.state()
		if v != nil && state != crawl.NodeLeft {
			if m, ok := v.Member(id); ok && m.Boot == n.Boot && c.IsDead(m) {
				state = crawl.NodeFailed
			}
		}
		out = append(out, Peer{
			ID: id, Name: n.Name, Boot: n.Boot, State: state, Listed: v != nil && v.Lists(id, n.Boot),
			RPC: n.RPC, HTTP: n.HTTP, Gossip: n.Gossip,
		})
	}
	if v != nil {
		for _, m := range v.Members {
			if unsighted(v, nodes, m.ID) {
				state := crawl.NodeFailed
				if c.Reached(m.ID) && !c.IsDead(m) {
					state = crawl.NodeAlive
				}
				out = append(out, Peer{
					ID: m.ID, Name: m.Name, Boot: m.Boot, State: state, Listed: true,
					RPC: m.RPC, HTTP: m.HTTP, Gossip: m.Gossip,
				})
			}
		}
	}
	slices.SortFunc(out, func(a, b Peer) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// unsighted reports whether gossip has not shown the boot of a member that the view
// lists, nor a later one.
func unsighted(v *View, nodes map[crawl.NodeID]*node, id crawl.NodeID) bool {
	if v == nil {
		return false
	}
	m, ok := v.Member(id)
	return ok && (nodes[id] == nil || nodes[id].Boot < m.Boot)
}

// watchers wakes those who wait for a change. Signals carry no data: a channel
// holds one at most and says "look".
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
		signal(c)
	}
}

// signal sets a cap-1 channel.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
