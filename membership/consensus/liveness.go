package consensus

import (
	"maps"

	"crawlnode/crawl"
)

// This file keeps when each of the other members was last heard, and which boots are
// proved dead. A member is heard when it sends a message, or asks for or grants a lease.

// Units of Tick.
const (
	// suspectTicks of silence make a member suspect: it is sent a hello, and the
	// prober looks for proof of its death. 1 s.
	suspectTicks = 10
	// silentTicks of silence let a member be excluded without proof, when
	// enough others find it silent too. 5 s.
	silentTicks = 50
)

// MaxHeard bounds the nodes of which the last message is remembered. All of them have the
// cluster's key, so it is no defence, only a bound.
const MaxHeard = 4096

// verdict says whether the next view should drop a member, and why.
type verdict uint8

const (
	stay          verdict = iota
	dropSilent            // nothing heard for silentTicks
	dropDead              // its boot is proved dead
	dropForgotten         // an operator has forgotten it
)

// lastHeard is when a node was last heard, and the highest boot of it that was.
type lastHeard struct {
	tick int
	boot crawl.Boot
}

// hear notes that a boot of id sent a message or answered a call. A boot lower than the
// listed one says nothing about the listed one. A higher one proves that the listed one
// is dead, since a boot number is used once and one process at a time has the data.
func (c *Core) hear(id crawl.NodeID, boot crawl.Boot) []Action {
	if id == c.self {
		return nil
	}
	if m, ok := c.listed(id); ok && (boot < m.Boot || c.shadowed(m, boot)) {
		return nil
	}
	c.noteBoot(id, boot)
	if old, known := c.heard[id]; known || len(c.heard) < MaxHeard {
		c.heard[id] = lastHeard{tick: c.ticks, boot: max(old.boot, boot)}
	}
	return c.withdrawForget(id)
}

// noteBoot notes that all lower boots of a member are dead, unless they are heard again.
func (c *Core) noteBoot(id crawl.NodeID, boot crawl.Boot) {
	if c.member(id) {
		c.newer[id] = max(c.newer[id], boot)
	}
}

// proved takes a proof in. The next attempt is made at once: the one before may have
// failed for lack of this proof.
func (c *Core) proved(id crawl.NodeID, boot crawl.Boot) {
	if !c.member(id) || id == c.self || c.dead[id] >= boot {
		return
	}
	c.dead[id] = boot
	c.delay, c.attempts = 0, 0
}

// IsDead reports whether the listed boot of a member is proved dead.
func (c *Core) IsDead(m Member) bool { return c.dead[m.ID] >= m.Boot || c.superseded(m.ID, m.Boot) }

// silence is for how many ticks nothing was heard of a member. It is counted anew after
// an install, after a start, and after this node itself stood still.
func (c *Core) silence(id crawl.NodeID) int {
	if id == c.self {
		return 0
	}
	last := c.silentFrom
	if v, ok := c.heard[id]; ok {
		last = max(last, v.tick)
	}
	return c.ticks - last
}

// flap counts how often a node was excluded for silence of late.
type flap struct {
	tick  int // of the last time
	count int
}

// A node with unstable links would be excluded and admitted again and again, and its
// partitions moved each time. So from its second exclusion on it must wait before it is
// admitted again.
const (
	flapTicks     = 6000 // after 10 min without exclusion, the count begins anew
	flapFirstWait = 100  // 10 s, doubled each time
	flapMostWait  = 200
)

// noteFlaps counts the exclusions for silence in a view.
func (c *Core) noteFlaps(v *View) {
	for _, r := range v.Removed {
		if !r.Proved {
			c.flaps[r.ID] = flap{tick: c.ticks, count: c.flaps[r.ID].count + 1}
		}
	}
}

