package guests

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/guests"
	"crawlnode/workers/leases"
)

// Query asks for guests.
type Query struct {
	Lease, Worker string // the lease's id, and who asks
	Crawl         string // "": any
	Host          crawl.Host
	Most          int
	Patience      time.Duration // for the first
	Life          time.Duration // of the lease; 0: Options.Lease
}

// Given is a guest that a client has got.
type Given struct {
	Crawl    string
	Visit    crawl.Visit
	Metadata crawl.Metadata
}

// relook is how long a call that waits does not look again: guests become due by their dates, and
// when a lease is over, without any news.
const relook = 500 * time.Millisecond

// Next waits until there are guests, but for no longer than the patience, and adds them to the
// lease. None: there is nothing now.
func (d *Desk) Next(ctx context.Context, q Query) (given []Given, left time.Duration, err error) {
	d.mu.Lock()
	room := d.book.Room(q.Worker)
	closed := d.closed
	d.mu.Unlock()
	switch {
	case closed:
		return nil, 0, errClosed
	case room == 0:
		return nil, 0, crawl.ErrTooManyLeased
	}
	c := &call{event: make(chan struct{}, 1)}
	defer d.leave(c)
	most := min(q.Most, room)
	patience := time.NewTimer(q.Patience)
	defer patience.Stop()
	again := time.NewTicker(relook)
	defer again.Stop()
	for first := true; ; first = false {
		d.mu.Lock()
		news := d.news
		got, pending, closed := len(c.got), d.pendingLocked(c), d.closed
		d.mu.Unlock()
		if got >= most || closed {
			break
		}
		if n := most - got - pending; n > 0 && (first || pending == 0) {
			found, err := d.wish(ctx, c, &q, n)
			if err != nil {
				d.abandon(c)
				return nil, 0, err
			}
			pending += found
		}
		if pending == 0 && got > 0 {
			break
		}
		var linger <-chan time.Time
		if got > 0 {
			linger = time.After(leases.Linger)
		}
		select {
		case <-c.event:
			continue
		case <-news:
			continue
		case <-again.C:
			continue
		case <-linger:
		case <-patience.C:
		case <-ctx.Done():
		}
		break
	}
	if ctx.Err() != nil {
		d.abandon(c)
		return nil, 0, context.Cause(ctx)
	}
	return d.grant(ctx, c, &q)
}

// pendingLocked counts the wishes of a call.
func (d *Desk) pendingLocked(c *call) (n int) {
	for _, w := range d.wishes {
		if w.call == c {
			n++
		}
	}
	return n
}

// wish looks for up to n guests that are due, and wishes for visits of their hosts.
func (d *Desk) wish(ctx context.Context, c *call, q *Query, n int) (found int, err error) {
	ps := d.o.Node.Held()
	if q.Host != "" {
		ps = []crawl.Partition{d.o.Node.Partition(q.Host)}
	}
	if len(ps) == 0 {
		return 0, nil
	}
	now := time.Now()
	d.mu.Lock()
	from := d.from % len(ps)
	d.mu.Unlock()
	var early []guests.Wait
	looked := 0
	for ; looked < len(ps) && found < n; looked++ {
		f, err := d.o.Store.DueGuests(
			ps[(from+looked)%len(ps)],
			q.Crawl,
			q.Host,
			now,
			n-found,
			func(h crawl.Host) bool { return d.busy(h, now) },
		)
		if err != nil {
			return found, err
		}
		early = append(early, f.Early...)
		found += d.add(c, f.Guests, q.Host != "")
	}
	d.mu.Lock()
	d.from = from + looked
	d.mu.Unlock()
	if len(early) > 0 {
		if err := d.o.Store.Settle(context.WithoutCancel(ctx), early); err != nil {
			return found, err
		}
	}
	if found > 0 {
		d.o.Node.Source().Look()
	}
	return found, nil
}

// busy reports whether a host is not to be tried now.
func (d *Desk) busy(h crawl.Host, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	until, shunned := d.shunned[h]
	if shunned && !now.Before(until) {
		delete(d.shunned, h)
		shunned = false
	}
	return shunned || d.wishes[h] != nil
}

// add wishes for visits of hosts, and returns of how many.
func (d *Desk) add(c *call, due []guests.Due, named bool) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range due {
		g := &due[i]
		if _, leased := d.byGuest[keyOf(g.Crawl, g.URL.String())]; leased ||
			d.wishes[g.Host] != nil ||
			len(d.wishes) >= maxWishes {
			continue
		}
		d.wishes[g.Host] = &wish{due: *g, call: c}
		d.fresh = true
		n++
		if named {
			break
		}
	}
	return n
}

