package core

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
)

// remove removes h from all queues and counts. Its open visits are dropped: later calls
// about them are ignored.
func (c *Core) remove(now time.Time, h *host) {
	if h.open && h.turn != nil {
		h.turn.next = now.Add(c.cfg.Dispatcher.IPDelay(h.turn.ip))
	}
	if h.line != nil {
		h.line.remove(h)
	}
	c.unclaim(now, h)
	c.timers.stop(&h.timer)
	for _, v := range h.incomplete {
		delete(c.visits, v.id)
		c.giveFetcher(now, v)
	}
	c.exit(now, h)
	c.classes[h.class]--
	c.bytes -= h.bytes
	delete(c.hosts, h.name)
	delete(c.parts[h.part], h.name)
	if len(c.parts[h.part]) == 0 {
		delete(c.parts, h.part)
	}
}

// leave removes a host without work from memory, and has its state written if disk does not
// have it.
func (c *Core) leave(now time.Time, h *host) {
	c.remove(now, h)
	if !h.saved {
		c.emit(Action{Kind: Park, Partition: h.part, Host: h.name, State: h.state})
	}
}

// Forget removes a host whose URLs were all given up (Dead).
func (c *Core) Forget(now time.Time, name crawl.Host) {
	if h := c.hosts[name]; h != nil && h.status == Dying {
		c.remove(now, h)
	}
}

// Freeze hands out no more visits of p. Open visits continue.
func (c *Core) Freeze(now time.Time, p crawl.Partition) {
	c.frozenParts[p] = true
	c.placeAll(now, p)
}

// Unfreeze undoes Freeze.
func (c *Core) Unfreeze(now time.Time, p crawl.Partition) {
	delete(c.frozenParts, p)
	c.placeAll(now, p)
}

func (c *Core) placeAll(now time.Time, p crawl.Partition) {
	for _, h := range c.sorted(p) {
		c.place(now, h)
	}
}

// Open returns the ids of p's visits that are not completed: those whose request
// is open, and those that were released.
func (c *Core) Open(p crawl.Partition) (open, released []uint64) {
	for _, h := range c.sorted(p) {
		for _, v := range h.incomplete {
			if v.open {
				open = append(open, v.id)
			} else {
				released = append(released, v.id)
			}
		}
	}
	return open, released
}

// Drop removes all hosts of p from memory, with their incomplete visits, and ends a Freeze.
// The states that it returns must be written, or moved with the partition.
func (c *Core) Drop(now time.Time, p crawl.Partition) []Parked {
	out := make([]Parked, 0, len(c.parts[p]))
	for _, h := range c.sorted(p) {
		out = append(out, c.park(now, h))
	}
	delete(c.frozenParts, p)
	return out
}

// park removes h from memory. A wait that remains from the acquisition becomes part of its
// state: it applies to the next holder as well, and without it h would be activated again
// at once.
func (c *Core) park(now time.Time, h *host) Parked {
	if until := c.lastHolderGapEnd(h); until.After(now) {
		h.state.NotBefore = crawl.Latest(h.state.NotBefore, until)
	}
	if h.nameAt.After(now) { // else it would be activated and looked up again at once
		h.state.NotBefore = crawl.Latest(h.state.NotBefore, h.nameAt)
	}
	c.remove(now, h)
	return Parked{Partition: h.part, Host: h.name, State: h.state}
}

// sorted returns p's hosts by name: decisions must not depend on a map's order.
func (c *Core) sorted(p crawl.Partition) []*host {
	out := make([]*host, 0, len(c.parts[p]))
	for _, h := range c.parts[p] {
		out = append(out, h)
	}
	slices.SortFunc(out,
		func(a, b *host) int { return strings.Compare(string(a.name), string(b.name)) })
	return out
}

// Evict makes room for hosts that wait on disk: it parks up to n hosts, first
// those without work, then those that wait for longer than LoadAhead (the longest first),
// then those that have had their Quantum of visits. It reads every host in memory, so it
// should be called rarely, and not for a single host.
func (c *Core) Evict(now time.Time, n int) []Parked {
	type candidate struct {
		h    *host
		wait time.Duration
		rank int
	}
	inLine := c.lineWaits(now)
	var found []candidate
	for _, h := range c.hosts {
		if len(h.incomplete) > 0 || h.loading || h.asking || h.status == PartitionFrozen ||
			h.status == Dying {
			continue
		}
		k := candidate{h: h, wait: c.start(h).Sub(now), rank: 3}
		if c.overShare(h) {
			k.wait = heldBackPause
		}
		if at, ok := inLine[h]; ok {
			k.wait = at.Sub(now)
		}
		switch {
		case c.outstayed(h):
			k.rank = 0
		case k.wait > LoadAhead:
			k.rank = 1
		case h.turns >= c.cfg.Quantum:
			k.rank = 2
		default:
			continue
		}
		found = append(found, k)
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.wait, a.wait),
			strings.Compare(string(a.h.name), string(b.h.name)))
	})
	out := make([]Parked, 0, min(n, len(found)))
	for _, k := range found[:min(n, len(found))] {
		if at, ok := inLine[k.h]; ok {
			// Its turn at the address is this far away; without that it would be
			// activated again at once.
			k.h.state.NotBefore = crawl.Latest(k.h.state.NotBefore, at)
		}
		if c.overShare(k.h) {
			k.h.state.NotBefore = crawl.Latest(k.h.state.NotBefore, now.Add(heldBackPause))
		}
		out = append(out, c.park(now, k.h))
	}
	return out
}

// lineWaits estimates, for each host in the line of an address, when its turn comes.
func (c *Core) lineWaits(now time.Time) map[*host]time.Time {
	out := make(map[*host]time.Time)
	for _, a := range c.addrs {
		at, step := crawl.Latest(a.next, now), c.cfg.Dispatcher.IPDelay(a.ip)
		for h := a.line.first; h != nil; h = h.behind {
			at = at.Add(step)
			out[h] = at
		}
	}
	return out
}

// Remaining counts the hosts in memory that have work left.
type Remaining struct {
	// Active counts hosts that have, or may have, something to fetch within an
	// hour, and those with visits that are not completed.
	Active int
	// Stalled counts hosts that are frozen, or wait for more than an hour.
	Stalled int
}

// Remaining reads every host in memory; it is for the end of a crawl.
func (c *Core) Remaining(now time.Time) Remaining {
	var r Remaining
	for _, h := range c.hosts {
		switch {
		case len(h.incomplete) > 0 || h.loading || h.resolving || h.status == Dying:
			r.Active++
		case !h.hasWork():
		case stalled(&h.state, now):
			r.Stalled++
		default:
			r.Active++
		}
	}
	return r
}

// LastTries gives each stalled host one last try, or gives it up: it is called when a crawl
// is otherwise finished. A Retry-After is never shortened; a host that waits for more than
// an hour gets no try. It returns how many hosts it changed.
func (c *Core) LastTries(now time.Time) int {
	var touched []*host
	for _, h := range c.hosts {
		if h.hasWork() && len(h.incomplete) == 0 && !h.dead && stalled(&h.state, now) &&
			h.status != PartitionFrozen {
			touched = append(touched, h)
		}
	}
	slices.SortFunc(touched,
		func(a, b *host) int { return strings.Compare(string(a.name), string(b.name)) })
	for _, h := range touched {
		h.saved = false
		if hopeless(&h.state, now) {
			h.dead = true
		} else {
			h.state.LastTry, h.state.FrozenUntil = true, time.Time{}
		}
		c.place(now, h)
	}
	return len(touched)
}
