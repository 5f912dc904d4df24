package guests

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/guests"
	"crawlnode/scheduler"
	"crawlnode/workers/leases"
)

const (
	// maxWishes bounds the hosts of which visits are wished for at a time.
	maxWishes = 1024
	// maxShunned bounds the hosts that are left out for a while because they could not be visited.
	maxShunned = 16_384
	// shun is how long such a host is left out, and slow is it for one that had no turn in time.
	shun = time.Minute
	slow = 5 * time.Second
	// copyPatience bounds the wait for the replicas.
	copyPatience = 2 * time.Second
	maxOpen      = 16_384
	maxPerWorker = 4 * crawl.MaxLeaseBatch
	maxSettled   = 262_144
)

// Source is the dispatcher.
type Source interface {
	Look()
	Context(v crawl.Visit) (context.Context, context.CancelCauseFunc)
	Reserve(
		ctx context.Context,
		visits []crawl.Visit,
		hold func(*crawl.Visit) crawl.LeaseHold,
	) (kept []bool, err error)
	Release(v crawl.Visit, r crawl.Response)
	HostState(v crawl.Visit) crawl.HostState
	Completed(v crawl.Visit)
}

// Store is the frontier.
type Store interface {
	DueGuests(
		p crawl.Partition,
		id string,
		host crawl.Host,
		now time.Time,
		n int,
		skip func(crawl.Host) bool,
	) (guests.Found, error)
	Settle(ctx context.Context, early []guests.Wait) error
	Take(ctx context.Context, due []guests.Due, hold time.Duration) (taken []bool, err error)
	Return(ctx context.Context, d *guests.Due, wait time.Duration) error
	PutGuests(ctx context.Context, puts []guests.Put) (refused []error, err error)
	Park(ctx context.Context, hosts []frontier.Parked) error
}

// Node is what a Desk asks of its node. Any goroutine calls it. No method waits for a disk or for
// another node, but the function that Copied returns does.
type Node interface {
	// Source is the dispatcher, which is made after the Desk. It is not called before Run.
	Source() Source
	// Copied is as in workers.Node.
	Copied(ps []crawl.Partition) func(context.Context) func(crawl.Partition) bool
	// Partition is a host's.
	Partition(host crawl.Host) crawl.Partition
	// Held are the partitions that the node holds and that have guests to be fetched, in their order.
	Held() []crawl.Partition
}

// Options are the parts of a Desk. All are required but Log.
type Options struct {
	Node  Node
	Store Store
	// Lease is how long a lease lasts for which no time is asked.
	Lease time.Duration
	// Log is told which guests are completed unseen; nil: nobody is.
	Log *slog.Logger
}

// Desk is what a node has given out of other crawls. Any goroutine may call its methods. It is
// scheduler.Wishes and pipeline.Handout.
type Desk struct {
	o       Options
	mu      sync.Mutex // guards the rest of this block; held for moments only
	book    *leases.Book
	wishes  map[crawl.Host]*wish
	own     map[crawl.Host]int // wishes for pages of the cluster's own crawl
	fresh   bool               // there is a wish that the dispatcher has not seen
	open    map[uint64]*visit
	byGuest map[string]uint64 // visits
	shunned map[crawl.Host]time.Time
	from    int           // where the next search begins
	news    chan struct{} // closed when there may be more guests than before
	closed  bool

	tell chan struct{}  // capacity 1: the next deadline may have changed
	ends sync.WaitGroup // visits in open, or being ended
}

// wish is a guest for which a visit is wanted.
type wish struct {
	due   guests.Due
	call  *call
	visit uint64 // that has begun; 0: none
}

// call is a call of Next that waits.
type call struct {
	got   []*visit
	over  bool
	event chan struct{} // capacity 1
}

// visit is one that a client has, or will have.
type visit struct {
	crawl.Visit
	due     guests.Due
	unwatch func() bool
	lease   crawl.LeaseTag // 0: no client knows of it yet
	deleted bool           // the guest is, since; the lease goes on, for the sake of its host
}

// New makes a Desk.
func New(o Options) *Desk {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Desk{
		o: o,
		book: leases.NewBook(
			leases.Limits{Open: maxOpen, PerWorker: maxPerWorker, Settled: maxSettled},
		),
		wishes:  map[crawl.Host]*wish{},
		own:     map[crawl.Host]int{},
		open:    map[uint64]*visit{},
		byGuest: map[string]uint64{},
		shunned: map[crawl.Host]time.Time{},
		news:    make(chan struct{}),
		tell:    make(chan struct{}, 1),
	}
}

// errClosed says that the desk is closed for good.
var errClosed = errors.New(
	"this node gives out no URLs: it has not joined its cluster yet, or it stops",
)

// keyOf names a guest among all crawls'. An id has no zero byte.
func keyOf(id, url string) string { return id + "\x00" + url }

// Counts are the figures of this node's leases.
func (d *Desk) Counts() leases.Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.book.Counts()
}

// InProcess counts the leased guests by crawl, without those that were deleted since.
func (d *Desk) InProcess(host crawl.Host) map[string]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]int64{}
	for _, v := range d.open {
		if !v.deleted && (host == "" || v.Host == host) {
			out[v.due.Crawl]++
		}
	}
	return out
}

