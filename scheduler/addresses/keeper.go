package addresses

import (
	"net/netip"
	"slices"
	"time"

	"crawlnode/crawl"
)

// tenure is the time for which this node keeps the addresses of one partition.
type tenure struct {
	number uint64
	opens  time.Duration // nothing but claims is granted before
	fenced bool          // there may have been a keeper before
	addrs  map[netip.Addr]*kept
}

// kept is an address that this node keeps.
type kept struct {
	given   bool
	holder  Member        // whose turn it is
	asked   time.Duration // the stamp of its last granted ask, by its clock
	until   time.Duration // it may use the turn until then
	began   time.Duration
	free    time.Duration // no request may start before, if it is nobody's turn
	waiting []waiter      // in the order in which they came
}

// waiter is a node that waits for an address.
type waiter struct {
	who   Member
	stamp time.Duration // of its last ask, by its clock
	at    time.Duration // when that came, by this node's
}

// Hold begins to keep the addresses of p. fenced says that there may have been another keeper
// until now, which is also an earlier process of this node: its turns are waited for.
func (t *Table) Hold(now time.Duration, p crawl.Partition, fenced bool) {
	t.Drop(p)
	t.last++
	k := &tenure{number: t.last, opens: now, fenced: fenced, addrs: make(map[netip.Addr]*kept)}
	if fenced {
		k.opens = now + longer(Validity) + Slack
	}
	t.keeps[p] = k
}

// Drop ends the keeping of p's addresses at once.
func (t *Table) Drop(p crawl.Partition) {
	if k := t.keeps[p]; k != nil {
		t.kept -= len(k.addrs)
		delete(t.keeps, p)
	}
}

// asked answers an ask.
func (t *Table) asked(now time.Duration, from Member, m *Message) {
	p := t.node.Partition(m.Addr)
	k := t.keeps[p]
	if k == nil {
		return
	}
	if !t.node.May(p) { // this node has no lease at the moment, or is closing
		t.send(from, Message{Kind: Wait, Addr: m.Addr, Stamp: m.Stamp, Rest: pause})
		return
	}
	e := k.addrs[m.Addr]
	if now < k.opens {
		switch {
		case m.Tenure != k.number:
			t.send(from, Message{Kind: Wait, Addr: m.Addr, Stamp: m.Stamp, Tenure: k.number})
		case e == nil:
			if e = t.keep(k, m.Addr); e != nil {
				t.give(now, m.Addr, e, waiter{who: from, stamp: m.Stamp, at: now})
			}
		case e.given && e.holder == from && m.Stamp > e.asked:
			t.extend(now, from, m, e)
		}
		return
	}
	if e == nil {
		if e = t.keep(k, m.Addr); e == nil {
			return
		}
	}
	t.shorten(now, m.Addr, e)
	if t.expire(now, m.Addr, e); e.given && e.holder == from {
		if m.Stamp > e.asked {
			t.extend(now, from, m, e)
		}
		return
	}
	if !e.enqueue(waiter{who: from, stamp: m.Stamp, at: now}) {
		return
	}
	t.pass(now, m.Addr, e)
	if !e.given || e.holder != from {
		t.send(from, Message{Kind: Wait, Addr: m.Addr, Stamp: m.Stamp})
		t.call(m.Addr, e)
	}
}

// keep makes the entry of an address; nil: there are too many.
func (t *Table) keep(k *tenure, ip netip.Addr) *kept {
	if t.kept >= MaxKept {
		return nil
	}
	e := &kept{}
	if k.fenced {
		e.free = k.opens + t.node.Gap(ip)
	}
	k.addrs[ip] = e
	t.kept++
	return e
}

// enqueue adds or refreshes a waiter; false: there are too many, or its ask is an old one.
func (e *kept) enqueue(w waiter) bool {
	i := slices.IndexFunc(e.waiting, func(o waiter) bool { return o.who == w.who })
	switch {
	case i >= 0 && e.waiting[i].stamp >= w.stamp:
		return false
	case i >= 0:
		e.waiting[i] = w
	case len(e.waiting) >= maxWaiting:
		return false
	default:
		e.waiting = append(e.waiting, w)
	}
	return true
}

