package gossip

import (
	"maps"
	"slices"
	"sync"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// Event is the latest state of one node in gossip.
type Event struct {
	consensus.Sighting
	Cluster consensus.ClusterID // "" while the node belongs to none
	Alive   bool
}

// Refusal is a node that was not let in.
type Refusal struct {
	ID           crawl.NodeID
	Name, Reason string
}

// Received is what gossip has received since the last Take.
type Received struct {
	Events   []Event // at most one for each node
	Refusals []Refusal
	// Duplicate is another process with this node's id; the zero Member: none.
	Duplicate consensus.Member
	// Claims says which nodes find themselves at the first address of --join, and
	// which do not any more. A claim is older than the events.
	Claims map[crawl.NodeID]bool
}

// inbox holds what the callbacks saw until Take: the newest event for each node, at
// most maxRefusals refusals and maxClaims claims, so it is bounded by the number of
// nodes.
type inbox struct {
	wake chan struct{} // cap 1

	mu       sync.Mutex // guards the rest; held for memory only
	events   map[crawl.NodeID]Event
	refusals map[Refusal]bool
	claims   map[crawl.NodeID]bool
	other    consensus.Member // another process with this node's id; zero: none
}

const (
	maxRefusals = 64
	maxClaims   = 1024
)

// Changed gets a signal when Take has something to return.
func (g *Gossip) Changed() <-chan struct{} { return g.inbox.wake }

// Take empties the inbox.
func (g *Gossip) Take() Received {
	i := &g.inbox
	i.mu.Lock()
	defer i.mu.Unlock()
	out := Received{
		Events: slices.Collect(maps.Values(i.events)), Refusals: slices.Collect(maps.Keys(i.refusals)),
		Duplicate: i.other, Claims: i.claims,
	}
	clear(i.events)
	clear(i.refusals)
	i.claims, i.other = nil, consensus.Member{}
	return out
}

func (i *inbox) put(e Event) {
	i.mu.Lock()
	if i.events == nil {
		i.events = make(map[crawl.NodeID]Event)
	}
	i.events[e.ID] = e
	i.mu.Unlock()
	crawl.Signal(i.wake)
}

func (i *inbox) refuse(r Refusal) {
	i.mu.Lock()
	if i.refusals == nil {
		i.refusals = make(map[Refusal]bool)
	}
	if len(i.refusals) < maxRefusals {
		i.refusals[r] = true
	}
	i.mu.Unlock()
	crawl.Signal(i.wake)
}

func (i *inbox) claim(id crawl.NodeID, first bool) {
	i.mu.Lock()
	if i.claims == nil {
		i.claims = make(map[crawl.NodeID]bool)
	}
	if _, known := i.claims[id]; known || len(i.claims) < maxClaims {
		i.claims[id] = first
	}
	i.mu.Unlock()
	crawl.Signal(i.wake)
}

func (i *inbox) duplicate(m consensus.Member) {
	i.mu.Lock()
	i.other = m
	i.mu.Unlock()
	crawl.Signal(i.wake)
}
