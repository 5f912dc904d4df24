package status

import "crawlnode/crawl"

// This file makes the ring's part of the status: partitions that are served, moving, or short of
// copies.

// addRing adds one member's report of its moves.
func addRing(r *crawl.RingStatus, b *crawl.NodeBlock) {
	r.Offline += b.Offline
	r.SingleCopy.Partitions += b.SingleCopy.Partitions
	r.SingleCopy.Seconds = max(r.SingleCopy.Seconds, b.SingleCopy.Seconds)
	r.Promoting += b.Promoting
	r.Repair.PartitionsDone += b.Repair.PartitionsDone
	r.Repair.PartitionsTotal += b.Repair.PartitionsTotal
	r.Repair.CopiedTotal += b.Repair.CopiedTotal
	r.Repair.CaughtUpTotal += b.Repair.CaughtUpTotal
	r.Handoff.BytesPerSecond += b.Handoff.BytesPerSecond
	r.Handoff.Stuck = append(r.Handoff.Stuck, b.Handoff.Stuck...)
}

// marks has a bit for each partition: held by a live member, and served by one, that may fetch.
type marks struct{ held, served []byte }

func newMarks(partitions int) marks {
	return marks{make([]byte, (partitions+7)/8), make([]byte, (partitions+7)/8)}
}

// addHeld marks the partitions that a live member holds. They are marked and not counted: during a
// move the blocks of both nodes may report a partition for a second, which must not hide another
// one without a holder. An early block, made before the view that dropped a failed node, still
// counts the copies there: its partitions may have too few.
func addHeld(r *crawl.RingStatus, n *Node, m *marks, early bool) {
	if early {
		r.UnderReplicated += crawl.CountBits(n.Held)
	} else {
		r.UnderReplicated += n.Block.UnderReplicated
	}
	for i := range min(len(n.Held), len(m.held)) {
		m.held[i] |= n.Held[i]
		if !n.Block.NoLease { // a node that may not fetch serves no partition
			m.served[i] |= n.Held[i]
		}
	}
}

// fillRing fills in the rest. lost are partitions that have lost the copy of their holder.
func fillRing(s *crawl.Status, p *Picture, lost int) {
	r := &s.Ring
	r.View, r.Digest, r.Partitions, r.ReplicationFactor = p.View, p.Digest, p.Total, p.Factor
	h := &r.Handoff
	if h.Stuck == nil {
		h.Stuck = []crawl.StuckStatus{}
	}
	// A moving partition counts once, at the node that gives it away.
	for i := range p.Nodes {
		if b := &p.Nodes[i].Block.Handoff; p.Nodes[i].Counts {
			h.PartitionsDone += b.PartitionsDone
			h.PartitionsTotal += b.PartitionsTotal
		}
	}
	outstanding := h.PartitionsTotal - h.PartitionsDone
	if !p.Alone { // an owner also awaits partitions that a live holder will pass on
		unserved := r.Partitions - r.Served
		r.Promoting = min(r.Promoting, max(unserved-r.Offline, 0))
		r.UnderReplicated = min(r.UnderReplicated+lost, r.Partitions)
	}
	// A member that is draining still holds the partitions that the next view takes from it, and a
	// block of another view says nothing about this one.
	r.Converged = p.Joined && outstanding == 0 && r.Served == r.Partitions && s.Cluster.Members.Draining == 0 && p.sameView()
	h.Active = outstanding > 0
	h.ETASeconds = eta(p, h.PartitionsDone, outstanding)
	r.Repair.Active = r.UnderReplicated > 0
	r.LastChange = p.Change
}

// bereft reports whether copies were lost with a member: one has gone since the last change, or is
// silent.
func (p *Picture) bereft() bool {
	if p.Change.Cause != nil && *p.Change.Cause == crawl.CauseFailed {
		return true
	}
	for i := range p.Nodes { // by index: a Picture of a node is kilobytes
		if n := &p.Nodes[i]; n.Counts && !n.live() {
			return true
		}
	}
	return false
}

// eta is how long the remaining moves take at the speed so far; nil while nothing moves or nothing
// has arrived yet.
func eta(p *Picture, done, outstanding int) *float64 {
	if done == 0 || outstanding == 0 {
		return nil
	}
	sec := p.Now.Sub(p.Since).Seconds() * float64(outstanding) / float64(done)
	return &sec
}

// sameView reports whether every member's last block was made in this view.
func (p *Picture) sameView() bool {
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Counts && (!n.live() || n.Block.View != p.View) {
			return false
		}
	}
	return true
}

// ChangeOver reports whether a change of members is over: every member is at this view, and every
// partition is held by a member that may fetch. After a join or a leave no partition may be moving
// any more; a failure is over when all partitions are served.
func ChangeOver(p *Picture) bool {
	s := Merge(*p)
	moving := s.Ring.Handoff.Active && (p.Change.Cause == nil || *p.Change.Cause != crawl.CauseFailed)
	return p.Joined && !moving && s.Ring.Promoting == 0 && s.Ring.Served == s.Ring.Partitions && p.sameView()
}
