package node

import (
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
)

// changeLog remembers the last change of members, for /status and one log line.
type changeLog struct {
	mu      sync.Mutex // guards the rest
	members map[crawl.NodeID]membership.Member
	last    crawl.ChangeStatus
	began   time.Time // of a change whose partitions still move; zero: none does
	most    int       // the most that were outstanding here since it began
}

func (c *changeLog) status() crawl.ChangeStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// note compares the view with the one before and returns what changed.
func (c *changeLog) note(v *membership.View, now time.Time) (cause, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := make(map[crawl.NodeID]membership.Member, len(v.Members))
	for _, m := range v.Members {
		next[m.ID] = m
		if old, ok := c.members[m.ID]; c.members != nil && (!ok || old.Boot != m.Boot) {
			cause, name = crawl.CauseJoin, m.Name
		} else if ok && m.Draining && !old.Draining {
			cause, name = crawl.CauseLeave, m.Name
		}
	}
	for id, m := range c.members {
		if _, ok := next[id]; !ok {
			cause, name = crawl.CauseLeave, m.Name
		}
	}
	c.members = next
	if cause != "" {
		at, lost, requeued := now.UTC(), 0, int64(0)
		c.last = crawl.ChangeStatus{Cause: &cause, Node: &name, At: &at, PartitionsLost: &lost, InflightRequeued: &requeued}
		c.began = now
	}
	return cause, name
}

// progress turns what is outstanding into done and total, since the change.
func (c *changeLog) progress(outstanding int) (done, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if outstanding == 0 {
		c.most = 0
	}
	c.most = max(c.most, outstanding)
	return c.most - outstanding, c.most
}

// settled notes that no partition moves any more.
func (c *changeLog) settled(now time.Time) (took time.Duration, changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.IsZero() {
		return 0, false
	}
	took = now.Sub(c.began)
	c.began = time.Time{}
	sec := took.Seconds()
	c.last.TakeoverSeconds = &sec
	return took, true
}

// viewChanged is called for each view that was installed.
func (n *Node) viewChanged(snap *membership.Snapshot) {
	keepAddr, keepID := map[string]bool{}, map[crawl.NodeID]bool{}
	for _, m := range snap.View.Members {
		keepID[m.ID] = true
		keepAddr[m.RPC] = true
	}
	for _, p := range snap.Peers { // joiners hear of their first view over these
		keepAddr[p.RPC] = true
	}
	n.pool.Keep(keepAddr)
	n.peers.keep(keepID, n.partitions())
	if cause, name := n.changes.note(snap.View, time.Now()); cause != "" {
		n.log.Info("the members changed", "view", snap.View.Number, "cause", cause, "node", name, "members", len(snap.View.Members))
	}
	n.renewals.soon()
}

// refused says who may not join and why.
func (n *Node) refused(id crawl.NodeID, name, reason string) {
	n.log.Warn("a node was refused", "peer", id, "name", name, "reason", reason)
}

// reachable reports whether gossip and calls reach a member; it decides nothing
// but whom to wait for.
func (n *Node) reachable(id crawl.NodeID) bool {
	s := n.peerState(id)
	return s == crawl.NodeAlive || s == crawl.NodeDraining
}

// peerState is what gossip says of a node, "" when it was never heard of.
func (n *Node) peerState(id crawl.NodeID) string {
	for _, p := range n.members.Snapshot().Peers {
		if p.ID == id {
			return p.State
		}
	}
	return ""
}

// holdingsChanged is called after each partition that came or went.
func (n *Node) holdingsChanged() {
	n.moved.Add(1)
	n.renewals.soon()
	n.outbox.wake()
}

// warnAboutFlags tells a joiner, in one line, that its own crawl flags count for
// nothing because the cluster has its settings already.
func (n *Node) warnAboutFlags() {
	own, theirs := n.cfg.Settings(n.version), n.doc.Current().doc.Settings
	if diff := differing(&own, &theirs); len(diff) > 0 && len(n.others()) > 0 {
		n.log.Warn("this node's flags differ from the cluster's settings, which count", "settings", diff)
	}
}
