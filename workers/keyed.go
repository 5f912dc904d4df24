package workers

import (
	"context"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/workers/guests"
)

// keyed is one who waits for a URL of one host.
type keyed struct {
	visit uint64
	came  chan struct{} // closed when visit is set
}

// giveKeyed gives a visit to the first who waits for its host. With mu held.
func (d *Desk) giveKeyed(host crawl.Host, visit uint64) bool {
	waiting := d.keyed[host]
	if len(waiting) == 0 {
		return false
	}
	k := waiting[0]
	d.leaveKeyed(host, k)
	k.visit = visit
	close(k.came)
	return true
}

// leaveKeyed takes one out of those who wait. With mu held.
func (d *Desk) leaveKeyed(host crawl.Host, k *keyed) {
	if d.keyed[host] = slices.DeleteFunc(
		d.keyed[host],
		func(o *keyed) bool { return o == k },
	); len(
		d.keyed[host],
	) == 0 {
		delete(d.keyed, host)
	}
}

// nextOf is Next for a URL of one host.
func (d *Desk) nextOf(
	ctx context.Context,
	id, worker string,
	host crawl.Host,
	patience, life time.Duration,
) (Grant, error) {
	k := &keyed{came: make(chan struct{})}
	d.mu.Lock()
	room, waiting := d.book.Room(worker), 0
	for _, ks := range d.keyed {
		waiting += len(ks)
	}
	switch {
	case d.closed, d.pages == nil, d.o.Guests == nil:
		d.mu.Unlock()
		return Grant{}, errClosed
	case room == 0:
		d.mu.Unlock()
		return Grant{}, crawl.ErrTooManyLeased
	case waiting >= MaxWaiting:
		d.mu.Unlock()
		return Grant{}, ErrBusy
	}
	d.keyed[host] = append(d.keyed[host], k)
	d.mu.Unlock()
	end := d.o.Guests.WishOwn(host)
	timer := time.NewTimer(patience)
	select {
	case <-k.came:
	case <-timer.C:
	case <-ctx.Done():
	}
	timer.Stop()
	end()
	d.mu.Lock()
	d.leaveKeyed(host, k)
	v := d.open[k.visit] // visits are numbered from 1
	d.mu.Unlock()
	switch {
	case v == nil:
		return Grant{}, context.Cause(ctx)
	case ctx.Err() != nil:
		d.giveBack([]crawl.Visit{v.Visit})
		return Grant{}, context.Cause(ctx)
	}
	return d.grant(ctx, id, worker, []crawl.Visit{v.Visit}, life)
}

// nextGuests is Next for URLs of another crawl; "": of any.
func (d *Desk) nextGuests(ctx context.Context, q guests.Query) (g Grant, err error) {
	if d.o.Guests == nil {
		return g, nil
	}
	given, left, err := d.o.Guests.Next(ctx, q)
	g.Left = left
	for i := range given {
		g.URLs = append(g.URLs, leasedURL(&given[i].Visit))
		g.Notes = append(
			g.Notes,
			crawl.LeaseNote{Crawl: given[i].Crawl, Metadata: given[i].Metadata},
		)
	}
	return g, err
}

// answerNext answers a question for URLs of any kind.
func (d *Desk) answerNext(ctx context.Context, q *nextQuestion) (Grant, error) {
	most := min(max(q.Most, 1), crawl.MaxLeaseBatch)
	life := min(max(q.Life, 0), crawl.MaxLeaseLife)
	of := guests.Query{
		Lease:    q.Lease,
		Worker:   q.Worker,
		Crawl:    strings.TrimPrefix(q.Crawl, crawl.OtherCrawls),
		Host:     q.Host,
		Most:     most,
		Patience: q.Wait,
		Life:     life,
	}
	switch {
	case q.Any:
		return d.nextAny(ctx, of)
	case q.Crawl != "":
		return d.nextGuests(ctx, of)
	case q.Host != "":
		return d.nextOf(ctx, q.Lease, q.Worker, q.Host, q.Wait, life)
	}
	return d.next(ctx, q.Lease, q.Worker, most, q.Wait, life)
}

// nextAny is Next for URLs of all crawls: half of them are wanted of others than the cluster's own.
// What one half leaves the other may have in the next round.
func (d *Desk) nextAny(ctx context.Context, q guests.Query) (g Grant, err error) {
	if d.o.Guests == nil || !d.o.Guests.Any() {
		return d.next(ctx, q.Lease, q.Worker, q.Most, q.Patience, q.Life)
	}
	q.Crawl, q.Host = "", ""
	guest := q
	guest.Most = (q.Most + 1) / 2
	type half struct {
		g   Grant
		err error
	}
	others := make(chan half, 1)
	go func() { // awaited below
		g, err := d.nextGuests(ctx, guest)
		others <- half{g, err}
	}()
	var own half
	if q.Most > 1 {
		own.g, own.err = d.next(ctx, q.Lease, q.Worker, q.Most-guest.Most, q.Patience, q.Life)
	}
	other := <-others
	if q.Most == 1 && other.err == nil && len(other.g.URLs) == 0 {
		own.g, own.err = d.next(ctx, q.Lease, q.Worker, 1, q.Patience, q.Life)
	}
	switch {
	case len(own.g.URLs) == 0 && len(other.g.URLs) == 0:
		if own.err != nil {
			return g, own.err
		}
		return g, other.err
	case len(own.g.URLs) == 0:
		return other.g, nil
	case len(other.g.URLs) == 0:
		return own.g, nil
	}
	g = Grant{
		URLs:  append(own.g.URLs, other.g.URLs...),
		Notes: append(own.g.Notes, other.g.Notes...),
		Left:  min(own.g.Left, other.g.Left),
	}
	return g, nil
}
