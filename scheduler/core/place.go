package core

import (
	"time"

	"crawlnode/crawl"
)

// place moves h to its place by the facts, and requests what it lacks. It changes nothing if
// h is there already, so it may be called at any time; a host that stays ready keeps its
// place in the line.
func (c *Core) place(now time.Time, h *host) {
	want, at := c.decide(now, h)
	switch {
	case want == Ready && h.excluded:
		c.unclaim(now, h)
	case want == Ready && h.status == OverShare:
		want = OverShare // until it is let back
	case want == Ready && !c.claim(now, h):
		want = AddressWait
	}
	if want != Ready && want != AddressWait && want != InFlight &&
		!(want == Resolving && h.turn != nil && h.turn.holder == h) {
		c.unclaim(now, h)
	}
	c.stand(h, want, now)
	if at.IsZero() {
		c.timers.stop(&h.timer)
	} else if !h.timer.isSet() || !h.timer.at.Equal(at) {
		c.timers.set(&h.timer, at)
	}
}

// decide returns the place of h, and when to look again (zero: only when
// something happens).
func (c *Core) decide(now time.Time, h *host) (Status, time.Time) {
	switch {
	case h.open:
		return InFlight, time.Time{}
	case c.frozenParts[h.part]:
		return PartitionFrozen, time.Time{}
	case h.dead:
		return c.decideDead(h), time.Time{}
	}
	if len(h.items) > 0 {
		h.excluded = c.cfg.Dispatcher.Excluded(&h.items[0])
	}
	start := c.start(h)
	if start.Sub(now) <= LoadAhead || h.excluded {
		c.refill(now, h)
	}
	if h.excluded && len(h.items) > 0 {
		c.unwait(h)
		h.resolving = h.asking
		return Ready, time.Time{}
	}
	item, itemAt := h.due(now)
	if len(h.items) == 0 {
		return c.decideDry(now, start, h)
	}
	at := start
	if item < 0 {
		at = crawl.Latest(at, itemAt)
	}
	if at.After(now) {
		// Ahead of time once for each wait: else an answer that expires soon would be
		// requested again and again.
		if at.Sub(now) <= LoadAhead && !at.Before(h.expires) && now.Sub(h.resolved) >= LoadAhead {
			c.resolve(now, h)
		}
		if at.Sub(now) > LoadAhead {
			return Waiting, at.Add(-LoadAhead) // from then on it counts as awake
		}
		return Waiting, at
	}
	if c.needsAddress(now, h) {
		c.resolve(now, h)
		return Resolving, time.Time{}
	}
	return Ready, time.Time{}
}

// decideDead is decide for a host whose last try failed.
func (c *Core) decideDead(h *host) Status {
	switch {
	case h.status == Dying:
		return Dying
	case len(h.incomplete) > 0:
		return Dry // the last visit writes its record first
	}
	c.emit(Action{Kind: Dead, Partition: h.part, Host: h.name, State: h.state})
	return Dying
}

// needsAddress reports whether h, whose time has come, must be resolved first.
// A host that is ready or in line keeps its address until it is at the head of the line.
func (c *Core) needsAddress(now time.Time, h *host) bool {
	if h.nameless || len(h.addrs) > 0 && now.Before(h.expires) {
		return false
	}
	switch h.status {
	case Ready:
		return len(h.addrs) == 0 // it was excluded until now
	case AddressWait:
		return h.turn != nil && h.turn.holder == h
	}
	return true
}

// decideDry is decide for a host without items in memory.
func (c *Core) decideDry(now, start time.Time, h *host) (Status, time.Time) {
	switch {
	case h.loading || len(h.incomplete) > 0:
		return Dry, time.Time{}
	case h.more || h.rewind:
		return Waiting, start.Add(-LoadAhead) // then the refill is asked for
	case h.status == Dry && h.timer.isSet():
		return Dry, h.timer.at
	case h.excluded:
		return Dry, now
	}
	return Dry, now.Add(linger)
}

// stand moves h to a place, and updates the counts.
func (c *Core) stand(h *host, s Status, now time.Time) {
	band := crawl.Band(crawl.Bands)
	var target *line
	switch s {
	case Ready:
		i, _ := h.due(now)
		band = h.items[i].Band
		target = &h.domain.ready[band].line
	case AddressWait:
		target = &h.turn.line
	case OverShare:
		target = h.line
	}
	if h.line != target {
		if h.line != nil {
			h.line.remove(h)
		}
		switch {
		case s == Ready:
			c.ready.push(h, band)
		case target != nil:
			target.push(h)
		}
	}
	h.status = s
	c.stir(h, now)
	c.classify(h, now)
}

// stir counts h for its domain and block as awake if it could use a fetcher or a look-up now
// or within LoadAhead: reserves are kept only for such hosts.
func (c *Core) stir(h *host, now time.Time) {
	awake := len(h.incomplete) > 0 || h.asking || h.nameLine != nil
	switch h.status {
	case Waiting:
		at := c.start(h)
		if _, itemAt := h.due(now); itemAt.After(at) {
			at = itemAt
		}
		awake = awake || h.hasWork() && at.Sub(now) <= LoadAhead
	case Resolving, AddressWait, Ready, InFlight, OverShare:
		awake = true
	}
	c.wake(h, awake)
}

// refill requests more items if they are wanted.
func (c *Core) refill(now time.Time, h *host) {
	after, n, ok := c.wanted(h, now)
	if !ok {
		return
	}
	if !h.more {
		h.rewind = false
	}
	h.loading, h.noted, h.fresh = true, false, crawl.Bands
	c.emit(Action{Kind: Refill, Partition: h.part, Host: h.name, After: after, N: n})
}

// resolve requests the host's addresses.
func (c *Core) resolve(now time.Time, h *host) {
	if !h.resolving {
		h.resolving = true
		c.askName(now, h)
	}
}

func (c *Core) emit(a Action) { c.actions = append(c.actions, a) }

// class is a host's state in /status.
type class uint8

const (
	classNone class = iota // dry, dying, or of a frozen partition: in none of the counts
	classInFlight
	classReady
	classOverShare
	classWaiting
	classBackoff
	classFrozen
	numClasses
)

// classify recounts h. A host's class is as of its last move; the times that
// could change it are the times at which it moves.
func (c *Core) classify(h *host, now time.Time) {
	k := classWaiting
	switch {
	case h.status == InFlight:
		k = classInFlight
	case h.status == Dry, h.status == PartitionFrozen, h.status == Dying:
		k = classNone
	case h.state.FrozenUntil.After(now):
		k = classFrozen
	case h.status == Ready:
		k = classReady
	case h.status == OverShare:
		k = classOverShare
	case h.state.HoldUntil.After(now), h.state.Backoff > 0, h.state.Failures > 0, h.unnamed > 0:
		k = classBackoff
	}
	c.classes[h.class]--
	c.classes[k]++
	h.class = k
}
