package node

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/node/events"
	"crawlnode/node/status"
	"crawlnode/peer"
)

// changeLog remembers the last change of members, for /status and the log.
type changeLog struct {
	mu      sync.Mutex // guards the rest
	members map[crawl.NodeID]membership.Member
	gone    map[crawl.NodeID]departure // members of earlier views that no view took back
	last    crawl.ChangeStatus
	began   time.Time // of a change that is not settled yet; zero: none is
	passing int       // partitions that the departed held, as they said last
	lost    int       // partitions that were lost when the change began

	moves, repairs tally
	paused         time.Time // since when there is no lease and no majority; zero: there is
}

// departure is a node that was a member.
type departure struct {
	member membership.Member
	state  string // crawl.NodeLeft, or NodeFailed when it was excluded
	at     time.Time
}

// told is the departure as people read it.
func (d departure) told() status.Departure {
	return status.Departure{Boot: d.member.Boot, State: d.state, At: d.at}
}

// lastWord is what counts of the last block of a node that is gone.
type lastWord struct {
	inFlight int64
	held     int
}

// change is one change of members as note found it.
type change struct {
	cause string // "" is no change
	names []string
	words lastWord
	each  []crawl.Event // one for each name
}

// add takes a member in; code is its event's.
func (c *change) add(cause, code, name string, w lastWord) {
	c.cause = cause
	c.names = append(c.names, name)
	c.words.inFlight += w.inFlight
	c.words.held += w.held
	c.each = append(c.each, events.Member(code, name, w.inFlight, w.held))
}

func (c *changeLog) status() crawl.ChangeStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// departed says of each former member how it went.
func (c *changeLog) departed() map[crawl.NodeID]departure {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.gone)
}

// note compares the view with the one before. word gives a node's last word,
// lost is how many partitions have been lost so far. It returns the change that
// counts, and the events of all; the first view of a process is neither.
func (c *changeLog) note(v *membership.View, now time.Time, word func(membership.Member) lastWord, lost int) (change, []crawl.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.members == nil
	ch, told := c.compareLocked(v, now, word)
	c.members = make(map[crawl.NodeID]membership.Member, len(v.Members))
	for _, m := range v.Members {
		c.members[m.ID] = m
		delete(c.gone, m.ID)
	}
	if first || ch.cause == "" {
		return change{}, nil
	}
	c.keepLocked(ch, now, lost)
	return ch, told
}

// keepLocked makes a change the last one. A failure stays the last until it is
// settled: another one joins it, and what else changes meanwhile, such as the
// failed node's return, is no news beside it.
func (c *changeLog) keepLocked(ch change, now time.Time, lost int) {
	name := strings.Join(ch.names, ", ")
	if !c.began.IsZero() && *c.last.Cause == crawl.CauseFailed {
		if ch.cause == crawl.CauseFailed {
			name, requeued := *c.last.Node+", "+name, *c.last.InflightRequeued+ch.words.inFlight
			c.last.Node, c.last.InflightRequeued = &name, &requeued
			c.passing += ch.words.held
		}
		return
	}
	at, none := now.UTC(), 0
	c.last = crawl.ChangeStatus{Cause: &ch.cause, Node: &name, At: &at, PartitionsLost: &none, InflightRequeued: &ch.words.inFlight}
	c.began, c.passing, c.lost = now, ch.words.held, lost
}

// compareLocked finds what the view changes. A failure is told before a leave,
// and a leave before a join; the events of all are returned.
func (c *changeLog) compareLocked(v *membership.View, now time.Time, word func(membership.Member) lastWord) (change, []crawl.Event) {
	var joined, left, failed change
	for _, m := range v.Members {
		old, ok := c.members[m.ID]
		switch {
		case !ok:
			joined.add(crawl.CauseJoin, crawl.EventJoined, m.Name, lastWord{})
		case old.Boot != m.Boot: // what its former process had open is fetched again
			joined.add(crawl.CauseJoin, crawl.EventJoined, m.Name, lastWord{inFlight: word(old).inFlight})
		case m.Draining && !old.Draining:
			left.add(crawl.CauseLeave, crawl.EventDraining, m.Name, lastWord{})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.members)) {
		m := c.members[id]
		if _, ok := v.Member(id); ok {
			continue
		}
		d := departure{member: m, state: crawl.NodeFailed, at: now}
		if slices.Contains(v.Left, membership.Departure{ID: id, Boot: m.Boot}) {
			d.state = crawl.NodeLeft
			left.add(crawl.CauseLeave, crawl.EventLeft, m.Name, word(m))
		} else {
			failed.add(crawl.CauseFailed, crawl.EventFailed, m.Name, word(m))
		}
		if c.gone == nil {
			c.gone = map[crawl.NodeID]departure{}
		}
		c.gone[id] = d
	}
	worst := joined
	for _, ch := range []change{left, failed} {
		if ch.cause != "" {
			worst = ch
		}
	}
	return worst, slices.Concat(failed.each, left.each, joined.each)
}

