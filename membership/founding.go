package membership

import (
	"context"
	"net"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// Who founds: of nodes that all have the same list of addresses (Join), the one at
// the first address. It knows itself by what answers there: names, NAT, and several
// interfaces make strings useless.
//
//   - Each process has a number of its own (mark), which goes with every push/pull of
//     gossip. Who greets an address and is given its own number has greeted itself.
//   - Several nodes may answer at one name. Then it is nobody's.
//   - At an address that is the advertised one and where nothing answers, behind a NAT
//     that lets nobody in from inside, is this node too.
//
// A name may lead to the wrong node for a while. So a node founds when it has found
// itself at the first address for half of FoundAfter without a break, and has seen
// nobody of a cluster for all of it; and nodes tell each other that they found
// themselves there (a claim): of two, the one with the lower id founds, the other
// waits for it. A node whose own advertised name has no address yet waits for one in
// Open. Two found only when the name leads wrong for that long while the two
// do not reach each other either.

// place is what was found at an address.
type place struct {
	addr string
	at   []string // the addresses to which it leads
	err  error    // why nobody has answered there; nil: somebody has
	// Of addresses of Join, before there is a cluster: who has answered.
	self, others bool
}

// mine says that this node is at the place and no other.
func (p *place) mine() bool { return p.self && !p.others }

// recognise finds this node among the places. met says that it has greeted itself at
// one of them. One is tried after the other, so that it is known at which.
func (m *Membership) recognise(listed []place, met bool) {
	for i := range listed {
		p := &listed[i]
		switch {
		case p.err != nil:
			p.self = isSilent(p.err) && slices.Contains(p.at, m.self.Gossip)
		case !met:
			p.others = true
		default:
			for _, at := range p.at {
				m.whoIsAt(p, at)
			}
		}
	}
}

// whoIsAt greets one address of a place once more.
func (m *Membership) whoIsAt(p *place, at string) {
	attempt := m.gossip.attempt.Add(1)
	if _, err := m.gossip.list.Join([]string{at}); err != nil {
		return
	}
	if m.gossip.met.Load() >= attempt {
		p.self = true
	} else {
		p.others = true
	}
}

// findOneself notes since when this node is at the first address of Join.
func (l *loop) findOneself(listed []place) {
	first := l.m.core.View() == nil && len(listed) > 0 && listed[0].addr == l.m.o.Join[0] && listed[0].mine()
	switch {
	case !first:
		l.first = time.Time{}
	case l.first.IsZero():
		l.first = time.Now()
		l.m.o.Logger.Info("this node stands first in --join", "addr", listed[0].addr, "at", listed[0].at)
	}
	l.m.gossip.first.Store(first)
}

// considerFounding founds a cluster when the first node of the join list has
// seen nobody of a cluster for long enough.
func (l *loop) considerFounding() error {
	if l.m.core.View() != nil || l.first.IsZero() {
		return nil
	}
	if l.forestalled() {
		l.alone = time.Now()
	}
	if time.Since(l.alone) < l.m.o.FoundAfter || time.Since(l.first) < l.m.o.FoundAfter/2 {
		return nil
	}
	return l.found()
}

// forestalled reports whether a cluster is in sight, or a node that founds one.
func (l *loop) forestalled() bool {
	for id, n := range l.nodes {
		if n.alive && (n.cluster != "" || n.first && id < l.m.self.ID) {
			return true
		}
	}
	return false
}

// foundIfSure founds at once when there is nothing to wait for: this node is at the
// first address, which no name server can have wrong, and every other node of the
// join list is in sight and belongs to no cluster.
func (l *loop) foundIfSure(listed []place) error {
	if l.m.core.View() != nil || l.first.IsZero() || !certain(&listed[0]) || l.forestalled() {
		return nil
	}
	for i := range listed {
		if !listed[i].self && !l.waits(listed[i].addr) {
			return nil
		}
	}
	return l.found()
}

// waits reports whether a node without a cluster is in sight at addr.
func (l *loop) waits(addr string) bool {
	for _, n := range l.nodes {
		if n.alive && n.cluster == "" && n.Gossip == addr {
			return true
		}
	}
	return false
}

// certain reports whether a place was given as an IP address, or is a name of this
// machine's loopback.
func certain(p *place) bool {
	return !slices.ContainsFunc(p.at, func(at string) bool {
		host, err := splitPort(at)
		return err != nil || p.addr != at && !net.ParseIP(host.host).IsLoopback()
	})
}

// claims takes in which nodes find themselves at the first address.
func (l *loop) claims(made map[crawl.NodeID]bool) {
	for id, first := range made {
		n := l.nodes[id]
		if n == nil {
			continue // it says so again
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
	me.Since = 1
	cluster := l.m.doc.Cluster
	cluster.ID, cluster.Partitions, cluster.Replication = newClusterID(), l.m.o.Partitions, l.m.o.Replication
	l.m.o.Logger.Info("cluster founded", "cluster", cluster.Name, "id", cluster.ID, "partitions", cluster.Partitions)
	return l.step(context.Background(), consensus.Founded{View: &View{Number: 1, Cluster: cluster, Members: []Member{me}}}, nil)
}