// leave ends the wishes of a call. Hosts that had no turn are left out for a moment, so that others
// are tried.
func (d *Desk) leave(c *call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.over = true
	for h, w := range d.wishes {
		if w.call == c && w.visit == 0 {
			delete(d.wishes, h)
			if len(d.wishes) >= maxWishes/2 {
				d.shunLocked(h, time.Now().Add(slow))
			}
		}
	}
}

// abandon gives back what a call has got.
func (d *Desk) abandon(c *call) {
	d.leave(c)
	d.mu.Lock()
	got := c.got
	c.got = nil
	d.mu.Unlock()
	d.giveBack(got)
}

// giveBack ends visits that no client will get.
func (d *Desk) giveBack(vs []*visit) {
	for _, v := range vs {
		d.mu.Lock()
		gone := d.removeLocked(v.ID)
		d.mu.Unlock()
		if gone != nil {
			d.end(gone, crawl.Response{Kind: crawl.Aborted})
			d.ends.Done()
		}
	}
}

// grant makes what a call has got part of a lease, once it is safe that nobody else requests the
// hosts.
func (d *Desk) grant(
	ctx context.Context,
	c *call,
	q *Query,
) (given []Given, left time.Duration, err error) {
	d.leave(c)
	d.mu.Lock()
	var vs []*visit
	for _, v := range c.got {
		if d.open[v.ID] == v {
			vs = append(vs, v)
		}
	}
	d.mu.Unlock()
	if len(vs) == 0 {
		return nil, 0, nil
	}
	life := q.Life
	if life <= 0 {
		life = d.o.Lease
	}
	deadline := time.Now().Add(life)
	safe, err := d.hold(context.WithoutCancel(ctx), q.Lease, vs, deadline)
	if err != nil {
		d.giveBack(vs)
		return nil, 0, err
	}
	var unsafe []*visit
	d.mu.Lock()
	for i, v := range vs {
		key := keyOf(v.due.Crawl, v.due.URL.String())
		switch {
		case d.open[v.ID] != v: // taken back meanwhile
		case !safe[i],
			!d.book.Grant(q.Lease, q.Worker, deadline, []leases.Item{{URL: key, Visit: v.ID}}):
			unsafe = append(unsafe, v)
		default:
			v.lease = crawl.TagOf(q.Lease, key)
			given = append(
				given,
				Given{Crawl: v.due.Crawl, Visit: v.Visit, Metadata: v.due.Metadata},
			)
		}
	}
	d.mu.Unlock()
	crawl.Signal(d.tell)
	d.giveBack(unsafe)
	return given, time.Until(deadline), nil
}

// hold makes it durable that the guests stay away, and that nobody requests their hosts, before the
// lease is over. It says for which that is so.
func (d *Desk) hold(
	ctx context.Context,
	id string,
	vs []*visit,
	deadline time.Time,
) (safe []bool, err error) {
	visits, due := make([]crawl.Visit, len(vs)), make([]guests.Due, len(vs))
	ps := make([]crawl.Partition, len(vs))
	for i, v := range vs {
		visits[i], due[i], ps[i] = v.Visit, v.due, v.Partition
	}
	is := d.copied(ps)
	life := time.Until(deadline)
	until := time.Now().Add(withMargin(life))
	byVisit := make(map[uint64]*visit, len(vs))
	for _, v := range vs {
		byVisit[v.ID] = v
	}
	safe, err = d.o.Node.Source().Reserve(ctx, visits, func(v *crawl.Visit) crawl.LeaseHold {
		due := &byVisit[v.ID].due
		return crawl.LeaseHold{
			Until: until.Add(v.Gap),
			Lease: crawl.TagOf(id, keyOf(due.Crawl, due.URL.String())),
		}
	})
	if err != nil {
		return nil, err
	}
	taken, err := d.o.Store.Take(ctx, due, life)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, copyPatience)
	defer cancel()
	on := is(ctx)
	for i := range vs {
		was := safe[i]
		if safe[i] = was && taken[i] && on(ps[i]); !safe[i] && taken[i] {
			if err := d.o.Store.Return(ctx, &due[i], 0); err != nil {
				return nil, err
			}
		}
	}
	return safe, nil
}

// copied is Node.Copied of partitions that may come twice.
func (d *Desk) copied(ps []crawl.Partition) func(context.Context) func(crawl.Partition) bool {
	seen := make(map[crawl.Partition]bool, len(ps))
	var once []crawl.Partition
	for _, p := range ps {
		if !seen[p] {
			seen[p] = true
			once = append(once, p)
		}
	}
	return d.o.Node.Copied(once)
}

// Any reports whether this node holds guests that are to be fetched.
func (d *Desk) Any() bool { return len(d.o.Node.Held()) > 0 }
