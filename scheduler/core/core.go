package core

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"crawlnode/crawl"
)

// ActionKind says what the caller must do.
type ActionKind uint8

// The kinds of action.
const (
	// Resolve the addresses of Host and report with Resolved.
	Resolve ActionKind = iota
	// Refill: read up to N items of Host behind After; report with Offer or
	// OfferFailed.
	Refill
	// Park: Host has left memory; write State to disk. Nothing to report.
	Park
	// Dead: Host failed its last try; fail all its URLs, then call Forget.
	Dead
	// TakeBack: end the request of Visit, whose domain has held more than its share for
	// a long time while others wait; report with Release.
	TakeBack
)

func (k ActionKind) String() string {
	return [...]string{"resolve", "refill", "park", "dead", "take_back"}[min(k, TakeBack)]
}

// Action is something that the caller must do for the Core.
type Action struct {
	Kind      ActionKind
	Partition crawl.Partition
	Host      crawl.Host
	After     Cursor          // with Refill
	N         int             // with Refill
	State     crawl.HostState // with Park and Dead
	Visit     uint64          // with TakeBack
}

// Queue is a host as it was read from disk.
type Queue struct {
	Partition crawl.Partition
	Host      crawl.Host
	State     crawl.HostState
	Robots    []*crawl.Robots
	Items     []crawl.Item
	Next      Cursor // behind the last item
	More      bool   // there are entries behind Next
	Queued    int64  // all entries
	// Shorter: the configured gap of the host may have become smaller since State was stored.
	Shorter bool
	// Taken is when somebody else, or an earlier process, may have made a request last, for a URL that
	// is not known; zero: never.
	Taken time.Time
}

// Parked is the state of a host that left memory, which must be written.
type Parked struct {
	Partition crawl.Partition
	Host      crawl.Host
	State     crawl.HostState
}

// Counts counts the hosts in memory by state. Active counts all of them; hosts without
// anything to fetch are in no other count.
type Counts struct {
	Active, InFlight, Ready, Waiting, Backoff, Frozen int
	Incomplete                                        int // visits handed out and not completed
	// held back by the share of their domain or block
	OverShare int
}

// Core decides which host may be fetched. The now of successive calls must not go back by
// much: a clock that jumps back lengthens waits.
type Core struct {
	cfg         Config
	hosts       map[crawl.Host]*host
	parts       map[crawl.Partition]map[crawl.Host]*host
	frozenParts map[crawl.Partition]bool // partitions that are about to move
	visits      map[uint64]*visit
	lastID      uint64
	addrs       map[netip.Addr]*address // only those with a delay
	widened     time.Time               // when the configured gaps grew last; zero: they never did
	// one got smaller, or may have before this process: stored waits may be too long
	narrowed bool
	ready    *bandQueue
	timers   timers
	actions  []Action
	classes  [numClasses]int
	bytes    int
	shares   shares
}

// New returns an empty Core.
func New(cfg Config) *Core {
	cfg = cfg.withDefaults()
	return &Core{
		cfg:         cfg,
		hosts:       make(map[crawl.Host]*host),
		parts:       make(map[crawl.Partition]map[crawl.Host]*host),
		frozenParts: make(map[crawl.Partition]bool),
		visits:      make(map[uint64]*visit),
		addrs:       make(map[netip.Addr]*address),
		ready:       newBandQueue(cfg.Shares),
		shares:      newShares(cfg),
		narrowed:    !cfg.Forgive.IsZero(),
	}
}

// Has reports whether the host is in memory.
func (c *Core) Has(name crawl.Host) bool { return c.hosts[name] != nil }

// Places returns how many more hosts may be activated.
func (c *Core) Places() int {
	if c.bytes >= c.cfg.MaxBytes {
		return 0
	}
	return max(c.cfg.MaxActive-len(c.hosts), 0)
}

