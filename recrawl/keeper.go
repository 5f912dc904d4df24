package recrawl

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/recrawl/policy"
)

// How often things are looked at.
const (
	// priceEvery is the time between two curves of this node.
	priceEvery = 10 * time.Second
	// lookEvery is how often the fetchers are looked at, whose work the capacity follows.
	lookEvery = time.Second
	// againEvery is the pause between two turns while due pages are left.
	againEvery = 100 * time.Millisecond
	// stampEvery is decision 0173's second stamp.
	stampEvery = 10 * time.Minute
	// dueCounted bounds the due pages that are counted for people.
	dueCounted = 65536
)

// Keeper decides when the known pages of this node are visited. New makes it, Run works; all other
// methods may be called from any goroutine and do not block.
type Keeper struct {
	o    Options
	wake chan struct{} // capacity 1
	read chan struct{} // capacity 1: for the counter

	sums     sums
	visits   atomic.Int64
	revisits atomic.Int64
	holdings atomic.Bool // partitions came or went

	recent recentRevisits
	copies recentCopies

	mu    sync.Mutex                    // guards the next two; held for moments
	inbox map[crawl.NodeID]Summary      // newest of each member, not taken in yet
	heads map[crawl.Partition]time.Time // pages that were planned since the last turn

	terms   atomic.Pointer[Terms]
	summary atomic.Pointer[[]byte]
	figures atomic.Pointer[Figures]
	judged  atomic.Pointer[judged]

	// The rest belongs to Run.
	mover    mover
	market   market
	measured measured
	sweep    sweep
	mode     string
	count    uint64
	own      policy.Curve
	priced   time.Time
	settled  bool // the last curve had all partitions
	looked   time.Time
	dueAt    time.Time // when the due pages were counted last
	stamped  time.Time
}

// New makes a Keeper.
func New(o Options) *Keeper {
	k := &Keeper{o: o, wake: make(chan struct{}, 1), read: make(chan struct{}, 1)}
	k.mover.pages = o.Pages
	k.sweep.pages = o.Pages
	k.market.self = o.Self
	k.terms.Store(&Terms{})
	k.figures.Store(&Figures{})
	return k
}

// Wake makes the Keeper look at once at everything that others decide: settings, members, whether
// visits may start.
func (k *Keeper) Wake() { crawl.Signal(k.wake) }

// HoldingsChanged says that a partition came or went.
func (k *Keeper) HoldingsChanged() {
	k.holdings.Store(true)
	k.Wake()
}

// Completed counts a visit that has ended.
func (k *Keeper) Completed(v *crawl.Visit) {
	if v.Item.Via.Errand() {
		return
	}
	k.visits.Add(1)
	if v.Item.Revisit {
		k.revisits.Add(1)
	}
}

// Replanned takes in what a page of p counted for, what it counts for now, and when its time comes;
// nil and the zero time are none. It is called by the frontier's writer, after each commit.
func (k *Keeper) Replanned(p crawl.Partition, before, after *frontier.Estimate, at time.Time) {
	if k.adaptive() {
		k.sums.replanned(p, before, after)
	}
	if at.IsZero() {
		return
	}
	k.mu.Lock()
	old, ok := k.heads[p]
	if !ok || at.Before(old) {
		if k.heads == nil {
			k.heads = map[crawl.Partition]time.Time{}
		}
		k.heads[p] = at
	}
	k.mu.Unlock()
	if f := k.figures.Load(); f.Next.IsZero() || at.Before(f.Next) {
		k.Wake() // else the loop wakes up before it is due
	}
}

// Revisited takes in what a revisit has brought. It is called by the frontier's writer, after each
// commit.
func (k *Keeper) Revisited(r frontier.Revisit) {
	if r.Answered {
		k.recent.add(r.Changed)
	}
	k.copies.add(r.Copy)
}

// Take takes in the summary that came with a member's heartbeat; none is an older node's, or one
// that has none.
func (k *Keeper) Take(id crawl.NodeID, boot crawl.Boot, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	s, err := DecodeSummary(raw)
	if err != nil {
		return err
	}
	s.Version.Boot = boot // it cannot speak for another one
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.inbox == nil {
		k.inbox = map[crawl.NodeID]Summary{}
	}
	if old, ok := k.inbox[id]; !ok || older(old.Version, s.Version) {
		k.inbox[id] = s
	}
	return nil
}

