package membership

import (
	"cmp"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/membership/prober"
)

// This file derives from the nodes that the loop remembers what the core, the prober and
// people get.

// maxGone bounds the remembered nodes that are neither alive nor members.
const maxGone = 64

// sightings are the nodes that are alive in gossip, and this one, sorted by id: the core compares
// them with those of the last event, and takes a new look at the nodes only when they differ.
func (l *loop) sightings() []consensus.Sighting {
	out := []consensus.Sighting{l.ownSighting()}
	v := l.m.core.View()
	for id, n := range l.nodes {
		if n.alive {
			s := n.Sighting
			s.Unanswered = s.Status == consensus.Joining && !listed(v, id) && (n.unreachable || n.answered != n.Boot)
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b consensus.Sighting) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// unanswered are the nodes that call this one and have answered none of its calls for a
// while: most have a wrong --advertise.
func (l *loop) unanswered() (out []Unanswered) {
	for id, n := range l.nodes {
		if n.unreachable && time.Since(n.failing) >= unansweredAfter && l.m.core.Reached(id) {
			out = append(out, Unanswered{ID: id, Name: n.Name, RPC: n.RPC, Since: n.failing})
		}
	}
	slices.SortFunc(out, func(a, b Unanswered) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (l *loop) ownSighting() consensus.Sighting {
	me := l.m.self
	return consensus.Sighting{ID: me.ID, Name: me.Name, Boot: me.Boot, Status: l.status, RPC: me.RPC, HTTP: me.HTTP, Gossip: me.Gossip, Process: me.Process, Place: l.m.place}
}

// minority reports whether this node is in the view, may not fetch, and receives messages
// of too few members to change that.
func (l *loop) minority(v *View) bool {
	return v != nil && listed(v, l.m.self.ID) && !l.m.LeaseValid() && !l.m.core.QuorumReached()
}

// targets are the other members, for the prober. A member is suspect if it is silent, if
// calls to it fail, or if it is dead in gossip.
func (l *loop) targets(v *View) []prober.Target {
	if v == nil || !l.m.o.ProofOfDeath {
		return nil
	}
	silent := l.m.core.Suspects()
	var out []prober.Target
	for _, m := range v.Members {
		if n := l.nodes[m.ID]; m.ID != l.m.self.ID {
			out = append(out, prober.Target{Member: m, Suspect: silent[m.ID] || n == nil || !n.alive || n.unreachable})
		}
	}
	return out
}

func (l *loop) withSelf() map[crawl.NodeID]*node {
	all := make(map[crawl.NodeID]*node, len(l.nodes)+1)
	for id, n := range l.nodes {
		all[id] = n
	}
	all[l.m.self.ID] = &node{Sighting: l.ownSighting(), alive: true}
	return all
}

// prune bounds the remembered nodes that are gone and no members, and drops the
// forgotten ones.
func (l *loop) prune(v *View) {
	var gone []crawl.NodeID
	for id, n := range l.nodes {
		if !n.alive && (v == nil || !listed(v, id)) {
			gone = append(gone, id)
			if v != nil && v.Bars(id) {
				delete(l.nodes, id)
			}
		}
	}
	for len(gone) > maxGone {
		delete(l.nodes, gone[0])
		gone = gone[1:]
	}
}