// Activate takes a host into memory. acquired is when this process got the authority over
// its partition, or when that of the last holder ended, and may be in the future: the last
// holder may have made a request just then, so the host's gap is counted from there,
// whatever its state says. It returns false if the host is in memory already; then the
// call changed nothing.
func (c *Core) Activate(now time.Time, q Queue, acquired time.Time) bool {
	if c.hosts[q.Host] != nil {
		return false
	}
	h := &host{
		name: q.Host, part: q.Partition, state: q.State, robots: q.Robots, acquired: acquired,
		taken:  q.Taken,
		cursor: q.Next, more: q.More, queued: q.Queued, fresh: crawl.Bands, saved: true,
	}
	h.timer.host = h
	c.believe(now, h)
	h.insert(believeItems(now, q.Items)...)
	if len(h.robots) > 0 {
		h.state.CrawlDelay = crawlDelay(h.robots, "")
	}
	c.pauseTaken(h)
	c.forgive(now, h)
	if (c.narrowed || q.Shorter) && h.state.NotBefore.Sub(now) > LoadAhead {
		c.shorten(now, h)
	}
	c.hosts[h.name] = h
	c.enter(now, h)
	if c.parts[h.part] == nil {
		c.parts[h.part] = make(map[crawl.Host]*host)
	}
	c.parts[h.part][h.name] = h
	c.classes[classNone]++
	c.weigh(h)
	c.place(now, h)
	return true
}

// Acquired counts the gaps of p's hosts in memory from at as well, as Activate does for
// hosts that are activated later.
func (c *Core) Acquired(now time.Time, p crawl.Partition, at time.Time) {
	for _, h := range c.sorted(p) {
		h.acquired, h.taken = crawl.Latest(h.acquired, at), crawl.Latest(h.taken, at)
		c.pauseTaken(h)
		c.place(now, h)
	}
}

// pauseTaken sets the pause that a request of somebody else, or of an earlier process, may need.
func (c *Core) pauseTaken(h *host) {
	if h.takenPause = 0; h.taken.IsZero() {
		return
	}
	for i := range h.items {
		h.takenPause = max(h.takenPause, c.cfg.Dispatcher.Pause(&h.items[i]))
	}
}

// GapsChanged says that the configured gaps have changed. A gap that grew applies after
// requests before the change as well: the time of those is not kept for each host, so each
// host waits its new gap from now, once, or its present wait, whichever is longer. For
// hosts that are activated later the caller does this with Activate. A gap that shrank applies
// from now on: every request was before now, so the new gap from now on is enough. Hosts that
// wait on disk get it when they are activated, which the caller may do at once.
func (c *Core) GapsChanged(now time.Time, grew bool) {
	var since time.Time
	if grew {
		c.widened, since = now, now
	}
	c.narrowed = true
	for _, p := range slices.Sorted(maps.Keys(c.parts)) {
		for _, h := range c.sorted(p) {
			c.shorten(now, h)
		}
		c.Acquired(now, p, since)
	}
	for _, ip := range slices.SortedFunc(maps.Keys(c.addrs), netip.Addr.Compare) {
		a := c.addrs[ip]
		if a == nil {
			continue // dropped meanwhile
		}
		if next := now.Add(c.cfg.Dispatcher.IPDelay(ip)); grew {
			a.next = next
		} else {
			a.next = earlier(a.next, next)
		}
		if h := a.holder; h == nil {
			c.passOn(now, a)
		} else if grew && !h.open {
			c.unclaim(now, h)
			c.place(now, h)
		}
	}
}

// HostGapsChanged says that the configured gaps of some hosts have changed, and those of
// addresses have not. change reports for each host whether its own has grown or shrunk. What
// follows is the same as with GapsChanged; the other hosts keep their times. A host waits anew,
// too, when the pause after the last URL that it was asked for has changed.
func (c *Core) HostGapsChanged(now time.Time, change func(crawl.Host) (grew, shrank bool)) {
	for _, p := range slices.Sorted(maps.Keys(c.parts)) {
		for _, h := range c.sorted(p) {
			grew, shrank := change(h.name)
			if h.last != nil {
				pause := c.cfg.Dispatcher.Pause(h.last)
				grew, shrank = grew || pause > h.paused, shrank || pause < h.paused
				h.paused = pause
			}
			if shrank {
				c.shorten(now, h)
			}
			if grew {
				h.acquired = crawl.Latest(h.acquired, now)
			}
			if grew || shrank {
				c.place(now, h)
			}
		}
	}
}

