package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/fairshare"
	"crawlnode/frontier"
	"crawlnode/scheduler"
	"crawlnode/web/urlnorm"
)

// This file is what others may call, from any goroutine.

var (
	// ErrStopped says that no visit will be handed out any more. It is
	// io.EOF to the pipeline.
	ErrStopped = fmt.Errorf("dispatch: the dispatcher has stopped: %w", io.EOF)
	// errTakenBack is the cause with which a visit's context is cancelled.
	errTakenBack = errors.New("dispatch: the visit was taken back")
	// errOverShare is the cause when others wait for a fetcher.
	errOverShare = errors.New("dispatch: the visit was taken back: its domain fails and holds more than its share of the fetchers")
	// errExcluded is the cause when the settings exclude the URL since.
	errExcluded = errors.New("dispatch: the visit was taken back: its URL is excluded now")
)

// StopGrace is how long Run waits for visits to be settled when it ends.
const StopGrace = 3 * time.Second

// Dispatcher hands out visits. It owns the scheduler's core, in one goroutine,
// and connects it with the frontier and the resolver. It is the pipeline's
// Source.
//
// It may hand out visits of the partitions that it was told to Hold, from then
// on until Freeze or Drop. Everything that it keeps can be read again from the
// frontier; what only it knows, the hosts' politeness, it writes there (Park)
// whenever a host leaves memory.
type Dispatcher struct {
	o       Options
	log     *slog.Logger
	inbox   chan func(now time.Time)
	results chan func(now time.Time) // from the pools
	look    chan struct{}            // capacity 1: look at what mu guards
	over    chan struct{}            // closed when Run has ended

	activity atomic.Uint64
	busy     atomic.Int64
	paused   atomic.Bool
	stalled  atomic.Bool
	lookups  atomic.Int64 // asked for by the core and not answered yet
	halted   atomic.Bool  // since EndAll; set with mu held

	robots robotsFetches // has a lock of its own
	// spare are waiters that got their grants: one has room for a visit, half a
	// kilobyte, and there is one for each page.
	spare sync.Pool

	mu      sync.Mutex // guards the rest of this block; held for moments only
	notes   map[crawl.Host]note
	swept   map[crawl.Partition]bool // partitions whose notes were too many
	orders  []order
	barred  map[crawl.Partition]int // orders to drop that the loop has not seen yet
	woken   bool
	flights map[uint64]*flight
	counts  scheduler.Counts
	failing []fairshare.Failing // as of the last second

	loop loop // owned by Run
}

// note says that URLs were queued for a host.
type note struct {
	partition crawl.Partition
	band      crawl.Band
}

// flight is a visit that is handed out and not settled.
type flight struct {
	ctx       context.Context
	cancel    context.CancelCauseFunc
	partition crawl.Partition
	host      crawl.Host
	url       urlnorm.URL
	via       crawl.Via
	attempts  int          // the item's, before this visit
	page      bool         // it holds a page permit
	used      bool         // the permit became a page
	stray     bool         // its partition was dropped before it was released
	received  atomic.Int64 // bytes of the payload up to now
	kept      atomic.Int64 // nanoseconds that others waited for it to be parsed
	// Guarded by mu:
	why    crawl.HostFailure // the host could not be reached: why
	state  crawl.HostState   // the host's, as of Release
	newest bool              // state is the host's newest, and no other visit's is on its way to disk
	taken  bool              // state was given out to be written, as the newest
}

// New returns a dispatcher that holds no partition. Visits are handed out while Run runs.
func New(o Options) *Dispatcher {
	o = o.withDefaults()
	d := &Dispatcher{
		o: o, log: o.Logger,
		inbox: make(chan func(time.Time), 256), results: make(chan func(time.Time), 64),
		look: make(chan struct{}, 1), over: make(chan struct{}),
		notes: make(map[crawl.Host]note), swept: make(map[crawl.Partition]bool), flights: make(map[uint64]*flight),
		barred: make(map[crawl.Partition]int),
	}
	d.o.Scheduler.Delay, d.o.Scheduler.IPDelay, d.o.Scheduler.Excluded = d.delay, d.ipDelay, d.o.Excluded
	d.o.Scheduler.Received = d.received
	d.loop = newLoop(d)
	return d
}

// received is how much of the payload of an open visit has arrived.
func (d *Dispatcher) received(visit uint64) int64 {
	d.mu.Lock()
	f := d.flights[visit]
	d.mu.Unlock()
	if f == nil {
		return 0
	}
	return f.received.Load()
}

// signal makes the loop look at what mu guards.
func (d *Dispatcher) signal() {
	select {
	case d.look <- struct{}{}:
	default:
	}
}

// call runs f in the loop and waits for it. It fails when ctx or Run ends first: then f has
// run, is running, or never will. So a message that is sent after ctx has ended comes after f.
func (d *Dispatcher) call(ctx context.Context, f func(now time.Time)) error {
	done := make(chan struct{})
	message := func(now time.Time) {
		if ctx.Err() == nil {
			f(now)
			close(done)
		}
	}
	select {
	case d.inbox <- message:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.over:
		return ErrStopped
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.over:
		return ErrStopped
	}
}

