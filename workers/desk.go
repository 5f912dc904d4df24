package workers

import (
	"context"
	"errors"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/pipeline"
	"crawlnode/web/urlnorm"
	"crawlnode/workers/guests"
	"crawlnode/workers/leases"
)

var (
	// ErrBusy says that too many wait for URLs.
	ErrBusy = errors.New("too many workers wait for URLs at this node")
	// errClosed says that the desk is closed for good.
	errClosed = errors.New(
		"this node gives out no URLs: it has not joined its cluster yet, or it stops")
)

const (
	// MaxWaiting bounds those that wait for URLs at one node.
	MaxWaiting = 1024
	// MaxOpen bounds the leased URLs of one node. Each holds one of the dispatcher's hosts in
	// memory.
	MaxOpen = 16_384
	// MaxOpenPerWorker bounds the leased URLs of one worker at one node.
	MaxOpenPerWorker = 4 * crawl.MaxLeaseBatch
	// maxSettled bounds the settled URLs that are remembered, about 30 bytes each.
	maxSettled = 524_288
	// settlers is how many results are written at a time.
	settlers = 512
)

// Source is the dispatcher.
type Source interface {
	pipeline.Source
	// Reserve writes that the visits' hosts must not be requested until their holds end, whoever
	// has them then.
	Reserve(
		ctx context.Context,
		visits []crawl.Visit,
		hold func(*crawl.Visit) crawl.LeaseHold,
	) (kept []bool, err error)
	// Adopt opens visits for those of the claims that Reserve wrote, here or at an earlier holder,
	// and that nobody has used since. Others have the ID 0. After crawl.ErrMoving it may open more
	// later.
	Adopt(ctx context.Context, claims []crawl.LeaseClaim) (visits []crawl.Visit, err error)
	// Delete takes a URL out of memory that is deleted. It does not come back by a visit that is
	// under way.
	Delete(ctx context.Context, host crawl.Host, url string) error
	// Late opens the queued URL of a result that comes without a visit.
	Late(ctx context.Context, p crawl.Partition, u urlnorm.URL) (crawl.Visit, crawl.LateState, error)
	// SetDelay has nobody request a host more often than once in d, whoever has it then; 0 ends
	// that.
	SetDelay(ctx context.Context, p crawl.Partition, host crawl.Host, d time.Duration) error
	// Block has nobody request a host before until, whoever has it then; the zero time ends that.
	Block(ctx context.Context, p crawl.Partition, host crawl.Host, until time.Time) error
}

// Pages ends visits. *pipeline.Pipeline does.
type Pages interface {
	Answered(v crawl.Visit, r pipeline.Report) *pipeline.Settlement
	Settle(ctx context.Context, s *pipeline.Settlement) error
	Return(
		ctx context.Context,
		v crawl.Visit,
		asked bool,
		held pipeline.Held,
		failed bool,
		reason string,
	) error
}

// Node is what a Desk asks of its node. Any goroutine calls it. No method waits for a disk or for
// another node, but the function that Copied returns does.
type Node interface {
	// Copied waits until what was stored in the partitions is on the disks of their in-sync sets, and
	// says of each whether it is. It begins before the storing: it returns the function that waits.
	Copied(ps []crawl.Partition) func(context.Context) func(crawl.Partition) bool
	// Partition is a host's.
	Partition(host crawl.Host) crawl.Partition
	// Held are the partitions that the node holds, in their order.
	Held() []crawl.Partition
	// Forgotten hears that URLs of the cluster's own crawl were deleted, on whichever node.
	Forgotten()
}

// Options are the parts of a Desk. Source, Node and Lease are required.
type Options struct {
	Source Source
	Node   Node
	// Lease is how long a lease lasts.
	Lease time.Duration
	// Guests gives out URLs of other crawls; nil: there are none.
	Guests *guests.Desk
	// Notes has what clients have said; nil: nothing.
	Notes Notes
	// GuestStore has the URLs of other crawls; with Guests.
	GuestStore GuestStore
}

// Notes has what clients of the URLFrontier protocol have said: the frontier.
type Notes interface {
	NoteOf(p crawl.Partition, u urlnorm.URL) (crawl.Note, bool, error)
	PutNotes(ctx context.Context, puts []frontier.NotePut) error
	DropNotes(ctx context.Context, puts []frontier.NotePut) error
	Forget(ctx context.Context, p crawl.Partition, c frontier.Forgotten) (int, error)
}

// Desk gives visits of this node to workers and takes their results. Any goroutine may call its
// methods.
type Desk struct {
	o  Options
	mu sync.Mutex // guards the rest of this block; held for moments only
	// nil before Use; then it does not change, and is read without mu by who has a visit
	pages  Pages
	book   *leases.Book
	line   leases.Line
	waits  map[*leases.Waiter]chan struct{} // closed when the wait is over
	keyed  map[crawl.Host][]*keyed          // those who wait for a URL of one host
	open   map[uint64]*visit                // by visit
	byURL  map[string]uint64                // open visits that are leased
	writes map[crawl.LeaseTag]*writing      // results on their way to the disks
	closed bool
	broken error // the first storage error
	demand demand
	tell   chan struct{} // capacity 1: the next deadline may have changed

	ends     sync.WaitGroup // visits in open, or being ended
	settling chan struct{}
	// held while claims are looked up, so that of a result that comes twice at once one counts
	adopting sync.Mutex
}

