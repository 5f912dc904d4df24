package scheduler

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler/core"
)

const (
	// sweepEvery is the interval at which the loop checks the hosts on disk by itself.
	sweepEvery = time.Second
	// refusedPause is how long nothing is handed out after MayFetch refused.
	refusedPause = 100 * time.Millisecond
	// drainAtOnce bounds the messages taken in one turn of the loop.
	drainAtOnce = 256
)

// loop is the state that Run's goroutine owns.
type loop struct {
	d       *Dispatcher
	core    *core.Core
	base    context.Context // parent of the visits' contexts
	waiters []waiter
	wishers []waiter // those that wait for a visit of a host that is wished for

	held     map[crawl.Partition]*holding
	sweeps   []*holding                // partitions to be read, in order
	loading  map[crawl.Host]crawl.Band // hosts being loaded; best band noted meanwhile, or Bands
	leaving  map[crawl.Host]bool       // hosts whose state is being written
	flying   map[crawl.Host][]*flight  // visits that are not completed; rarely more than one per host
	causes   map[crawl.Host]cause      // why hosts in memory were last unreachable
	released uint64                    // requests that have ended
	// hosts that wait on disk because their domain has used its share, at the last check
	denied   int
	diskJobs []job
	lookups  []job
	pending  int // disk jobs that a worker has

	noPermit bool         // Node had no permit
	refused  time.Time    // nothing is handed out before
	rules    rules        // whose gaps were applied
	changes  []siteChange // the last, in order
	tick     time.Time    // the next check of the hosts on disk
	wide     bool         // hosts with long waits are also loaded
	fatal    error
	stopping bool
}

func newLoop(d *Dispatcher) loop {
	return loop{
		d: d, core: core.New(d.o.Scheduler), base: context.Background(),
		held: make(map[crawl.Partition]*holding), loading: make(map[crawl.Host]crawl.Band),
		leaving: make(map[crawl.Host]bool),
		flying:  make(map[crawl.Host][]*flight), causes: make(map[crawl.Host]cause),
	}
}

// Run hands out visits until ctx ends. Then it cancels open visits, waits for all to be completed
// (at most 3 s) and writes the hosts' politeness. It returns when everything that it started has
// ended: nil, or an error of the store. Call it once. The frontier's Run must outlive it.
func (d *Dispatcher) Run(ctx context.Context) error {
	defer close(d.over)
	l := &d.loop
	base, takeBack := context.WithCancelCause(context.WithoutCancel(ctx))
	defer takeBack(errTakenBack)
	l.base = base
	poolCtx, stopPools := context.WithCancel(context.WithoutCancel(ctx))
	defer stopPools()
	var pools sync.WaitGroup
	disk, lookups := make(chan job), make(chan job)
	for range d.o.Readers {
		pools.Go(func() { d.work(poolCtx, disk) })
	}
	for range d.o.Lookups {
		pools.Go(func() { d.work(poolCtx, lookups) })
	}
	l.run(ctx, disk, lookups)

	l.stopping = true
	l.dismiss()
	takeBack(errTakenBack)
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopGrace)
	defer cancel()
	l.run(stopCtx, disk, lookups)
	stopPools()
	pools.Wait()
	l.dismiss()
	return errors.Join(l.fatal, l.parkAll(stopCtx))
}

// work does jobs until ctx ends.
func (d *Dispatcher) work(ctx context.Context, jobs <-chan job) {
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-jobs:
			select {
			case d.results <- j(ctx):
			case <-ctx.Done():
				return
			}
		}
	}
}

// run is the loop. It ends with ctx, with a broken store, or, while stopping,
// when nothing is open.
func (l *loop) run(ctx context.Context, disk, lookups chan<- job) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for l.fatal == nil {
		now := time.Now()
		l.turn(now)
		if l.stopping && l.d.busy.Load() == 0 && len(l.diskJobs)+l.pending == 0 {
			return
		}
		timer.Reset(max(l.wake(now).Sub(now), 0))
		var toDisk, toLookups chan<- job
		var nextDisk, nextLookup job
		if len(l.diskJobs) > 0 {
			toDisk, nextDisk = disk, l.diskJobs[0]
		}
		if len(l.lookups) > 0 {
			toLookups, nextLookup = lookups, l.lookups[0]
		}
		select {
		case <-ctx.Done():
			return
		case f := <-l.d.inbox:
			l.drain(f)
		case f := <-l.d.results:
			f(time.Now())
		case toDisk <- nextDisk:
			l.diskJobs = l.diskJobs[1:]
		case toLookups <- nextLookup:
			l.lookups = l.lookups[1:]
		case <-l.d.look:
		case <-timer.C:
		}
	}
}