// older reports whether version a is before b.
func older(
	a, b policy.Version,
) bool {
	return a.Boot < b.Boot || a.Boot == b.Boot && a.Count < b.Count
}

// Summary is what goes to the other members with each heartbeat; nil: nothing yet.
func (k *Keeper) Summary() []byte {
	if b := k.summary.Load(); b != nil {
		return *b
	}
	return nil
}

// Terms are those of the last price.
func (k *Keeper) Terms() *Terms { return k.terms.Load() }

func (k *Keeper) adaptive() bool { return k.o.Node.Settings().Recrawl == crawl.RecrawlAdaptive }

// Run works until ctx ends, or the store fails. It waits for all that it started.
func (k *Keeper) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return k.counting(ctx) })
	group.Go(func() error { return k.moving(ctx) })
	err := group.Wait()
	if errors.Is(err, context.Canceled) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// moving is the loop that owns the mover and the price.
func (k *Keeper) moving(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.wake:
		case <-timer.C:
		}
		now := time.Now()
		next, err := k.turn(ctx, now)
		if err != nil {
			return err
		}
		timer.Reset(max(time.Until(next), 0))
	}
}

// sleep is how long the loop rests while known pages are not visited again; a change of the
// settings wakes it.
const sleep = time.Hour

// turn does what there is to do now, and returns when to look again.
func (k *Keeper) turn(ctx context.Context, now time.Time) (next time.Time, err error) {
	s := k.o.Node.Settings()
	if !s.Revisits() {
		k.stop()
		// what was planned before is planned anew when they are turned on
		k.sweep.follow(s, k.o.Node.Sites(), now)
		return now.Add(sleep), nil
	}
	if err := k.follow(s, now); err != nil {
		return now, err
	}
	l := k.load()
	if now.Sub(k.looked) >= lookEvery {
		k.looked = now
		k.measured.look(now, &l)
	}
	k.mover.bucket.fill(l.visits, s.RecrawlShare, k.measured.turn())
	if s.Recrawl == crawl.RecrawlAdaptive {
		k.price(now, s)
	}
	next = k.looked.Add(lookEvery)
	more := false
	if k.o.Node.May() {
		if more, err = k.mover.turn(ctx, now, k.measured.turn(), &l); err != nil {
			return now, err
		}
		if err = k.sweep.turn(ctx, now); err != nil {
			return now, err
		}
		if err = k.stamp(ctx, now); err != nil {
			return now, err
		}
	}
	_, at, ok := k.mover.heads.first()
	if err := k.show(now, at, ok, s); err != nil || more || k.sweep.busy() {
		return earlier(next, now.Add(againEvery)), err
	}
	if ok && k.o.Node.May() && at.After(now) {
		next = earlier(next, at)
	}
	return next, nil
}

