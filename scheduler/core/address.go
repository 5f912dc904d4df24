package core

import (
	"net/netip"
	"time"

	"crawlnode/crawl"
)

// address is one IP address whose requests are spaced, whatever the host. One host at a
// time has its turn: from the moment the host is ready until its request has ended. The
// others wait in a line, so that a thousand names on one machine cost no more than a list.
type address struct {
	ip     netip.Addr
	holder *host     // who has the turn
	next   time.Time // earliest start of the next request
	line   line      // hosts that wait for the turn
	timer  timer     // set while no host has the turn and next is in the future
}

// spaceFrom begins the gap of an address now, if it was requested before its requests were
// spaced.
func (c *Core) spaceFrom(now time.Time, ip netip.Addr) {
	if !ip.IsValid() || c.cfg.Dispatcher.IPDelay(ip) <= 0 {
		return
	}
	a := c.address(ip)
	a.next = crawl.Latest(a.next, now.Add(c.cfg.Dispatcher.IPDelay(ip)))
	c.passOn(now, a)
}

// address returns an address that is spaced. If it was not until the gaps grew, a request
// counts as made at that moment.
func (c *Core) address(ip netip.Addr) *address {
	a := c.addrs[ip]
	if a == nil {
		a = &address{ip: ip}
		a.timer.addr = a
		if !c.widened.IsZero() {
			a.next = c.widened.Add(c.cfg.Dispatcher.IPDelay(ip))
		}
		c.addrs[ip] = a
	}
	return a
}

// claim gives h the turn of its address, or a place in the line. It returns true if h may
// be ready. An address without a delay needs no turn.
func (c *Core) claim(now time.Time, h *host) bool {
	if a := h.turn; a != nil {
		if a.holder != h {
			return false
		}
		if !c.granted(now, a) {
			a.holder = nil // h waits in the line for this node's next turn
		}
		return a.holder == h
	}
	ip := h.addr()
	if !ip.IsValid() || c.cfg.Dispatcher.IPDelay(ip) <= 0 {
		return true
	}
	a := c.address(ip)
	h.turn = a
	if a.holder == nil && a.line.n == 0 && c.granted(now, a) {
		a.holder = h
		return true
	}
	return false
}

// granted reports whether a may be requested now: its gap is over, and it is this node's turn
// among all nodes. If not, a's timer or TurnCame will tell.
func (c *Core) granted(now time.Time, a *address) bool {
	wait, ok := c.cfg.Turns.Turn(a.ip)
	if ok && wait > 0 {
		a.next = crawl.Latest(a.next, now.Add(wait))
	}
	if a.next.After(now) {
		c.timers.set(&a.timer, a.next)
		return false
	}
	return ok
}

// TurnCame says that it may have become this node's turn to request an address.
func (c *Core) TurnCame(now time.Time, ip netip.Addr) {
	if a := c.addrs[ip]; a != nil {
		c.passOn(now, a)
	}
}

// unclaim ends h's turn, or its place in the line.
func (c *Core) unclaim(now time.Time, h *host) {
	a := h.turn
	if a == nil {
		return
	}
	h.turn = nil
	if h.line == &a.line {
		a.line.remove(h)
	}
	if a.holder == h {
		a.holder = nil
	}
	c.passOn(now, a)
}

// passOn gives the turn of a to the first in line, now or when its time has come. An
// address without a line is dropped after its gap.
func (c *Core) passOn(now time.Time, a *address) {
	if a.holder != nil {
		return
	}
	if a.next.After(now) {
		c.timers.set(&a.timer, a.next)
		return
	}
	c.timers.stop(&a.timer)
	h := a.line.first
	if h == nil {
		delete(c.addrs, a.ip)
		c.cfg.Turns.Idle(a.ip)
		return
	}
	if !c.granted(now, a) {
		return
	}
	a.line.remove(h)
	a.holder = h
	c.place(now, h)
}
