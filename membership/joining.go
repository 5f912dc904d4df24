package membership

import (
	"net"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/membership/gossip"
	"crawlnode/membership/join"
	"crawlnode/membership/storage"
)

// JoinTrouble is an address of Options.Join that is of no use.
type JoinTrouble = join.Trouble

// remember keeps the known addresses on the disk and gives the joiner its plan.
func (l *loop) remember(s *Snapshot) error {
	known, alive := l.addresses(s)
	if !slices.Equal(known, l.m.doc.Peers) && len(known) > 0 {
		l.m.doc.Peers = known
		if err := l.save(); err != nil {
			return err
		}
	}
	plan := &join.Plan{Joined: s.View != nil}
	var former []string
	for _, f := range l.m.doc.Former {
		if f.Gossip != "" {
			former = append(former, f.Gossip)
		}
	}
	for i, addr := range slices.Concat(l.m.o.Join, l.m.doc.Peers, former) {
		// Before there is a cluster a node must find itself in the list: it may have to
		// found one.
		self := addr == l.m.self.Gossip && (plan.Joined || i >= len(l.m.o.Join))
		// A node that waits for admission also joins those that are alive in its gossip:
		// it may be missing in theirs.
		if !self && (s.Status == consensus.Joining || !slices.Contains(alive, addr)) {
			plan.Targets = append(plan.Targets, addr)
		}
	}
	slices.Sort(plan.Targets)
	plan.Targets = slices.Compact(plan.Targets)
	l.m.joiner.Follow(plan)
	return nil
}

// addresses lists the gossip addresses of the members and of the nodes that are alive,
// and separately those that are alive. Both are sorted.
func (l *loop) addresses(s *Snapshot) (known, alive []string) {
	for _, p := range s.Peers {
		n := l.nodes[p.ID]
		lives := n != nil && n.alive
		if p.ID == l.m.self.ID || p.Gossip == "" {
			continue
		}
		if lives {
			alive = append(alive, p.Gossip)
		}
		if lives || p.Listed || p.State != crawl.NodeLeft {
			known = append(known, p.Gossip)
		}
	}
	slices.Sort(known)
	slices.Sort(alive)
	known = slices.Compact(known)
	return known[:min(len(known), storage.MaxPeers)], alive
}

// onRound takes in what a round of joining found.
func (l *loop) onRound(r join.Round) error {
	for _, p := range r.Others {
		if why := join.WhyRefused(p.Err); why != "" {
			l.reportRefusal(gossip.Refusal{Name: p.Addr, Reason: why})
		}
		if p.Err != nil {
			l.m.o.Logger.Debug("join failed", "addr", p.Addr, "err", p.Err)
		}
	}
	l.checkListed(r.Listed)
	if r.Fatal != nil {
		return r.Fatal
	}
	l.findSelf(r.Listed)
	return l.foundIfCertain(r.Listed)
}

// checkListed takes in what was found at the addresses of Join, and logs new problems.
func (l *loop) checkListed(places []join.Place) {
	now := time.Now()
	for i := range places {
		p := &places[i]
		at := l.listed[p.Addr]
		if at == nil {
			at = new(join.Listing)
			l.listed[p.Addr] = at
		}
		at.Look(p, l.known(p), now)
		if p.Err != nil {
			l.m.o.Logger.Debug("join failed", "addr", p.Addr, "err", p.Err)
		}
		if trouble, news := at.Changed(now); news {
			l.m.o.Logger.Warn("an address of --join is of no use", "addr", p.Addr, "reason", trouble.Reason)
		}
	}
}

// joinTroubles lists the addresses of Join that are of no use, in its order. An address
// of a node that is alive is not tried any more.
func (l *loop) joinTroubles(peers []Peer) []JoinTrouble {
	var out []JoinTrouble
	now := time.Now()
	for _, addr := range l.m.o.Join {
		at := l.listed[addr]
		if at == nil {
			continue
		}
		trouble, due := at.Due(now)
		if !due {
			continue
		}
		if slices.ContainsFunc(peers, func(p Peer) bool { return p.Gossip == addr && p.State == crawl.NodeAlive }) {
			at.Clear()
			continue
		}
		out = append(out, trouble)
	}
	return out
}

// known reports whether a place is one of a node that gossip shows or has shown: it leads
// to its gossip address, or its host is the one that the node advertises.
func (l *loop) known(p *join.Place) bool {
	host := func(addr string) string {
		h, _, _ := net.SplitHostPort(addr)
		return h
	}
	s := l.m.snapshot.Load()
	return s != nil && slices.ContainsFunc(s.Peers, func(peer Peer) bool {
		if peer.ID == l.m.self.ID || peer.Gossip == "" {
			return false
		}
		name := host(p.Addr)
		return slices.Contains(p.At, peer.Gossip) || p.Addr == peer.Gossip ||
			net.ParseIP(name) == nil && (name == host(peer.RPC) || name == host(peer.HTTP))
	})
}
