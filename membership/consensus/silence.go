package consensus

import (
	"maps"
	"slices"

	"crawlnode/crawl"
)

// This file lets the voters judge silence together. What one node alone does
// not hear may be well: only the link between the two may be cut. So a promise
// says whom its voter finds silent, and the proposer counts:
//
//   - a member is dropped for silence when more than half of the members find
//     it silent. At most half hear it then, itself not asked, so it has lost or
//     is about to lose its lease;
//   - a node that was dropped for silence of late is admitted again when half
//     of the members or more hear it.
//
// The two leave no room for a node that comes and goes: of those admitted by
// half, more than half cannot find it silent, and the reverse.
//
// A wish that the voters do not share is put off: each attempt costs every
// voter a write to its disk. With the quorum off nobody is asked.

// Units of Tick.
const (
	// opinionTicks is how old a promise may be whose opinions count. 2 s.
	opinionTicks = 20
	// Waits before the next attempt at a wish that was denied. The nodes notice
	// a silence within about a second of each other.
	denialSoon   = 10  // 1 s
	denialLater  = 50  // 5 s
	denialLatest = 100 // 10 s
	// denialSoonTries bounds the attempts that follow soon.
	denialSoonTries = 5
	// denialMemory without an attempt, and a denial is forgotten. 30 s.
	denialMemory = 300
)

// denial is a wish about a node that the voters did not share.
type denial struct {
	count int // attempts denied
	until int // tick of the next attempt
}

// put notes another attempt, or more voters heard in the same one. company
// says that somebody else shares the wish, so that more may soon.
func (d denial) put(now int, again, company bool) denial {
	if !again {
		d.count++
	}
	wait := denialLatest
	switch {
	case d.count == 1, company && d.count <= denialSoonTries:
		wait = denialSoon
	case d.count == 2:
		wait = denialLater
	}
	d.until = now + wait
	return d
}

// denied reports whether a wish about a node has to wait.
func (c *Core) denied(id crawl.NodeID) bool { return c.ticks < c.denials[id].until }

// silent are the nodes that this one finds silent, sorted: members, and those
// dropped for silence of late. One that has just started or stood still finds
// no member silent for silentTicks.
func (c *Core) silent() []crawl.NodeID {
	if c.quorumOff {
		return nil
	}
	var out []crawl.NodeID
	for _, m := range c.state.View.Members {
		if c.silence(m.ID) >= silentTicks {
			out = append(out, m.ID)
		}
	}
	for id := range c.flaps {
		if id != c.self && !c.member(id) && !c.Reached(id) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), MaxBarred)]
}

// opinions is what the voters of an attempt say of one node.
type opinions struct {
	members       int // who were asked
	silent, heard int // who answered so; the rest has not answered yet
}

// opinions counts what the promises of an attempt say of a node. A forgotten
// member is not asked, and old promises say nothing any more.
func (c *Core) opinions(p *proposal, id crawl.NodeID) opinions {
	var out opinions
	for _, m := range c.state.View.Members {
		if c.IsForgotten(m.ID) {
			continue
		}
		out.members++
		if _, voted := p.promises[m.ID]; !voted || c.ticks-p.started > opinionTicks {
			continue
		}
		if _, silent := slices.BinarySearch(p.silent[m.ID], id); silent {
			out.silent++
		} else {
			out.heard++
		}
	}
	return out
}

func (o opinions) drop() bool  { return 2*o.silent > o.members }
func (o opinions) admit() bool { return 2*o.heard >= o.members }

// plan returns the view that this node would ask for, or nil: it trusts its
// own ears, except where it was denied of late.
func (c *Core) plan() *View {
	return c.next(func(id crawl.NodeID, _ bool) bool { return !c.denied(id) })
}

// agreed returns the view that this node may propose after these promises, or
// nil.
func (c *Core) agreed(p *proposal) *View {
	if c.quorumOff {
		return c.plan()
	}
	return c.next(func(id crawl.NodeID, drop bool) bool {
		if drop {
			return c.opinions(p, id).drop()
		}
		return c.opinions(p, id).admit()
	})
}

// next returns the view that should follow. may is asked before a node is
// dropped for silence, and before one that was is admitted again.
func (c *Core) next(may func(id crawl.NodeID, drop bool) bool) *View {
	return next(c.state.View, outlook{
		seen: c.seen, forgotten: c.state.Forgotten,
		fate: func(m Member) fate {
			f := c.fate(m)
			if f == goneSilent && !may(m.ID, true) {
				return stays
			}
			return f
		},
		welcome: func(id crawl.NodeID) bool {
			_, dropped := c.flaps[id]
			return c.welcome(id) && (!dropped || may(id, false))
		},
	})
}

// deny puts off the wishes that the voters of an attempt do not share. It
// reports whether there are any: if so, promises that are still on their way
// may turn the scale.
func (c *Core) deny(p *proposal) bool {
	wishes := 0
	put := func(id crawl.NodeID, company bool) {
		wishes++
		c.denials[id] = c.denials[id].put(c.ticks, p.denied, company)
	}
	for _, m := range c.state.View.Members {
		if c.fate(m) == goneSilent {
			put(m.ID, c.opinions(p, m.ID).silent > 1)
		}
	}
	for id := range c.flaps {
		if _, seen := c.seen[id]; seen && !c.member(id) && c.welcome(id) {
			put(id, c.opinions(p, id).heard > 1)
		}
	}
	p.denied = wishes > 0
	return p.denied
}

// pruneDenials drops the denials that are old.
func (c *Core) pruneDenials() {
	maps.DeleteFunc(c.denials, func(_ crawl.NodeID, d denial) bool { return c.ticks-d.until > denialMemory })
}
