package addresses

import (
	"net/netip"
	"slices"
	"time"
)

// turn is what this node knows of an address that it asks for.
type turn struct {
	wanted bool          // hosts wait for it, and were not left waiting when it was there
	since  time.Duration // when they began to
	open   int           // visits that were handed out and have not ended
	opened time.Duration // the last of them

	held      bool
	from      Member        // who granted it
	until     time.Duration // no request may start from then on
	notBefore time.Duration // none may before
	began     time.Duration
	used      bool // a request was made in it
	others    bool // other nodes wait

	last     time.Duration // the latest start or end of a request
	returned time.Duration // stamp of the last Return: older grants are void
	askedAt  time.Duration
	answered time.Duration // when a keeper that gives turns was last heard

	tenure uint64 // of the keeper teller, for claims
	teller Member
}

func (u *turn) usable(now time.Duration) bool { return u.held && now < u.until }

// silent is for how long nobody has said whose turn a wanted one is.
func (u *turn) silent(now time.Duration) time.Duration {
	if u.usable(now) {
		return 0
	}
	return now - max(u.since, u.answered)
}

// slow reports whether the answer to an open request takes so long that the address is given back.
func (u *turn) slow(now time.Duration) bool {
	return u.open > 0 && u.last >= u.opened && now-u.last > slowAnswer
}

// over reports whether a turn for which others wait is to be given back.
func (u *turn) over(now time.Duration) bool {
	long := now-u.began >= Length
	switch {
	case !u.others:
		return false
	case u.open > 0 && u.last < u.opened: // the request is about to be written
		return false
	case u.open > 0:
		return (long || !u.used) && u.slow(now)
	}
	return !u.wanted || u.used && long || !u.used && now-u.began >= Unused
}

// needed reports whether the turn is to be asked for, or extended. While an answer is slow it is
// not: hosts that wait behind it could not use the turn.
func (t *Table) needed(now time.Duration, u *turn) bool {
	if u.open > 0 {
		return !u.slow(now)
	}
	return u.wanted && t.node.Crawls()
}

func (t *Table) turnOf(ip netip.Addr) *turn {
	u := t.asks[ip]
	if u == nil {
		u = &turn{}
		t.asks[ip] = u
	}
	return u
}

// Turn reports whether a request to ip may start after wait. Else the turn is asked for, and
// Came tells when it is there. Hosts wait for it from then on, until Idle.
func (t *Table) Turn(now time.Duration, ip netip.Addr) (wait time.Duration, ok bool) {
	if t.node.Gap(ip) <= 0 {
		return 0, true
	}
	u := t.turnOf(ip.Unmap())
	if !u.wanted {
		u.wanted, u.since = true, now
	}
	if t.needed(now, u) && (!u.usable(now) || u.until-now < Validity/2) {
		t.ask(now, ip.Unmap(), u)
		t.settle(now)
	}
	// An earlier, longer gap may have left a wait. All requests that it follows were before now.
	u.notBefore = min(u.notBefore, now+longer(longer(t.node.Gap(ip))))
	if now < u.notBefore {
		// The caller may wait by another clock, a little faster than this one.
		return max(u.notBefore-now, time.Millisecond), u.usable(now)
	}
	return 0, u.usable(now)
}

// Idle says that no host waits for ip any more.
func (t *Table) Idle(now time.Duration, ip netip.Addr) {
	if u := t.asks[ip.Unmap()]; u != nil {
		u.wanted = false
		t.maybeReturn(now, ip.Unmap(), u)
		t.settle(now)
	}
}

// Begin says that a visit was handed out that will make a request to ip; End follows.
func (t *Table) Begin(now time.Duration, ip netip.Addr) {
	u := t.turnOf(ip.Unmap())
	u.open++
	u.opened = now
}

// MayWrite reports whether a request to ip may be written now, and counts it as made.
func (t *Table) MayWrite(now time.Duration, ip netip.Addr) bool {
	if t.node.Gap(ip) <= 0 {
		return true
	}
	u := t.asks[ip.Unmap()]
	if u == nil || !u.usable(now) || now < u.notBefore {
		return false
	}
	u.last, u.used = now, true
	return true
}

// End says that a visit has ended; requested: with a request.
func (t *Table) End(now time.Duration, ip netip.Addr, requested bool) {
	u := t.asks[ip.Unmap()]
	if u == nil || u.open == 0 {
		panic("BUG: turns: a visit has ended that did not begin")
	}
	u.open--
	if requested {
		u.last = now
	}
	t.maybeReturn(now, ip.Unmap(), u)
	t.settle(now)
}