// stamp keeps the timelines of the held partitions going, for a restart of the machine.
func (k *Keeper) stamp(ctx context.Context, now time.Time) error {
	if now.Sub(k.stamped) < stampEvery {
		return nil
	}
	k.stamped = now
	err := k.o.Pages.Stamp(ctx, slices.Collect(maps.Keys(k.sweep.held)))
	if errors.Is(err, frontier.ErrNotHolder) {
		err = nil
	}
	return err
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// stop forgets all: pages are not visited again. What is in the queue is visited.
func (k *Keeper) stop() {
	if k.mode == "" {
		return
	}
	k.mode = ""
	k.mover = mover{pages: k.o.Pages}
	k.market = market{self: k.o.Self}
	k.measured, k.sweep, k.own, k.priced = measured{}, sweep{
		pages: k.o.Pages,
	}, policy.Curve{}, time.Time{}
	k.sums.clear()
	k.terms.Store(&Terms{})
	k.summary.Store(nil)
	k.figures.Store(&Figures{})
}

// follow takes over settings, partitions and planned pages since the last turn.
func (k *Keeper) follow(s *crawl.Settings, now time.Time) error {
	if came := k.holdings.Swap(false); came || k.mode != s.Recrawl {
		if err := k.followHoldings(s, now); err != nil {
			return err
		}
	}
	if k.mode != s.Recrawl && s.Recrawl != crawl.RecrawlAdaptive {
		k.sums.clear()
		k.summary.Store(nil)
		k.terms.Store(&Terms{})
	}
	k.mode = s.Recrawl
	k.sweep.follow(s, k.o.Node.Sites(), now)
	k.mu.Lock()
	heads := k.heads
	k.heads = nil
	k.mu.Unlock()
	for p, at := range heads {
		if k.sweep.holds(p) {
			k.mover.heads.sooner(p, at)
		}
	}
	return nil
}

// followHoldings takes over which partitions are held.
func (k *Keeper) followHoldings(s *crawl.Settings, now time.Time) error {
	held := map[crawl.Partition]crawl.Epoch{}
	k.o.Pages.Walk(func(m *frontier.Meta) bool {
		if m.State == frontier.Holder {
			held[m.Partition] = m.Epoch
		}
		return true
	})
	if s.Recrawl == crawl.RecrawlAdaptive {
		k.sums.follow(held)
		crawl.Signal(k.read)
	}
	came, gone := k.sweep.followHoldings(held, now)
	for _, p := range gone {
		k.mover.heads.set(p, time.Time{}, false)
	}
	for _, p := range came {
		if err := k.mover.look(p); err != nil {
			return err
		}
	}
	return nil
}

// load is what the fetchers do now.
func (k *Keeper) load() load {
	l := load{visits: k.visits.Load(), revisits: k.revisits.Load()}
	l.busy, l.fetchers = k.o.Node.Fetchers()
	t := k.o.Pages.Totals()
	l.fresh = t.QueuedTotal() > t.QueuedRevisits
	return l
}

// price computes this node's curve from time to time, and the price whenever a summary came.
func (k *Keeper) price(now time.Time, s *crawl.Settings) {
	changed := false
	unsettled := k.sums.unsettled()
	if now.Sub(k.priced) >= priceEvery || !k.settled && !unsettled {
		changed = k.publish(s)
		k.priced, k.settled = now, changed && !unsettled
	}
	k.mu.Lock()
	inbox := k.inbox
	k.inbox = nil
	k.mu.Unlock()
	members := k.o.Node.Members()
	for _, id := range slices.Sorted(maps.Keys(inbox)) {
		summary := inbox[id]
		k.market.put(id, &summary)
		changed = true
	}
	if k.market.keep(members) || changed {
		t := k.market.terms(&k.own)
		k.terms.Store(&t)
	}
}

// publish computes the curve of this node's pages; false: nothing is known of them now, and what
// was published stays.
func (k *Keeper) publish(s *crawl.Settings) bool {
	all, held, uncounted := k.sums.read()
	if held > 0 && uncounted == held {
		return false // until then pages are planned at the usual interval
	}
	times := 1.0
	if counted := held - uncounted; uncounted > 0 && counted > 0 {
		times = float64(held) / float64(counted) // the others are taken for alike
	}
	// The sums are of the pages that wait for their time; those in a queue are taken for alike.
	if queued := float64(k.o.Pages.Totals().QueuedRevisits); queued > 0 {
		if all.pages < 1 {
			return false
		}
		times += queued / all.pages
	}
	_, fetchers := k.o.Node.Fetchers()
	c := all.demand.Curve(rulesOf(s).Bounds, k.terms.Load().Ease,
		k.measured.capacity(fetchers, s.RecrawlShare))
	if times > 1 {
		c, all.pages = scaled(c, times), times*all.pages
	}
	k.own = rounded(c)
	k.count++
	sent := Summary{
		Version: policy.Version{Boot: k.o.Boot, Count: k.count},
		Pages:   max(all.pages, 0),
		Curve:   k.own,
		Pools:   all.pools.possible(),
	}
	k.market.put(k.o.Self, &sent)
	raw := sent.Append(nil)
	k.summary.Store(&raw)
	return true
}