// ExcludeChanged says that the answers of Dispatcher.Excluded may have changed.
func (c *Core) ExcludeChanged(now time.Time) {
	for _, p := range slices.Sorted(maps.Keys(c.parts)) {
		for _, h := range c.sorted(p) {
			c.place(now, h)
		}
	}
}

// Offer answers a Refill.
func (c *Core) Offer(now time.Time, name crawl.Host, items []crawl.Item, next Cursor, more bool) {
	h := c.hosts[name]
	if h == nil {
		return
	}
	h.loading = false
	h.offered(believeItems(now, items))
	h.cursor, h.more = next, more || h.noted
	c.weigh(h)
	c.place(now, h)
}

// Counted sets how many URLs of a host are queued, as Queue.Queued does.
func (c *Core) Counted(name crawl.Host, queued int64) {
	if h := c.hosts[name]; h != nil {
		h.queued = queued
	}
}

// OfferFailed says that a Refill failed. It is requested again after a while.
func (c *Core) OfferFailed(now time.Time, name crawl.Host) {
	h := c.hosts[name]
	if h == nil {
		return
	}
	h.loading, h.ended, h.more, h.rewind = false, nil, true, true
	h.state.NotBefore = crawl.Latest(h.state.NotBefore, now.Add(2*LoadAhead))
	c.place(now, h)
}

// NoteQueued says that URLs were queued for a host, the best of them in band. It returns
// false if the host is not in memory.
func (c *Core) NoteQueued(now time.Time, name crawl.Host, band crawl.Band) bool {
	h := c.hosts[name]
	if h == nil {
		return false
	}
	h.more, h.noted = true, true
	h.fresh = min(h.fresh, band)
	c.place(now, h)
	return true
}

// Advance moves the hosts whose time has come by now. Next does the same.
func (c *Core) Advance(now time.Time) {
	c.lookAgain(now)
	for t := c.timers.due(now); t != nil; t = c.timers.due(now) {
		switch {
		case t.addr != nil:
			c.passOn(now, t.addr)
		case c.outstayed(t.host):
			c.leave(now, t.host)
		default:
			c.place(now, t.host)
		}
	}
}

// outstayed reports whether h has had nothing to do for too long: a dry host's timer is set
// only when nothing is under way for it.
func (c *Core) outstayed(h *host) bool { return h.status == Dry && !h.hasWork() }

// NextWake returns when Advance must be called next, or the zero time.
func (c *Core) NextWake() time.Time {
	at := c.timers.next()
	for _, look := range [...]time.Time{c.shares.lookAt, c.shares.lateAt} {
		if !look.IsZero() && (at.IsZero() || look.Before(at)) {
			at = look
		}
	}
	return at
}

// Actions returns the actions since the last call. The slice is the caller's.
func (c *Core) Actions() []Action {
	out := c.actions
	c.actions = nil
	return out
}

// Next hands out the next visit, if any host is ready at now. The caller sets Lease.Epoch.
func (c *Core) Next(now time.Time) (crawl.Visit, bool) {
	c.Advance(now)
	for h := c.nextReady(now); h != nil; h = c.nextReady(now) {
		// The facts may have changed since h was placed: a delay was raised, or an
		// address got one.
		i, _ := h.due(now)
		if i >= 0 && h.lent && h.items[i].Via == crawl.ViaGuest {
			if own := h.dueOf(now, false); own >= 0 {
				i = own
			}
		}
		if i >= 0 && (h.excluded || !c.start(h).After(now) && c.claim(now, h)) {
			return c.open(now, h, i), true
		}
		c.place(now, h)
	}
	return crawl.Visit{}, false
}