// visit is one that was handed out.
type visit struct {
	crawl.Visit
	unwatch func() bool
	lease   crawl.LeaseTag // 0: no worker knows of it yet
	kept    bool           // the end of its lease does not count as an attempt
}

// NewDesk makes a Desk, which gives out nothing before Use.
func NewDesk(o Options) *Desk {
	return &Desk{
		o: o, book: leases.NewBook(
			leases.Limits{Open: MaxOpen, PerWorker: MaxOpenPerWorker, Settled: maxSettled}),
		waits: map[*leases.Waiter]chan struct{}{}, open: map[uint64]*visit{}, byURL: map[string]uint64{},
		keyed: map[crawl.Host][]*keyed{}, writes: map[crawl.LeaseTag]*writing{},
		demand: demand{coming: map[uint64]struct{}{}}, tell: make(chan struct{}, 1),
		settling: make(chan struct{}, settlers),
	}
}

// Use sets what ends visits. Before that nothing is given out.
func (d *Desk) Use(p Pages) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pages = p
}

// Counts are the figures of this node's leases.
func (d *Desk) Counts() leases.Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.book.Counts()
}

// Run ends waits and leases when their time is over, until ctx ends. Then it waits until every
// visit has ended: the dispatcher, whose Run ends as well, takes them back. The error is a storage
// error.
func (d *Desk) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		next := d.turn(time.Now())
		wait := time.Hour
		if !next.IsZero() {
			wait = max(time.Until(next), 0)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-d.tell:
		}
		if err := d.failed(); err != nil {
			return err
		}
	}
	d.close()
	d.ends.Wait()
	return d.failed()
}

// turn ends what is over, and returns when the next is.
func (d *Desk) turn(now time.Time) time.Time {
	d.mu.Lock()
	for _, w := range d.line.Due(now) {
		d.finishWait(w)
	}
	d.wantLess()
	var over []*visit
	for _, id := range d.book.Expire(now) {
		over = append(over, d.remove(id))
	}
	next := d.book.NextEnd()
	if at := d.line.NextDue(); next.IsZero() || !at.IsZero() && at.Before(next) {
		next = at
	}
	d.mu.Unlock()
	for _, v := range over {
		go func() { // each waits for a write; ends counts them
			defer d.ends.Done()
			d.note(d.pages.Return(context.Background(), v.Visit, true, pipeline.Held{}, !v.kept,
				"its worker's lease ended without a result"))
		}()
	}
	return next
}

// close ends all waits.
func (d *Desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for w := range d.waits {
		d.line.Leave(w)
		d.finishWait(w)
	}
	d.wantLess()
}

// finishWait tells a waiter that its wait is over. With mu held.
func (d *Desk) finishWait(w *leases.Waiter) {
	close(d.waits[w])
	delete(d.waits, w)
}

// remove takes a visit out of the open ones: the caller ends it. With mu held.
func (d *Desk) remove(id uint64) *visit {
	v := d.open[id]
	if v != nil {
		delete(d.open, id)
		if url := v.Item.URL.String(); d.byURL[url] == id {
			delete(d.byURL, url)
		}
		v.unwatch()
	}
	return v
}

// note keeps the first storage error.
func (d *Desk) note(err error) {
	if err == nil {
		return
	}
	d.mu.Lock()
	if d.broken == nil {
		d.broken = err
	}
	d.mu.Unlock()
	crawl.Signal(d.tell)
}

func (d *Desk) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.broken
}

// Take is pipeline.Handout: it gives a visit to the first who waits.
func (d *Desk) Take(v crawl.Visit) bool {
	taken, _ := d.o.Source.Context(v)
	if v.Received != nil {
		v.Received.Store(1 << 62) // its payload does not come here: it must not count as slow
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	delete(d.demand.coming, v.ID)
	full, ok := (*leases.Waiter)(nil), d.giveKeyed(v.Host, v.ID)
	if !ok {
		full, ok = d.line.Give(now, v.ID)
	}
	if !ok {
		return false
	}
	d.ends.Add(1)
	o := &visit{Visit: v}
	d.open[v.ID] = o
	o.unwatch = context.AfterFunc(taken, func() { d.takenBack(v.ID) })
	if full != nil {
		d.finishWait(full)
	}
	crawl.Signal(d.tell)
	return true
}

// takenBack ends a visit that the node must not keep.
func (d *Desk) takenBack(id uint64) {
	d.mu.Lock()
	v := d.remove(id)
	if v == nil {
		d.mu.Unlock()
		return
	}
	left, _ := d.book.Withdraw(time.Now(), id)
	d.mu.Unlock()
	defer d.ends.Done()
	held := pipeline.Held{Lease: v.lease}
	if v.lease != 0 {
		held.For = withMargin(left)
	}
	d.note(d.pages.Return(context.Background(), v.Visit, v.lease != 0, held, false,
		"the node gave it up while a worker had it"))
}

// withMargin is how long nobody may request a host whose lease lasts for d, by another clock.
func withMargin(d time.Duration) time.Duration {
	return d + d/20 + time.Second
}
