package workers

import (
	"context"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/pipeline"
	"crawlnode/workers/leases"
)

// copyPatience bounds the wait for the replicas before URLs are given to a worker.
const copyPatience = 2 * time.Second

// Grant is a part of a lease: URLs of one node.
type Grant struct {
	URLs []crawl.LeasedURL `json:"urls"`
	// Notes are of the URLs, in their order.
	Notes []crawl.LeaseNote `json:"notes,omitempty"`
	// Left is how long the lease lasts.
	Left time.Duration `json:"left"`
}

// Next waits until this node has URLs for a worker, but for no longer than patience, and adds at
// most most of them to the lease id. An empty grant means that there is nothing now.
func (d *Desk) Next(
	ctx context.Context,
	id, worker string,
	most int,
	patience time.Duration,
) (Grant, error) {
	return d.next(ctx, id, worker, most, patience, 0)
}

// next is Next for a lease of a certain life; 0: as usual.
func (d *Desk) next(
	ctx context.Context,
	id, worker string,
	most int,
	patience, life time.Duration,
) (Grant, error) {
	d.mu.Lock()
	room := d.book.Room(worker)
	switch {
	case d.closed, d.pages == nil:
		d.mu.Unlock()
		return Grant{}, errClosed
	case room == 0:
		d.mu.Unlock()
		return Grant{}, crawl.ErrTooManyLeased
	case d.line.Len() >= MaxWaiting:
		d.mu.Unlock()
		return Grant{}, ErrBusy
	}
	w, over := d.line.Join(min(most, room), time.Now().Add(patience)), make(chan struct{})
	d.waits[w] = over
	d.wantMore()
	d.mu.Unlock()
	crawl.Signal(d.tell)
	select {
	case <-over:
	case <-ctx.Done():
		d.mu.Lock()
		if d.line.Leave(w) {
			d.finishWait(w)
			d.wantLess()
		}
		d.mu.Unlock()
	}
	visits := d.visitsOf(w)
	if ctx.Err() != nil { // nobody is left to tell
		d.giveBack(visits)
		return Grant{}, context.Cause(ctx)
	}
	if len(visits) == 0 {
		return Grant{}, nil
	}
	return d.grant(ctx, id, worker, visits, life)
}

// visitsOf are the visits that a waiter got and that were not taken back since.
func (d *Desk) visitsOf(w *leases.Waiter) []crawl.Visit {
	d.mu.Lock()
	defer d.mu.Unlock()
	visits := make([]crawl.Visit, 0, len(w.Got()))
	for _, id := range w.Got() {
		if v := d.open[id]; v != nil {
			visits = append(visits, v.Visit)
		}
	}
	return visits
}

// giveBack ends visits that no worker will get.
func (d *Desk) giveBack(visits []crawl.Visit) {
	for _, v := range visits {
		d.mu.Lock()
		gone := d.remove(v.ID)
		d.mu.Unlock()
		if gone != nil {
			d.note(d.pages.Return(context.Background(), v, false, pipeline.Held{}, false,
				"no worker takes it any more"))
			d.ends.Done()
		}
	}
}

// grant makes the visits part of a lease, once it is safe that nobody else requests their hosts.
func (d *Desk) grant(
	ctx context.Context,
	id, worker string,
	visits []crawl.Visit,
	life time.Duration,
) (Grant, error) {
	kept := life > 0
	if !kept {
		life = d.o.Lease
	}
	notes, err := d.notesOf(visits)
	deadline := time.Now().Add(life)
	var safe []bool
	if err == nil {
		safe, err = d.hold(context.WithoutCancel(ctx), id, visits, deadline)
	}
	if err != nil {
		d.giveBack(visits)
		return Grant{}, err
	}
	var g Grant
	var unsafe []crawl.Visit
	d.mu.Lock()
	for i, v := range visits {
		o := d.open[v.ID]
		switch {
		case o == nil: // taken back meanwhile
		case !safe[i], !d.book.Grant(id, worker, deadline,
			[]leases.Item{{URL: v.Item.URL.String(), Visit: v.ID}}):
			unsafe = append(unsafe, v)
		default:
			o.lease, o.kept = crawl.TagOf(id, v.Item.URL.String()), kept
			d.byURL[v.Item.URL.String()] = v.ID
			g.URLs, g.Notes = append(g.URLs, leasedURL(&v)), append(g.Notes, notes[i])
		}
	}
	d.mu.Unlock()
	crawl.Signal(d.tell)
	d.giveBack(unsafe)
	g.Left = time.Until(deadline)
	return g, nil
}

// hold makes it durable that nobody requests the hosts of the visits before the lease is over, and
// says for which it is.
func (d *Desk) hold(
	ctx context.Context,
	id string,
	visits []crawl.Visit,
	deadline time.Time,
) (safe []bool, err error) {
	copied := d.copied(visits)
	until := time.Now().Add(withMargin(time.Until(deadline)))
	safe, err = d.o.Source.Reserve(ctx, visits, func(v *crawl.Visit) crawl.LeaseHold {
		return crawl.LeaseHold{Until: until.Add(v.Gap), Lease: crawl.TagOf(id, v.Item.URL.String())}
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, copyPatience)
	defer cancel()
	is := copied(ctx)
	for i, v := range visits {
		safe[i] = safe[i] && is(v.Partition)
	}
	return safe, nil
}

// copied notes the partitions of visits before something is stored in them. The function that it
// returns waits until that is on the disks of their in-sync sets, and says of which it is.
func (d *Desk) copied(visits []crawl.Visit) func(context.Context) func(crawl.Partition) bool {
	ps, known := make([]crawl.Partition, 0, len(visits)), make(map[crawl.Partition]bool, len(visits))
	for i := range visits {
		if p := visits[i].Partition; !known[p] {
			known[p] = true
			ps = append(ps, p)
		}
	}
	return d.o.Node.Copied(ps)
}

// leasedURL is a visit as a worker sees it.
func leasedURL(v *crawl.Visit) crawl.LeasedURL {
	u := crawl.LeasedURL{
		URL: v.Item.URL.String(), Host: v.Host, Priority: 1 - float64(v.Item.Band)/(crawl.Bands-1),
		Robots: crawl.LeasedRobots{Allowed: true}, DelaySeconds: v.Gap.Seconds(), Depth: v.Item.Depth,
		ETag: v.Item.ETag, LastModified: v.Item.LastModified,
	}
	if v.Addr.IsValid() {
		u.IP = v.Addr.String()
	}
	if v.Robots != nil && v.Robots.CrawlDelay > 0 {
		s := v.Robots.CrawlDelay.Seconds()
		u.Robots.CrawlDelay = &s
	}
	return u
}

// notesOf reads what clients have said of the URLs of visits.
func (d *Desk) notesOf(visits []crawl.Visit) ([]crawl.LeaseNote, error) {
	notes := make([]crawl.LeaseNote, len(visits))
	if d.o.Notes == nil {
		return notes, nil
	}
	for i := range visits {
		n, _, err := d.o.Notes.NoteOf(visits[i].Partition, visits[i].Item.URL)
		if err != nil {
			return nil, fmt.Errorf("read the metadata of %s: %w", visits[i].Item.URL, err)
		}
		notes[i].Metadata = n.Metadata
	}
	return notes, nil
}