// drain runs f and everything else that has come in. Orders and notes given before a message are
// seen before it. Each message has its own now: a release that came while others were handled must
// not count from an earlier time.
func (l *loop) drain(f func(time.Time)) {
	for range drainAtOnce {
		now := time.Now()
		l.takeNotes(now)
		f(now)
		select {
		case f = <-l.d.inbox:
		default:
			return
		}
	}
	now := time.Now()
	l.takeNotes(now)
	f(now)
}

// turn does everything that can be done now.
func (l *loop) turn(now time.Time) {
	l.takeNotes(now)
	l.followGaps(now)
	l.core.LimitLookups(now, l.d.o.Node.LookupRoom())
	l.core.LimitFetchers(l.d.o.Node.Fetchers())
	l.core.Advance(now)
	if !l.stopping {
		if !now.Before(l.tick) {
			l.tick = now.Add(sweepEvery)
			l.lookAtDisk(now)
		}
		if l.errandNews() {
			l.runErrands(now)
		}
		l.fill(now)
		l.handOut(now)
	}
	l.act()
	counts := l.core.Counts()
	l.d.lookups.Store(int64(l.core.Lookups()))
	due := int64(0)
	if at := l.core.NextWake(); !at.IsZero() {
		due = at.UnixNano()
	}
	l.d.due.Store(due)
	l.d.mu.Lock()
	l.d.counts = counts
	l.d.mu.Unlock()
}

// wake is when the loop next has work without a message.
func (l *loop) wake(now time.Time) time.Time {
	at := l.tick
	if !at.After(now) {
		at = now.Add(sweepEvery) // while stopping
	}
	for _, t := range [...]time.Time{l.core.NextWake(), l.refused} {
		if t.After(now) && t.Before(at) {
			at = t
		}
	}
	return at
}

// handOut gives visits to the waiters. Who wishes for a host comes first, but for one whose last
// visit was for a guest.
func (l *loop) handOut(now time.Time) {
	l.grantWishes(now, false)
	for len(l.waiters) > 0 && l.mayHandOut(now) {
		v, ok := l.core.Next(now)
		if !ok {
			break
		}
		if !l.beginErrand(now, v) {
			continue
		}
		if !l.hand(now, v, l.waiters[0]) {
			break
		}
		l.waiters[0] = nil
		l.waiters = l.waiters[1:]
	}
	l.grantWishes(now, true)
}

// mayHandOut reports whether visits may be handed out now.
func (l *loop) mayHandOut(now time.Time) bool {
	return !l.d.paused.Load() && !l.d.halted.Load() && !l.noPermit && !now.Before(l.refused)
}

// hand gives an open visit to a waiter. False: it was taken back, and nothing may be handed out
// now.
func (l *loop) hand(now time.Time, v crawl.Visit, w waiter) bool {
	h := l.held[v.Partition]
	v.Epoch = h.epoch
	rules := l.d.rules()
	state, _ := l.core.HostState(v.ID)
	over := overBudget(v.Item.Via, &state, rules.of(v.Item.URL).MaxPagesPerHost)
	page := !over && isPage(v, rules.settings)
	if l.allowed(now, v, page) && l.send(v, h, w, page, over) {
		return true
	}
	l.core.Release(now, v.ID, crawl.Response{Kind: crawl.Aborted})
	l.core.Completed(now, v.ID)
	l.d.errandEnded(&v, nil)
	return false
}

// allowed asks the node. A refusal stops all handing out: without a permit until Wake, without
// the right to fetch for refusedPause.
func (l *loop) allowed(now time.Time, v crawl.Visit, page bool) bool {
	if !l.d.o.Node.MayFetch(v.Partition) {
		l.refused = now.Add(refusedPause)
		return false
	}
	if page && !l.d.o.Node.TakePermit() {
		l.noPermit = true
		return false
	}
	return true
}

// send gives v to a waiter. False: the right to fetch it has just ended.
func (l *loop) send(v crawl.Visit, h *holding, w waiter, page, over bool) bool {
	f := &flight{
		id:        v.ID,
		partition: v.Partition,
		host:      v.Host,
		url:       v.Item.URL,
		via:       v.Item.Via,
		attempts:  v.Item.Attempts,
		retries:   v.Retries,
		page:      page,
	}
	v.Received, v.Kept = &f.received, &f.kept
	f.ctx, f.cancel = context.WithCancelCause(l.base)
	if !l.enter(v, f) {
		f.cancel(errTakenBack)
		if page {
			l.giveBack()
		}
		return false
	}
	if l.d.o.Turns != nil && v.Addr.IsValid() && l.d.ipDelay(v.Addr) > 0 {
		f.spaced = v.Addr
		l.d.o.Turns.Begin(v.Addr)
	}
	l.flying[v.Host] = append(l.flying[v.Host], f)
	l.d.busy.Add(1)
	l.d.activity.Add(1)
	h.visits++
	w <- grant{visit: v, overBudget: over}
	return true
}