// Next blocks until a host may be requested, and gives it to the caller, who must call
// Release and Settled once each. It fails with ErrStopped, with the cause of ctx, or with
// Refuse's error.
func (d *Dispatcher) Next(ctx context.Context) (crawl.Visit, error) {
	for {
		g, err := d.await(ctx)
		if err != nil || !g.overBudget {
			return g.visit, err
		}
		d.Release(g.visit, crawl.Response{Kind: crawl.Refused})
		err = d.o.Refuse(context.WithoutCancel(ctx), g.visit, crawl.Outcome{
			Kind: crawl.Refused, Skip: crawl.SkipHostBudget, Reason: "the host has had its pages (--max-pages-per-host)", FetchedAt: time.Now(),
		})
		if err != nil {
			return crawl.Visit{}, err
		}
	}
}

// grant is what a waiter gets.
type grant struct {
	visit      crawl.Visit
	overBudget bool
}

// waiter is a caller of Next. The loop sends one grant, or closes the channel.
type waiter chan grant

func (d *Dispatcher) await(ctx context.Context) (grant, error) {
	if err := ctx.Err(); err != nil {
		return grant{}, context.Cause(ctx)
	}
	w, again := d.spare.Get().(waiter)
	if !again {
		w = make(waiter, 1)
	}
	select {
	case d.inbox <- func(time.Time) { d.loop.waiters = append(d.loop.waiters, w) }:
	case <-ctx.Done():
		return grant{}, context.Cause(ctx)
	case <-d.over:
		return grant{}, ErrStopped
	}
	select {
	case g, ok := <-w:
		if !ok {
			return grant{}, ErrStopped
		}
		d.spare.Put(w) // it is empty, and the loop has let go of it
		return g, nil
	case <-d.over:
		return grant{}, ErrStopped
	case <-ctx.Done():
	}
	if d.call(context.WithoutCancel(ctx), func(time.Time) { d.loop.withdraw(w) }) == nil {
		if g, ok := <-w; ok {
			// It was granted at the same moment; the visit goes back unused.
			d.Release(g.visit, crawl.Response{Kind: crawl.Aborted})
			d.RobotsDone(g.visit, nil)
			d.Settled(g.visit)
		}
	}
	return grant{}, context.Cause(ctx)
}

// Context is cancelled when the fetch of v is taken back, with a cause, and by the
// function that comes with it. For a visit that is not open any more it is
// cancelled already.
func (d *Dispatcher) Context(v crawl.Visit) (context.Context, context.CancelCauseFunc) {
	d.mu.Lock()
	f := d.flights[v.ID]
	d.mu.Unlock()
	if f == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errTakenBack)
		return ctx, cancel
	}
	return f.ctx, f.cancel
}

// Release ends the host's turn; its gap counts from now. Once per visit.
func (d *Dispatcher) Release(v crawl.Visit, r crawl.Response) {
	id := v.ID // a message that held the visit would be a copy of 400 bytes
	select {
	case d.inbox <- func(now time.Time) { d.loop.release(now, id, r) }:
	case <-d.over:
	}
}

// Settled says that v's outcome is on disk, or was given up. Once per visit,
// after Release.
func (d *Dispatcher) Settled(v crawl.Visit) {
	id := v.ID
	select {
	case d.inbox <- func(now time.Time) { d.loop.settled(now, id) }:
	case <-d.over:
	}
}

// NoteQueued is the frontier's OnQueued. It does not block.
func (d *Dispatcher) NoteQueued(hosts []frontier.QueuedHost) {
	d.activity.Add(1)
	d.mu.Lock()
	for _, h := range hosts {
		n, ok := d.notes[h.Host]
		switch {
		case ok:
			n.band = min(n.band, h.Band)
			d.notes[h.Host] = n
		case len(d.notes) < 4*d.o.Scheduler.MaxActive:
			d.notes[h.Host] = note{h.Partition, h.Band}
		default:
			d.swept[h.Partition] = true
		}
	}
	d.mu.Unlock()
	d.signal()
}

// Pause stops handing out visits (true) or resumes it (false). Open visits go on.
func (d *Dispatcher) Pause(paused bool) {
	d.paused.Store(paused)
	d.signal()
}

// Wake makes the dispatcher ask its hooks again: there may be a permit, or a
// lease after EndAll.
func (d *Dispatcher) Wake() {
	d.mu.Lock()
	d.woken = true
	d.halted.Store(false)
	d.mu.Unlock()
	d.signal()
}

// PermitsAgain makes the dispatcher ask for permits again.
func (d *Dispatcher) PermitsAgain() {
	d.mu.Lock()
	d.woken = true
	d.mu.Unlock()
	d.signal()
}

// Activity rises with each visit that is handed out, and with each note of
// new URLs.
func (d *Dispatcher) Activity() uint64 { return d.activity.Load() }

// Busy counts the visits that are not settled.
func (d *Dispatcher) Busy() int { return int(d.busy.Load()) }

// Lookups counts the host names that were asked for and are not answered yet.
func (d *Dispatcher) Lookups() int { return int(d.lookups.Load()) }

// Stalled reports that nothing queued here can be fetched within an hour, as of
// the last second: what is left belongs to frozen hosts, waiting for
// MayLastTry.
func (d *Dispatcher) Stalled() bool { return d.stalled.Load() }

// Failing are the domains whose hosts are held back because they mostly fail, a few
// with most hosts, as of the last second. The slice is shared: read it only.
func (d *Dispatcher) Failing() []fairshare.Failing {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failing
}

// Counts counts the hosts in memory by state, as of the loop's last turn.
func (d *Dispatcher) Counts() scheduler.Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}
