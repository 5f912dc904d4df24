package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/scheduler/core"
	"crawlnode/scheduler/shares"
	"crawlnode/web/urlnorm"
)

// This file has the methods that other goroutines may call.

var (
	// ErrStopped says that no more visits will be handed out. The pipeline sees it as io.EOF.
	ErrStopped = fmt.Errorf("dispatch: the dispatcher has stopped: %w", io.EOF)
	// errTakenBack is the cause with which a visit's context is cancelled.
	errTakenBack = errors.New("dispatch: visit cancelled")
	// errOverShare is the cause when other hosts wait for a fetcher.
	errOverShare = errors.New(
		"dispatch: visit cancelled: its domain fails and uses more than its share of the fetchers")
	// errExcluded is the cause when changed settings exclude the URL.
	errExcluded = errors.New("dispatch: visit cancelled: its URL is excluded now")
)

// StopGrace is how long Run waits for visits to be completed when it ends.
const StopGrace = 3 * time.Second

// Dispatcher hands out visits. It owns the scheduler's core, in one goroutine,
// and connects it with the frontier and the resolver. It is the pipeline's
// Source.
//
// It may hand out visits of a partition from Hold until Freeze or Drop. Everything that it stores
// in memory can be read again from the frontier, except the hosts' politeness, which it writes
// there (Park) whenever a host leaves memory.
type Dispatcher struct {
	o       Options
	log     *slog.Logger
	inbox   chan func(now time.Time)
	results chan func(now time.Time) // from the pools
	look    chan struct{}            // capacity 1: check the fields that mu guards
	over    chan struct{}            // closed when Run has ended

	activity atomic.Uint64
	busy     atomic.Int64
	paused   atomic.Bool
	stalled  atomic.Bool
	lookups  atomic.Int64 // requested by the core and not answered yet
	// when the core has something to do without a message, in Unix nanoseconds; 0: never
	due    atomic.Int64
	halted atomic.Bool // since EndAll; set with mu held

	robots  robotsFetches // has a lock of its own
	errands []errandTable // not changed after New
	// spare are waiters that got their grants. They are reused: each has room for a visit, half a
	// kilobyte, and each page needs one.
	spare sync.Pool

	mu      sync.Mutex // guards the rest of this block; held for moments only
	notes   map[crawl.Host]note
	swept   map[crawl.Partition]bool // partitions with too many notes
	orders  []order
	barred  map[crawl.Partition]int // Drops that the loop has not carried out yet
	came    []netip.Addr            // see TurnsCame
	woken   bool
	flights map[uint64]*flight
	counts  core.Counts
	failing []shares.Failing // as of the last second

	loop loop // owned by Run
}

// note says that URLs were queued for a host.
type note struct {
	partition crawl.Partition
	band      crawl.Band
}

// flight is a visit that is handed out and not completed.
type flight struct {
	id        uint64
	ctx       context.Context
	cancel    context.CancelCauseFunc
	partition crawl.Partition
	host      crawl.Host
	url       urlnorm.URL
	via       crawl.Via
	attempts  int          // the item's, before this visit
	retries   int          // of the item
	spaced    netip.Addr   // whose turn it uses until its release; zero: no address's
	page      bool         // it holds a page permit
	used      bool         // the permit became a page
	released  uint64       // the loop's count of ended requests when this one ended; 0: it has not
	stray     bool         // its partition was dropped before its release
	received  atomic.Int64 // bytes of the payload up to now
	kept      atomic.Int64 // nanoseconds for which its parsing delayed others
	// Guarded by mu:
	why    crawl.HostFailure // the host could not be reached: why
	state  crawl.HostState   // the host's, as of Release
	newest bool              // state is the host's newest, and no other visit's is being written
	taken  bool              // state was returned for writing, as the newest
}

// New returns a dispatcher that holds no partition. Visits are handed out while Run runs.
func New(o Options) *Dispatcher {
	o = o.withDefaults()
	d := &Dispatcher{
		o: o, log: o.Logger,
		inbox: make(chan func(time.Time), 256), results: make(chan func(time.Time), 64),
		look: make(chan struct{}, 1), over: make(chan struct{}),
		notes: make(map[crawl.Host]note), swept: make(map[crawl.Partition]bool),
		flights: make(map[uint64]*flight),
		barred:  make(map[crawl.Partition]int),
	}
	d.o.Scheduler.Dispatcher, d.o.Scheduler.Turns = decided{d}, d.o.Turns
	d.errands = []errandTable{{crawl.ViaRobots, &d.robots}}
	if o.Parts != nil {
		d.errands = append(d.errands, errandTable{crawl.ViaPart, o.Parts})
	}
	if o.Wishes != nil {
		d.errands = append(d.errands, errandTable{crawl.ViaGuest, o.Wishes})
	}
	d.loop = newLoop(d)
	return d
}

// decided is the dispatcher as the core sees it that decides for it.
type decided struct{ d *Dispatcher }