// extend answers the ask of the node whose turn it is.
func (t *Table) extend(now time.Duration, from Member, m *Message, e *kept) {
	others := len(e.waiting) > 0
	if others && now-e.began >= MaxLength {
		t.send(from, Message{Kind: Wait, Addr: m.Addr, Stamp: m.Stamp})
		return
	}
	e.asked, e.until = m.Stamp, max(e.until, now+longer(Validity)+Slack)
	// The grant that made it its turn may come later than this one.
	t.send(from,
		Message{Kind: Grant, Addr: m.Addr, Stamp: m.Stamp, Rest: max(e.free-now, 0), Others: others})
}

// give makes it the turn of w.
func (t *Table) give(now time.Duration, ip netip.Addr, e *kept, w waiter) {
	if now < t.keeps[t.node.Partition(ip)].opens {
		e.free = now // a claim: the turn only goes on
	}
	rest := max(e.free-now, 0)
	e.given, e.holder, e.asked, e.began = true, w.who, w.stamp, now+rest
	e.until = w.at + longer(Validity) + Slack
	t.send(w.who,
		Message{Kind: Grant, Addr: ip, Stamp: w.stamp, Rest: rest, Others: len(e.waiting) > 0})
}

// expire ends a turn that was not given back in time.
func (t *Table) expire(now time.Duration, ip netip.Addr, e *kept) {
	if e.given && now >= e.until {
		e.given = false
		e.free = max(e.free, e.until+t.node.Gap(ip))
	}
}

// shorten ends a wait that an earlier, longer gap has left: every request that it follows has ended
// before now, so the present gap from now on is enough. A fence must be over.
func (t *Table) shorten(now time.Duration, ip netip.Addr, e *kept) {
	e.free = min(e.free, now+longer(t.node.Gap(ip)))
}

// pass gives the turn to the first that waits, if it is nobody's.
func (t *Table) pass(now time.Duration, ip netip.Addr, e *kept) {
	if e.given || e.free-now > ahead {
		return
	}
	for len(e.waiting) > 0 && !e.given {
		w := e.waiting[0]
		e.waiting = e.waiting[1:]
		if now-w.at <= stale {
			t.give(now, ip, e, w)
		}
	}
	if len(e.waiting) == 0 {
		e.waiting = nil
	}
}

// call tells whose turn it is that others wait.
func (t *Table) call(ip netip.Addr, e *kept) {
	if e.given && len(e.waiting) > 0 {
		t.send(e.holder, Message{Kind: Call, Addr: ip})
	}
}

// returned takes a turn back.
func (t *Table) returned(now time.Duration, from Member, m *Message) {
	p := t.node.Partition(m.Addr)
	k := t.keeps[p]
	if k == nil {
		return
	}
	e := k.addrs[m.Addr]
	if e == nil || !e.given || e.holder != from || m.Stamp <= e.asked {
		return
	}
	e.given = false
	e.free = max(e.free, now+longer(m.Rest))
	if t.node.May(p) && now >= k.opens {
		t.pass(now, m.Addr, e)
	}
}

// tickKeeps ends turns, passes addresses on and forgets those that nobody uses.
func (t *Table) tickKeeps(now time.Duration) {
	if t.kept == 0 {
		return
	}
	var look []netip.Addr
	for p, k := range t.keeps {
		if len(k.addrs) == 0 || now < k.opens {
			continue
		}
		may := t.node.May(p)
		for ip, e := range k.addrs {
			t.shorten(now, ip, e)
			switch t.expire(now, ip, e); {
			case may && !e.given && len(e.waiting) > 0:
				look = append(look, ip)
			case !e.given && len(e.waiting) == 0 && now >= e.free:
				delete(k.addrs, ip)
				t.kept--
			}
		}
	}
	slices.SortFunc(look, netip.Addr.Compare) // as in tickAsks
	for _, ip := range look {
		t.pass(now, ip, t.keeps[t.node.Partition(ip)].addrs[ip])
	}
}