// admissible reports whether a node that is no member may be admitted now. Gossip
// may show a dead one for some more seconds.
func (c *Core) admissible(id crawl.NodeID) bool {
	if boot := c.seen.byID[id].Boot; c.dead[id] >= boot || c.superseded(id, boot) ||
		c.seen.byID[id].Unanswered {
		return false
	}
	f, ok := c.flaps[id]
	wait := 0
	if ok && f.count > 1 {
		wait = min(flapFirstWait<<min(f.count-2, maxBackoff), flapMostWait)
	}
	return c.Reached(id) && c.ticks-f.tick >= wait
}

// Reached reports whether a node was heard within silentTicks.
func (c *Core) Reached(id crawl.NodeID) bool {
	v, ok := c.heard[id]
	return ok && c.ticks-v.tick < silentTicks
}

// verdict judges a member of the installed view. A member whose new boot is heard
// is not excluded for the death of the old one: it will be listed anew.
func (c *Core) verdict(m Member) verdict {
	if m.ID == c.self {
		return stay
	}
	if c.IsForgotten(m.ID) {
		return dropForgotten
	}
	restarted := c.Reached(m.ID) && c.heard[m.ID].boot > m.Boot
	silent := c.silence(m.ID) >= silentTicks
	switch {
	case c.IsDead(m) && (!restarted || silent):
		return dropDead
	case silent:
		return dropSilent
	}
	return stay
}

// restartSilence counts the silence of all members from now.
func (c *Core) restartSilence() { c.silentFrom = c.ticks }

// prune drops what is known of nodes that are neither members nor shown by gossip.
func (c *Core) prune() {
	for id, v := range c.heard {
		if c.ticks-v.tick > silentTicks {
			delete(c.heard, id)
		}
	}
	for id, f := range c.flaps {
		if c.ticks-f.tick > flapTicks {
			delete(c.flaps, id)
		}
	}
	c.pruneDenials()
	if !c.changed {
		return
	}
	c.changed = false
	gone := func(id crawl.NodeID) bool {
		_, ok := c.seen.byID[id]
		return !ok && !c.member(id)
	}
	maps.DeleteFunc(c.greeted, func(id crawl.NodeID, _ int) bool { return gone(id) })
	maps.DeleteFunc(c.dead, func(id crawl.NodeID, _ crawl.Boot) bool { return gone(id) })
	maps.DeleteFunc(c.newer, func(id crawl.NodeID, _ crawl.Boot) bool { return gone(id) })
	maps.DeleteFunc(c.readsDeltas, func(id crawl.NodeID, _ crawl.Boot) bool { return gone(id) })
	maps.DeleteFunc(c.duplicates, func(id crawl.NodeID, d duplicate) bool { return !c.state.View.Lists(id, d.boot) })
}

// Suspects returns the members of which nothing was heard for suspectTicks.
func (c *Core) Suspects() map[crawl.NodeID]bool {
	out := map[crawl.NodeID]bool{}
	if c.state.View == nil {
		return out
	}
	for _, m := range c.state.View.Members {
		if c.silence(m.ID) >= suspectTicks {
			out[m.ID] = true
		}
	}
	return out
}

// QuorumReached reports whether the members that are heard would be a quorum: if
// not, no view can follow until more are heard.
func (c *Core) QuorumReached() bool {
	voters := map[crawl.NodeID]crawl.Boot{}
	if c.state.View == nil {
		return false
	}
	for _, m := range c.state.View.Members {
		switch {
		case m.ID == c.self:
			voters[m.ID] = c.boot
		case c.verdict(m) == stay:
			voters[m.ID] = max(m.Boot, c.heard[m.ID].boot)
		}
	}
	return c.decides(voters)
}

// decides counts votes in the installed view.
func (c *Core) decides(voters map[crawl.NodeID]crawl.Boot) bool {
	e := electorate{view: c.state.View, forgotten: c.state.Forgotten, dead: c.IsDead}
	if c.quorumOff {
		e.gone = func(m Member) bool { return c.verdict(m) != stay }
	}
	return e.decides(voters)
}