func (c decided) IPDelay(addr netip.Addr) time.Duration { return c.d.ipDelay(addr) }
func (c decided) Excluded(it *crawl.Item) bool          { return c.d.o.Rules.Excluded(it) }
func (c decided) Retries(it *crawl.Item) int            { return c.d.retries(it) }

// Received is how much of the payload of an open visit has arrived.
func (c decided) Received(visit uint64) int64 {
	c.d.mu.Lock()
	f := c.d.flights[visit]
	c.d.mu.Unlock()
	if f == nil {
		return 0
	}
	return f.received.Load()
}

// signal makes the loop check the fields that mu guards.
func (d *Dispatcher) signal() {
	crawl.Signal(d.look)
}

// call runs f in the loop and waits for it. It fails when ctx or Run ends first: then f has run, is
// running, or never will. So a message sent after ctx has ended comes after f.
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

// Next blocks until a host may be requested, and gives it to the caller, who must call Release and
// Completed once each. It fails with ErrStopped, with the cause of ctx, or with the error of
// Node.Refuse.
func (d *Dispatcher) Next(ctx context.Context) (crawl.Visit, error) { return d.next(ctx, false) }

// next is Next, or, if wished is set, NextWished.
func (d *Dispatcher) next(ctx context.Context, wished bool) (crawl.Visit, error) {
	for {
		g, err := d.await(ctx, wished)
		if err != nil || !g.overBudget {
			return g.visit, err
		}
		d.Release(g.visit, crawl.Response{Kind: crawl.Refused})
		err = d.o.Node.Refuse(context.WithoutCancel(ctx), g.visit, crawl.Outcome{
			Kind: crawl.Refused, Skip: crawl.SkipHostBudget,
			Reason: d.budgetReason(g.visit.Item.URL), FetchedAt: time.Now(),
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

func (d *Dispatcher) await(ctx context.Context, wished bool) (grant, error) {
	if err := ctx.Err(); err != nil {
		return grant{}, context.Cause(ctx)
	}
	w, again := d.spare.Get().(waiter)
	if !again {
		w = make(waiter, 1)
	}
	select {
	case d.inbox <- func(time.Time) { d.loop.line(wished, w) }:
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
		d.spare.Put(w) // it is empty, and the loop does not use it any more
		return g, nil
	case <-d.over:
		return grant{}, ErrStopped
	case <-ctx.Done():
	}
	if d.call(context.WithoutCancel(ctx), func(time.Time) { d.loop.withdraw(w) }) == nil {
		if g, ok := <-w; ok {
			// A grant came at the same moment; its visit is returned unused.
			d.Release(g.visit, crawl.Response{Kind: crawl.Aborted})
			d.errandEnded(&g.visit, nil)
			d.Completed(g.visit)
		}
	}
	return grant{}, context.Cause(ctx)
}

// Context is cancelled when the fetch of v is cancelled, with a cause, and by the function that
// comes with it. For a visit that is no longer open it is already cancelled.
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
	id := v.ID // with the visit in it, the message would be a copy of 400 bytes
	select {
	case d.inbox <- func(now time.Time) { d.loop.release(now, id, r) }:
	case <-d.over:
	}
}

// Completed says that v's outcome is on disk, or was dropped. It is called once per visit, after
// Release.
func (d *Dispatcher) Completed(v crawl.Visit) {
	id := v.ID
	select {
	case d.inbox <- func(now time.Time) { d.loop.completed(now, id) }:
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

// Pause stops handing out visits (true) or resumes it (false). Open visits continue.
func (d *Dispatcher) Pause(paused bool) {
	d.paused.Store(paused)
	d.signal()
}

// Wake makes the dispatcher ask its Node again: there may be a permit, or a lease after EndAll.
func (d *Dispatcher) Wake() {
	d.mu.Lock()
	d.woken = true
	d.halted.Store(false)
	d.mu.Unlock()
	d.signal()
}

// TurnsCame says that it may have become this node's turn to request these addresses.
func (d *Dispatcher) TurnsCame(ips []netip.Addr) {
	d.mu.Lock()
	d.came = append(d.came, ips...)
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

// Busy counts the visits that are not completed.
func (d *Dispatcher) Busy() int { return int(d.busy.Load()) }

// Lookups counts the host names that are being looked up.
func (d *Dispatcher) Lookups() int { return int(d.lookups.Load()) }

// Due reports whether a host has its turn, or may get one, until then. It is for a caller who looks
// from time to time.
func (d *Dispatcher) Due(until time.Time) bool {
	due := d.due.Load()
	return due != 0 && due <= until.UnixNano()
}

// Stalled reports that nothing queued here can be fetched within an hour, as of the last second:
// only frozen hosts are left, waiting for MayLastTry.
func (d *Dispatcher) Stalled() bool { return d.stalled.Load() }

// Failing are the domains whose hosts are held back because most of them fail: the few with most
// hosts, as of the last second. The slice is shared: it is read-only.
func (d *Dispatcher) Failing() []shares.Failing {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failing
}

// Counts counts the hosts in memory by state, as of the loop's last turn.
func (d *Dispatcher) Counts() core.Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}