// ask asks for a turn, or for its extension.
func (t *Table) ask(now time.Duration, ip netip.Addr, u *turn) {
	if u.askedAt > 0 && now-u.askedAt < askAgain {
		return
	}
	u.askedAt = now
	to, ok := t.node.Holder(t.node.Partition(ip))
	if !ok {
		return
	}
	m := Message{Kind: Ask, Addr: ip, Stamp: t.nextStamp(now)}
	if u.tenure != 0 && u.teller == to && m.Stamp < u.until && u.held {
		m.Tenure = u.tenure
	}
	t.send(to, m)
}

// maybeReturn gives a turn back that is over. After one that was of no use, as no fetcher is free,
// it is not asked for before Turn is called again: who was told that it is this node's turn does so
// before a visit.
func (t *Table) maybeReturn(now time.Duration, ip netip.Addr, u *turn) {
	if u.usable(now) && u.over(now) {
		u.wanted = u.wanted && (u.used || u.open > 0)
		t.giveBack(now, ip, u, u.from)
	}
}

// giveBack ends the turn. From here on nothing is written, whatever grants are on their way.
func (t *Table) giveBack(now time.Duration, ip netip.Addr, u *turn, to Member) {
	u.held, u.others, u.askedAt = false, false, 0
	u.returned = t.nextStamp(now)
	rest := time.Duration(0)
	if u.last > 0 {
		rest = max(u.last+longer(t.node.Gap(ip))-now, 0) // by a clock that may be fast
	}
	t.send(to, Message{Kind: Return, Addr: ip, Stamp: u.returned, Rest: rest})
}

// decline gives back a turn that this node knows nothing of any more.
func (t *Table) decline(now time.Duration, from Member, ip netip.Addr) {
	t.send(from, Message{Kind: Return, Addr: ip, Stamp: t.nextStamp(now)})
}

// granted takes a grant in. One that is void is given back, so that others need not wait for its
// end.
func (t *Table) granted(now time.Duration, from Member, m *Message) {
	u := t.asks[m.Addr]
	switch {
	case m.Stamp > t.stamp: // no ask had it
		return
	case u == nil:
		t.decline(now, from, m.Addr)
		return
	case m.Stamp <= u.returned || m.Stamp+Validity <= now:
		if !u.usable(now) {
			t.giveBack(now, m.Addr, u, from)
		}
		return
	}
	had := u.usable(now)
	u.answered, u.from, u.others, u.tenure = now, from, m.Others, 0
	if !had {
		u.held, u.until, u.used, u.notBefore = true, 0, false, 0
		u.began = now + m.Rest
	}
	u.until = max(u.until, m.Stamp+Validity)
	u.notBefore = max(u.notBefore, now+longer(m.Rest))
	if u.wanted && !had {
		t.came = append(t.came, m.Addr)
	}
	t.maybeReturn(now, m.Addr, u)
}

// heard takes in that the keeper lets this node wait. In a fence it may go on with a turn that it
// has, once it has asked with the keeper's number.
func (t *Table) heard(now time.Duration, from Member, m *Message) {
	u := t.asks[m.Addr]
	if u == nil {
		return
	}
	if m.Rest > 0 { // a keeper that gives no turns at all is no better than one that is silent
		u.askedAt = max(u.askedAt, now+min(m.Rest, pause)-askAgain)
	} else {
		u.answered = now
	}
	if m.Tenure != 0 && u.usable(now) && (u.tenure != m.Tenure || u.teller != from) {
		u.tenure, u.teller, u.askedAt = m.Tenure, from, 0
		t.ask(now, m.Addr, u)
	}
}

// called takes in that others wait. A turn that this node does not know, or no more, is given
// back at once.
func (t *Table) called(now time.Duration, from Member, m *Message) {
	u := t.asks[m.Addr]
	switch {
	case u == nil:
		t.decline(now, from, m.Addr)
	case !u.usable(now):
		t.giveBack(now, m.Addr, u, from)
	case u.from == from:
		u.others, u.answered = true, now
		t.maybeReturn(now, m.Addr, u)
	}
}

// tickAsks repeats asks, extends turns in use and forgets what no message can refer to.
func (t *Table) tickAsks(now time.Duration) {
	var look []netip.Addr
	for ip, u := range t.asks {
		if u.held && now >= u.until {
			u.held = false
		}
		if !t.needed(now, u) {
			u.since = now // nobody is asked, so nobody is silent
		}
		switch {
		case u.wanted || u.open > 0:
			if !u.held || u.until-now < Validity/2 || u.others {
				look = append(look, ip)
			}
		case u.held && u.others:
			look = append(look, ip)
		case !u.held && now > max(u.returned, u.askedAt, u.last)+Validity && now > u.last+t.node.Gap(ip):
			delete(t.asks, ip)
		}
	}
	slices.SortFunc(look, netip.Addr.Compare) // messages must not depend on a map's order
	for _, ip := range look {
		u := t.asks[ip]
		t.maybeReturn(now, ip, u)
		if t.needed(now, u) && (!u.held || u.until-now < Validity/2) {
			t.ask(now, ip, u)
		}
	}
}