// Run ends leases when their time is over, until ctx ends. Then it waits until every visit has
// ended: the dispatcher, whose Run ends as well, takes them back.
func (d *Desk) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		wait := time.Hour
		if next := d.turn(time.Now()); !next.IsZero() {
			wait = max(time.Until(next), 0)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-d.tell:
		}
	}
	d.mu.Lock()
	d.closed = true
	d.newsLocked()
	d.mu.Unlock()
	d.ends.Wait()
	return nil
}

// turn ends what is over, and returns when the next is.
func (d *Desk) turn(now time.Time) time.Time {
	d.mu.Lock()
	var over []*visit
	for _, id := range d.book.Expire(now) {
		over = append(over, d.removeLocked(id))
	}
	next := d.book.NextEnd()
	if len(over) > 0 {
		d.newsLocked()
	}
	d.mu.Unlock()
	for _, v := range over {
		go func() { // each waits for a write; ends counts them
			defer d.ends.Done()
			d.end(v, crawl.Response{Kind: crawl.URLFailed, Requested: true})
		}()
	}
	return next
}

// removeLocked takes a visit out of the open ones: the caller ends it.
func (d *Desk) removeLocked(id uint64) *visit {
	v := d.open[id]
	if v != nil {
		delete(d.open, id)
		delete(d.byGuest, keyOf(v.due.Crawl, v.due.URL.String()))
		v.unwatch()
	}
	return v
}

// end ends a visit: its host's gap begins, and its state is stored, without the hold. That is not
// lost: until it is stored the hold lasts.
func (d *Desk) end(v *visit, r crawl.Response) {
	source := d.o.Node.Source()
	source.Release(v.Visit, r)
	if r.Requested {
		_ = d.o.Store.Park(
			context.Background(),
			[]frontier.Parked{
				{
					Partition: v.Partition,
					Host:      v.Host,
					State:     source.HostState(v.Visit),
					Stays:     true,
				},
			},
		)
	}
	source.Completed(v.Visit)
}

// takenBack ends a visit that the node must not keep.
func (d *Desk) takenBack(id uint64) {
	d.mu.Lock()
	v := d.removeLocked(id)
	if v == nil {
		d.mu.Unlock()
		return
	}
	left, _ := d.book.Withdraw(time.Now(), id)
	d.mu.Unlock()
	defer d.ends.Done()
	r := crawl.Response{Kind: crawl.Aborted, Requested: v.lease != 0, Lease: v.lease}
	if v.lease != 0 {
		r.RetryAfter = max(withMargin(left), 0)
	}
	source := d.o.Node.Source()
	source.Release(v.Visit, r)
	source.Completed(v.Visit)
}

// withMargin is how long nobody may request a host whose lease lasts for d, by another clock.
func withMargin(d time.Duration) time.Duration { return d + d/20 + time.Second }

// newsLocked wakes the calls of Next that found nothing.
func (d *Desk) newsLocked() {
	close(d.news)
	d.news = make(chan struct{})
}

// shunLocked leaves a host out for a while.
func (d *Desk) shunLocked(host crawl.Host, until time.Time) {
	if len(d.shunned) >= maxShunned {
		clear(d.shunned)
	}
	d.shunned[host] = until
}

// Take is pipeline.Handout: it takes a visit whose guest may be requested now.
func (d *Desk) Take(v crawl.Visit) bool {
	taken, _ := d.o.Node.Source().Context(v)
	if v.Received != nil {
		v.Received.Store(1 << 62) // its payload does not come here: it must not count as slow
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.wishes[v.Host]
	if w == nil || w.visit != v.ID || w.call.over || d.closed {
		return false
	}
	delete(d.wishes, v.Host)
	d.ends.Add(1)
	o := &visit{Visit: v, due: w.due}
	d.open[v.ID] = o
	d.byGuest[keyOf(w.due.Crawl, w.due.URL.String())] = v.ID
	o.unwatch = context.AfterFunc(taken, func() { d.takenBack(v.ID) })
	w.call.got = append(w.call.got, o)
	crawl.Signal(w.call.event)
	return true
}

// Waiting is scheduler.Errands.
func (d *Desk) Waiting(host crawl.Host, _ time.Time) (out []scheduler.Errand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if host != "" {
		if w := d.wishes[host]; w != nil && w.visit == 0 {
			out = append(out, errandOf(w))
		}
		return out
	}
	d.fresh = false
	for _, w := range d.wishes {
		if w.visit == 0 {
			out = append(out, errandOf(w))
		}
	}
	return out
}

func errandOf(w *wish) scheduler.Errand {
	return scheduler.Errand{Partition: w.due.Partition, Host: w.due.Host, URL: w.due.URL}
}

// Wanted is scheduler.Wishes.
func (d *Desk) Wanted() (out []scheduler.Wish) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for h, w := range d.wishes {
		if w.visit == 0 {
			out = append(out, scheduler.Wish{Partition: w.due.Partition, Host: h, Guest: true})
		}
	}
	for h := range d.own {
		out = append(out, scheduler.Wish{Partition: d.o.Node.Partition(h), Host: h})
	}
	return out
}