// withdraw removes a waiter whose caller went away, unless it has its grant.
func (l *loop) withdraw(w waiter) {
	for _, line := range [...]*[]waiter{&l.waiters, &l.wishers} {
		if i := slices.Index(*line, w); i >= 0 {
			*line = slices.Delete(*line, i, i+1)
			close(w)
			return
		}
	}
}

// dismiss tells all waiters that no more visits come.
func (l *loop) dismiss() {
	for _, w := range slices.Concat(l.waiters, l.wishers) {
		close(w)
	}
	l.waiters, l.wishers = nil, nil
}

func (l *loop) flight(id uint64) *flight {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	return l.d.flights[id]
}

func (l *loop) release(now time.Time, id uint64, r crawl.Response) {
	f := l.flight(id)
	if f == nil {
		return
	}
	l.released++
	f.released = l.released
	l.endTurn(f, r.Requested)
	l.tellTaken(f)
	if state, ok := l.core.Release(now, id, r); ok {
		l.d.mu.Lock()
		f.state, f.newest = state, len(l.flying[f.host]) == 1
		l.d.mu.Unlock()
	}
	l.strayEnded(now, f, r.Requested)
	_, again := core.Again(&crawl.Visit{
		Lease:   crawl.Lease{Item: crawl.Item{Attempts: f.attempts}},
		Retries: f.retries,
	}, r.Kind)
	again = again || l.core.Excused(id)
	// A URL that is given up after an answer also counts as a page.
	f.used = r.Kind == crawl.Fetched ||
		!again && (r.Kind == crawl.RateLimited || r.Kind == crawl.URLFailed)
}

// tellTaken lets the core know of a state of f's host that is being written, although the core was
// not asked for it.
func (l *loop) tellTaken(f *flight) {
	for _, o := range l.flying[f.host] {
		l.d.mu.Lock()
		written := o.taken && o.newest
		o.newest = false
		l.d.mu.Unlock()
		if written {
			l.core.HostState(o.id)
		}
	}
}

func (l *loop) completed(now time.Time, id uint64) {
	f := l.flight(id)
	if f == nil {
		return
	}
	f.cancel(nil)
	l.endTurn(f, true)         // unless it was released
	l.strayEnded(now, f, true) // unless it was released, as it should have been
	l.d.mu.Lock()
	delete(l.d.flights, id)
	written, why := f.taken && f.newest, f.why
	l.d.mu.Unlock()
	l.caused(f, why)
	if written {
		l.core.HostState(id) // as HostState would have told the core
	}
	l.landed(f)
	l.core.KeptOthers(id, time.Duration(f.kept.Load()))
	l.core.Completed(now, id)
	if f.page {
		l.d.o.Node.PermitDone(f.used)
		l.noPermit = l.noPermit && f.used
	}
	l.d.busy.Add(-1)
	h := l.held[f.partition]
	h.visits--
	h.announceQuiet()
}

// cause is why a host was unreachable at a request, or the zero HostFailure: it was reached.
type cause struct {
	crawl.HostFailure
	released uint64 // the request, in the order of their ends
}

// caused notes what f, which is completed, has learnt of its host. Visits of a host are completed
// in any order, so the one counts whose request ended last. A visit without a request has learnt
// nothing.
func (l *loop) caused(f *flight, why crawl.HostFailure) {
	if f.released >= l.causes[f.host].released && (f.released > 0 || why != (crawl.HostFailure{})) {
		l.causes[f.host] = cause{why, f.released}
	}
	// Its order matters only while an older visit is not completed.
	if l.causes[f.host].HostFailure == (crawl.HostFailure{}) && len(l.flying[f.host]) == 1 {
		delete(l.causes, f.host)
	}
}

// endTurn says that f's request to its address has ended.
func (l *loop) endTurn(f *flight, requested bool) {
	if f.spaced.IsValid() {
		l.d.o.Turns.End(f.spaced, requested)
		f.spaced = netip.Addr{}
	}
}

// landed removes f from the open visits of its host.
func (l *loop) landed(f *flight) {
	rest := slices.DeleteFunc(l.flying[f.host], func(o *flight) bool { return o == f })
	if l.flying[f.host] = rest; len(rest) == 0 {
		delete(l.flying, f.host)
	}
}

// act turns the core's actions into jobs.
func (l *loop) act() {
	for _, a := range l.core.Actions() {
		switch a.Kind {
		case core.Resolve:
			l.lookups = append(l.lookups, l.lookupJob(a.Host))
		case core.Refill:
			l.disk(l.refillJob(a))
		case core.Park:
			l.parkJob([]core.Parked{{Partition: a.Partition, Host: a.Host, State: a.State}}, false)
		case core.Dead:
			l.deadJob(a)
		case core.TakeBack:
			if f := l.flight(a.Visit); f != nil {
				f.cancel(errOverShare)
			}
		}
	}
}