// pending reports whether a change is not settled yet.
func (c *changeLog) pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.began.IsZero()
}

// settle notes that the cluster serves every partition again; lost is how many
// have been lost so far. It returns the whole change, and how many partitions the
// departed had held; ok is false when nothing was pending.
func (c *changeLog) settle(now time.Time, lost int) (last crawl.ChangeStatus, passed int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.IsZero() {
		return crawl.ChangeStatus{}, 0, false
	}
	sec, more := now.Sub(c.began).Seconds(), max(lost-c.lost, 0)
	c.began = time.Time{}
	c.last.TakeoverSeconds, c.last.PartitionsLost = &sec, &more
	return c.last, c.passing, true
}

// tally turns what is left to do into done and total, since the last time that
// nothing was left.
type tally struct{ most int }

func (t *tally) read(left int) (done, total int) {
	if left == 0 {
		t.most = 0
	}
	t.most = max(t.most, left)
	return t.most - left, t.most
}

// progress says how far the moves and the making of copies have come.
func (c *changeLog) progress(leaving, copies int) (moves, repairs [2]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	moves[0], moves[1] = c.moves.read(leaving)
	repairs[0], repairs[1] = c.repairs.read(copies)
	return moves, repairs
}

// pausedSince says since when this node has been in a minority, zero when it is
// not.
func (c *changeLog) pausedSince(minority bool, now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !minority:
		c.paused = time.Time{}
	case c.paused.IsZero():
		c.paused = now
	}
	return c.paused
}

// viewChanged is called for each view that was installed.
func (n *Node) viewChanged(snap *membership.Snapshot) {
	keep, keepID := map[peer.Target]bool{}, map[crawl.NodeID]bool{}
	for _, m := range snap.View.Members {
		keepID[m.ID] = true
		keep[targetOf(m)] = true
	}
	for _, p := range snap.Peers { // joiners hear of their first view over these
		keep[peer.Target{ID: string(p.ID), Boot: uint64(p.Boot), Addr: p.RPC}] = true
	}
	n.pool.Keep(keep)
	n.peers.Keep(keepID, n.partitions())
	ch, told := n.changes.note(snap.View, time.Now(), n.lastWordOf, n.partitionsLost())
	n.events.View(time.Now(), snap.View, told)
	if ch.cause != "" {
		n.log.Info("the members changed", "view", snap.View.Number, "cause", ch.cause, "node", strings.Join(ch.names, ", "), "members", len(snap.View.Members))
	}
	n.heartbeat.Soon()
}

// lastWordOf is what a node said last of itself, in that life.
func (n *Node) lastWordOf(m membership.Member) lastWord {
	info, ok := n.peers.All()[m.ID]
	if !ok || info.Block.Boot != m.Boot {
		return lastWord{}
	}
	w := lastWord{inFlight: info.Block.InFlight}
	if held := info.Block.Node.Partitions.Held; held != nil {
		w.held = *held
	}
	return w
}

// watchChange ends a change of members once every partition is served again,
// and says in one line what it came to.
func (n *Node) watchChange(now time.Time) {
	if !n.changes.pending() {
		return
	}
	if p := n.report.Picture(now, false); !status.Settled(&p) {
		return
	}
	if c, passed, ok := n.changes.settle(now, n.partitionsLost()); ok {
		n.log.Info("every partition is served again", "cause", *c.Cause, "node", *c.Node,
			"took", time.Duration(*c.TakeoverSeconds*float64(time.Second)).Round(time.Millisecond),
			"partitions_passed_on", passed, "fetches_queued_again", *c.InflightRequeued, "partitions_lost", *c.PartitionsLost)
		n.events.Add(events.Served(now, c, passed))
	}
}

// partitionsLost counts what the members lost to forgotten nodes so far.
func (n *Node) partitionsLost() int {
	lost := 0
	if e := n.engine.Load(); e != nil {
		lost = e.moves.Status().Lost
	}
	for _, info := range n.peers.All() {
		lost += info.Block.Lost
	}
	return lost
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
	n.heartbeat.Soon()
	n.outbox.Wake()
}