// open begins a visit of h for its ith item.
func (c *Core) open(now time.Time, h *host, i int) crawl.Visit {
	c.lastID++
	v := &visit{
		id:   c.lastID,
		host: h,
		item: h.items[i],
		open: true,
		cuts: c.shares.cuts.of(&h.items[i]),
	}
	v.retries = c.cfg.Dispatcher.Retries(&v.item)
	h.lent = v.item.Via == crawl.ViaGuest
	c.takeFetcher(now, v)
	h.items = slices.Delete(h.items, i, i+1)
	h.open, h.heldSince = true, 0
	h.turns++
	h.incomplete = append(h.incomplete, v)
	c.visits[v.id] = v
	out := crawl.Visit{
		Lease:  crawl.Lease{Partition: h.part, Host: h.name, Item: v.item},
		ID:     v.id,
		Addr:   h.addr(),
		Robots: h.robotsOf(v.item.URL.Origin(), now),
		Gap:    max(c.gap(h), c.cfg.Dispatcher.Pause(&v.item)),
		Domain: h.domain.Name(),

		Retries: v.retries,
	}
	switch {
	case h.excluded:
		out.Addr, out.Excluded = netip.Addr{}, true
	case !out.Addr.IsValid():
		out.NoAddr = h.noAddr
		fallthrough
	default:
		h.nameless = false
	}
	c.weigh(h)
	c.place(now, h)
	return out
}

// Release ends a visit's request: the host's gap counts from now. It returns the host's new
// state; false if the visit is not open any more, because its partition was dropped.
func (c *Core) Release(now time.Time, id uint64, r crawl.Response) (crawl.HostState, bool) {
	v := c.visits[id]
	if v == nil || !v.open {
		return crawl.HostState{}, false
	}
	h := v.host
	v.open, v.kind, v.ended = false, r.Kind, now
	h.open, h.saved = false, false
	if r.Requested && !h.acquired.After(now) {
		h.acquired, h.taken = time.Time{}, time.Time{} // the end of this request is later
	}
	if r.Robots != nil {
		h.robots = keepRobots(h.robots, r.Robots)
		c.weigh(h)
	}
	if r.HoldPages > 0 {
		h.pagesAfter = now.Add(r.HoldPages)
	}
	switch {
	case !r.Requested:
	case r.Kind == crawl.RobotsFetched, r.Kind == crawl.RobotsPending: // not the item was asked for
		h.last, h.paused = nil, 0
	default:
		c.pauseAfter(h, &v.item)
	}
	h.dead = c.observe(now, h, r)
	if r.Requested {
		h.requests++
		h.took += r.Took
	}
	h.limits.note(now, r.Kind, &v.item)
	c.noteFetch(now, v, &r)
	if _, more := again(v.item.Attempts, v.retries, r.Kind); !more && r.Kind == crawl.RateLimited {
		v.excused = h.limits.excuse(now)
	}
	if r.Kind == crawl.Fetched && v.item.Via != crawl.ViaSitemapFile && v.item.Via != crawl.ViaGuest {
		h.state.Pages++
		v.page = true
	}
	if a := h.turn; a != nil {
		if r.Requested {
			a.next = now.Add(c.cfg.Dispatcher.IPDelay(a.ip))
		}
		c.unclaim(now, h)
	} else if r.Requested {
		c.spaceFrom(now, h.addr())
	}
	switch r.Kind {
	case crawl.HostFailed:
		h.pick++
		h.errors++
		c.moveBlock(now, h)
	case crawl.URLFailed, crawl.RateLimited:
		h.errors++
	}
	c.place(now, h)
	return h.state, true
}

// observe applies an answer to h's state, the Crawl-delay of robots.txt first.
func (c *Core) observe(now time.Time, h *host, r crawl.Response) (dead bool) {
	k := rules{
		delay: c.delay(h), crawlDelay: h.state.CrawlDelay,
		maxFailures: c.cfg.MaxFailures, freeze: c.cfg.Freeze,
	}
	if r.Requested {
		k.pause = h.paused
	}
	if r.Robots != nil {
		h.state.CrawlDelay = crawlDelay(h.robots, "")
		k.crawlDelay = h.state.CrawlDelay
		if r.Kind == crawl.RobotsFetched && !r.Robots.TDMAsked {
			// The Crawl-delay of this robots.txt applies from the second request on, which is
			// that for tdmrep.json if it is wanted.
			k.crawlDelay = crawlDelay(h.robots, r.Robots.Origin)
		}
	}
	return observe(&h.state, now, r, k)
}

