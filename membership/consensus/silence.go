package consensus

import (
	"maps"
	"slices"

	"crawlnode/crawl"
)

// In this file the voters judge silence together. A member that one node alone does not
// hear may be well: perhaps only the link between the two is cut. So a promise lists the
// nodes that its voter finds silent, and the proposer counts:
//
//   - a member is dropped for silence when more than half of the members find
//     it silent. Then at most half hear it, so it has lost or is about to lose its
//     lease;
//   - a node that was dropped for silence lately is admitted again when half of the
//     members or more hear it.
//
// So a node is never excluded and admitted in turns by the same opinions: if half hear
// it, more than half cannot find it silent, and the reverse.
//
// A change that the voters do not support is postponed: each attempt costs every voter a
// write to its disk. With the quorum off no voter is asked.

// Units of Tick.
const (
	// opinionTicks is how old a promise may be whose opinions count. 2 s.
	opinionTicks = 20
	// Waits before the next attempt at a change that was denied. The nodes notice
	// a silence within about a second of each other.
	denialSoon   = 10  // 1 s
	denialLater  = 50  // 5 s
	denialLatest = 100 // 10 s
	// denialSoonTries bounds the attempts that follow soon.
	denialSoonTries = 5
	// After denialMemory without an attempt a denial is forgotten. 30 s.
	denialMemory = 300
)

// denial is a change about one node that the voters did not support.
type denial struct {
	count int // attempts denied
	until int // tick of the next attempt
}

// put notes another attempt, or more opinions in the same one. supported says that at
// least one other voter supports the change, so that more may soon.
func (d denial) put(now int, again, supported bool) denial {
	if !again {
		d.count++
	}
	wait := denialLatest
	switch {
	case d.count == 1, supported && d.count <= denialSoonTries:
		wait = denialSoon
	case d.count == 2:
		wait = denialLater
	}
	d.until = now + wait
	return d
}

// denied reports whether a change about a node must wait.
func (c *Core) denied(id crawl.NodeID) bool { return c.ticks < c.denials[id].until }

// silent are the nodes that this one finds silent, sorted: members, and those dropped for
// silence lately. A node that has just started or stood still finds no member silent for
// silentTicks.
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

// opinions counts how the voters of an attempt judge one node.
type opinions struct {
	members       int // that were asked
	silent, heard int // that find it silent, or hear it; the rest has not answered yet
}

// opinions counts the opinions about a node in the promises of an attempt. A forgotten
// member is not asked, and old promises do not count.
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

// plan returns the view that this node would propose, or nil. It is based on what this
// node itself hears, without the changes that were denied lately.
func (c *Core) plan() *View {
	return c.next(func(id crawl.NodeID, _ bool) bool { return !c.denied(id) })
}

// agreed returns the view that this node may propose after the promises of an attempt,
// or nil.
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

// next returns the view that should follow. may is asked before a node is dropped for
// silence, and before a node that was is admitted again.
func (c *Core) next(may func(id crawl.NodeID, drop bool) bool) *View {
	return next(c.state.View, outlook{
		seen: c.seen, forgotten: c.state.Forgotten,
		verdict: func(m Member) verdict {
			judged := c.verdict(m)
			if judged == dropSilent && !may(m.ID, true) {
				return stay
			}
			return judged
		},
		admissible: func(id crawl.NodeID) bool {
			_, dropped := c.flaps[id]
			return c.admissible(id) && (!dropped || may(id, false))
		},
	})
}

// deny postpones the changes that the voters of an attempt do not support. It reports
// whether there are any: if so, promises that are still on their way may decide.
func (c *Core) deny(p *proposal) bool {
	changes := 0
	put := func(id crawl.NodeID, supported bool) {
		changes++
		c.denials[id] = c.denials[id].put(c.ticks, p.denied, supported)
	}
	for _, m := range c.state.View.Members {
		if c.verdict(m) == dropSilent {
			put(m.ID, c.opinions(p, m.ID).silent > 1)
		}
	}
	for id := range c.flaps {
		if _, seen := c.seen.byID[id]; seen && !c.member(id) && c.admissible(id) {
			put(id, c.opinions(p, id).heard > 1)
		}
	}
	p.denied = changes > 0
	return p.denied
}

// pruneDenials drops the denials that are old.
func (c *Core) pruneDenials() {
	maps.DeleteFunc(c.denials, func(_ crawl.NodeID, d denial) bool { return c.ticks-d.until > denialMemory })
}
