package membership

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/membership/join"
)

// Of nodes that all have the same list of addresses (Join), the one at the first address
// founds the cluster. Package join recognises at which address a node answers itself.
//
// A name may lead to the wrong node for a while. So a node founds after it has found
// itself at the first address for half of FoundAfter without a break, and has seen no
// node of a cluster for all of it. Nodes tell each other that they found themselves there
// (a claim): of two, the one with the lower id founds, and the other waits for it. A node
// whose own advertised name has no address yet waits for one in Open. Two clusters are
// founded only if the name is wrong for that long and the two nodes do not reach each
// other either.

// findSelf notes since when this node is at the first address of Join.
func (l *loop) findSelf(listed []join.Place) {
	first := l.m.core.View() == nil && len(listed) > 0 && listed[0].Addr == l.m.o.Join[0] &&
		listed[0].Own()
	switch {
	case !first:
		l.first = time.Time{}
	case l.first.IsZero():
		l.first = time.Now()
		l.m.o.Logger.Info("this node is the first of --join", "addr", listed[0].Addr, "at", listed[0].At)
	}
	l.m.gossip.SetFirst(first)
}

// considerFounding founds a cluster when the first node of the join list has
// seen no node of a cluster for long enough.
func (l *loop) considerFounding() error {
	if l.m.core.View() != nil || l.first.IsZero() {
		return nil
	}
	if l.mustWait() {
		l.alone = time.Now()
	}
	if time.Since(l.alone) < l.m.o.FoundAfter || time.Since(l.first) < l.m.o.FoundAfter/2 {
		return nil
	}
	return l.found()
}

// mustWait reports whether a node is alive that belongs to a cluster, or that will found
// one before this node.
func (l *loop) mustWait() bool {
	for id, n := range l.nodes {
		if n.alive && (n.cluster != "" || n.first && id < l.m.self.ID) {
			return true
		}
	}
	return false
}

// foundIfCertain founds at once when there is nothing to wait for: this node is at the
// first address, which no name server can have wrong, and every other node of the
// join list is alive and belongs to no cluster.
func (l *loop) foundIfCertain(listed []join.Place) error {
	if l.m.core.View() != nil || l.first.IsZero() || !listed[0].Certain() || l.mustWait() {
		return nil
	}
	for i := range listed {
		if !listed[i].Self && !l.withoutCluster(listed[i].Addr) {
			return nil
		}
	}
	return l.found()
}

// withoutCluster reports whether a node that belongs to no cluster is alive at addr.
func (l *loop) withoutCluster(addr string) bool {
	for _, n := range l.nodes {
		if n.alive && n.cluster == "" && n.Gossip == addr {
			return true
		}
	}
	return false
}

// onClaims takes in which nodes find themselves at the first address.
func (l *loop) onClaims(claims map[crawl.NodeID]bool) {
	for id, first := range claims {
		n := l.nodes[id]
		if n == nil {
			continue // it repeats the claim
		}
		if first && !n.first && !l.first.IsZero() {
			l.m.o.Logger.Warn("two nodes find themselves at the first address of --join: its name leads to both; the one with the lower id founds",
				"addr", l.m.o.Join[0], "id", id, "node", n.Name)
		}
		n.first = first
	}
}

// found makes the first view of a new cluster.
func (l *loop) found() error {
	me := l.m.self
	me.Since, me.Place = 1, l.m.place
	cluster := l.m.doc.Cluster
	cluster.ID, cluster.Partitions, cluster.Replication = newClusterID(), l.m.o.Partitions,
		l.m.o.Replication
	l.m.o.Logger.Info("cluster founded", "cluster", cluster.Name, "id", cluster.ID, "partitions",
		cluster.Partitions)
	return l.step(context.Background(),
		consensus.Founded{View: &View{Number: 1, Cluster: cluster, Members: []Member{me}}}, nil)
}