// pauseAfter notes the pause after a request for an item.
func (c *Core) pauseAfter(h *host, it *crawl.Item) {
	pause := c.cfg.Dispatcher.Pause(it)
	if pause <= 0 {
		h.last, h.paused = nil, 0
		return
	}
	h.last, h.paused = &crawl.Item{URL: it.URL, Via: it.Via}, pause
}

// HostState returns the state of a visit's host, to be written with the
// visit's record. Call it after Release and before Completed. Pages whose own record
// is not being written yet are left out: if the process ends now, they are fetched and
// counted by the next.
func (c *Core) HostState(id uint64) (crawl.HostState, bool) {
	v := c.visits[id]
	if v == nil {
		return crawl.HostState{}, false
	}
	// With two writes under way the older state may be written last.
	v.host.saved = len(v.host.incomplete) == 1
	s := v.host.state
	if !v.open {
		v.writing = true
		for _, o := range v.host.incomplete {
			if o.page && !o.writing {
				s.Pages--
			}
		}
	}
	return s, true
}

// Excused reports whether the visit's URL, which has had all its tries, is not given up for
// this 429 or 503, because the whole host answers so. Call it after Release and before
// Completed.
func (c *Core) Excused(id uint64) bool {
	v := c.visits[id]
	return v != nil && v.excused
}

// KeptOthers says for how long pages of other domains waited for the parser because of a
// visit's page. From heavyPage on its answer counts as slow. Call it after Release and
// before Completed.
func (c *Core) KeptOthers(id uint64, d time.Duration) {
	if v := c.visits[id]; v != nil {
		v.heavy = d >= heavyPage
	}
}

// Completed ends a visit: its record and queue entry are on disk. A visit that
// was not released is released as aborted.
func (c *Core) Completed(now time.Time, id uint64) {
	v := c.visits[id]
	if v == nil {
		return
	}
	if v.open {
		c.Release(now, id, crawl.Response{Kind: crawl.Aborted, Requested: true})
	}
	h := v.host
	delete(c.visits, id)
	c.noteCompleted(now, v)
	c.giveFetcher(now, v)
	c.shares.cuts.completed(&v.item, v.over && v.kind == crawl.Aborted)
	h.incomplete = slices.DeleteFunc(h.incomplete, func(o *visit) bool { return o == v })
	if h.loading {
		h.ended = append(h.ended, v.item.URL.String())
	}
	switch v.kind {
	case crawl.RobotsFetched, crawl.RobotsPending, crawl.HostFailed, crawl.Aborted, crawl.Lost:
		c.putBack(h, v)
	case crawl.URLFailed, crawl.RateLimited:
		if wait, more := again(v.item.Attempts, v.retries, v.kind); more || v.excused {
			v.item.Attempts++
			v.item.NotBefore = v.ended.Add(wait)
			c.putBack(h, v)
		}
	case crawl.Fetched, crawl.Refused, crawl.Blocked:
	}
	c.weigh(h)
	c.place(now, h)
}

// putBack takes the item of a visit into memory again whose queue entry on disk is unchanged. While
// too many wait for their next try, it is read again later. A robots fetch has no entry, and a
// deleted URL has none any more.
func (c *Core) putBack(h *host, v *visit) {
	if v.item.Via.Errand() || v.deleted {
		return
	}
	if len(h.items) >= 4*c.cfg.ItemsPerHost {
		h.rewind = true
		return
	}
	h.insert(v.item)
}

// Counts counts the hosts in memory, without looking at them.
func (c *Core) Counts() Counts {
	return Counts{
		Active: len(c.hosts), InFlight: c.classes[classInFlight], Ready: c.classes[classReady],
		Waiting: c.classes[classWaiting], Backoff: c.classes[classBackoff],
		Frozen:     c.classes[classFrozen],
		Incomplete: len(c.visits), OverShare: c.classes[classOverShare],
	}
}
