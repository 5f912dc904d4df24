package core

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// The model is a web and a disk of its own: it keeps, by naive means, what each
// host has queued and when its next request may come, and judges each visit.

type modelHost struct {
	name    crawl.Host
	part    crawl.Partition
	addr    netip.Addr
	queue   []crawl.Item // what is on disk, by band and sequence
	state   crawl.HostState
	seq     uint64
	delay   time.Duration // Crawl-delay of its robots.txt
	robots  []*crawl.Robots
	open    *modelVisit
	earlier []*modelVisit // released, not completed
	allowed time.Time     // earliest start of the next request, by the model
	held    time.Time     // end of the last Retry-After
	own     time.Duration // its configured delay; below 0: that of all
	widened time.Time     // when it grew last
	shrunk  bool          // it has become smaller
	pause   time.Duration // that of the last URL
	took    time.Duration // the last request took
	ended   time.Time     // of the last request
	backoff time.Duration
	fetched map[urlnorm.URL]int
	pages   int64                    // records of pages that were written
	stood   map[urlnorm.URL][]uint64 // numbers of the places from which a URL was moved

	refill    *Action
	early     func() // answers it with what was queued when it was asked for; nil: it reads later
	resolving bool
}

type modelVisit struct {
	crawl.Visit
	response crawl.Response
}

type model struct {
	fakeRules
	t       *testing.T
	rng     *rand.Rand
	core    *Core
	now     time.Time
	hosts   []*modelHost
	byName  map[crawl.Host]*modelHost
	addrs   map[netip.Addr]time.Time // earliest start of the next request there
	quiet   map[netip.Addr]time.Time // end of the last request there
	widened time.Time                // when the configured gaps grew last
	busy    map[netip.Addr]int
	away    map[netip.Addr]bool // it is another node's turn there
	idle    map[netip.Addr]bool // no host needs it
	queued  int
	visits  int
}

func newModel(t *testing.T, seed uint64) *model {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := &model{
		t: t, rng: rng, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		fakeRules: fakeRules{
			delay:   time.Duration(rng.IntN(3)) * 500 * time.Millisecond,
			ipDelay: time.Duration(rng.IntN(3)) * 100 * time.Millisecond,
		},
		byName: map[crawl.Host]*modelHost{}, addrs: map[netip.Addr]time.Time{},
		quiet: map[netip.Addr]time.Time{}, busy: map[netip.Addr]int{},
		away: map[netip.Addr]bool{}, idle: map[netip.Addr]bool{},
	}
	m.core = New(Config{
		Dispatcher:   m,
		Turns:        m,
		MaxActive:    6,
		ItemsPerHost: 3,
		Quantum:      4,
	})
	for i := range 1 + rng.IntN(12) {
		h := &modelHost{
			name: crawl.Host(fmt.Sprintf("h%d.test", i)), part: crawl.Partition(i % 3),
			fetched: map[urlnorm.URL]int{}, stood: map[urlnorm.URL][]uint64{},
			addr:  netip.AddrFrom4([4]byte{10, 0, 0, byte(rng.IntN(4))}),
			delay: time.Duration(rng.IntN(3)) * time.Second, own: -1,
		}
		m.hosts = append(m.hosts, h)
		m.byName[h.name] = h
	}
	return m
}

func (m *model) Delay(h crawl.Host, _ netip.Addr) time.Duration { return m.delayOf(m.byName[h]) }
func (*model) Pause(it *crawl.Item) time.Duration               { return pauseOf(it) }
func (*model) LongestPause(crawl.Host) time.Duration            { return modelPause }

func (m *model) Turn(ip netip.Addr) (wait time.Duration, ok bool) {
	m.idle[ip] = false
	return 0, !m.away[ip]
}

func (m *model) Idle(ip netip.Addr) { m.idle[ip] = true }

// modelPause is the pause after some URLs.
const modelPause = 3 * time.Second

func pauseOf(it *crawl.Item) time.Duration {
	if strings.HasSuffix(it.URL.Path(), "7") {
		return modelPause
	}
	return 0
}

func (m *model) delayOf(h *modelHost) time.Duration {
	if h.own >= 0 {
		return h.own
	}
	return m.delay
}

func (m *model) queue(h *modelHost, n int) {
	best := crawl.Band(crawl.Bands)
	for range n {
		h.seq++
		u, err := urlnorm.Parse(fmt.Sprintf("http://%s/%d", h.name, h.seq))
		if err != nil {
			m.t.Fatal(err)
		}
		it := crawl.Item{URL: u, Seq: h.seq, Band: crawl.Band(m.rng.IntN(crawl.Bands))}
		best = min(best, it.Band)
		i, _ := slices.BinarySearchFunc(h.queue, it, compareItems)
		h.queue = slices.Insert(h.queue, i, it)
		m.queued++
	}
	m.core.NoteQueued(m.now, h.name, best)
}

// raise moves a queued URL to a better band, also one that is in memory or being visited.
func (m *model) raise(h *modelHost) {
	if len(h.queue) == 0 {
		return
	}
	i := m.rng.IntN(len(h.queue))
	it := h.queue[i]
	if it.Band == 0 {
		return
	}
	h.queue = slices.Delete(h.queue, i, i+1)
	h.stood[it.URL] = append(h.stood[it.URL], it.Seq)
	h.seq++
	it.Band, it.Seq = crawl.Band(m.rng.IntN(int(it.Band))), h.seq
	i, _ = slices.BinarySearchFunc(h.queue, it, compareItems)
	h.queue = slices.Insert(h.queue, i, it)
	m.core.NoteQueued(m.now, h.name, it.Band)
}

// load reads the model's disk as the frontier does.
func (h *modelHost) load(after Cursor, n int) (items []crawl.Item, next Cursor, more bool) {
	next = after
	for _, it := range h.queue {
		if it.Seq < after[it.Band] {
			continue
		}
		if len(items) == n {
			return items, next, true
		}
		items = append(items, it)
		next[it.Band] = it.Seq + 1
	}
	return items, next, false
}

func (m *model) actions() {
	for _, a := range m.core.Actions() {
		h := m.byName[a.Host]
		switch a.Kind {
		case Refill:
			if h.refill != nil {
				m.t.Fatalf("%s: a second refill is asked for while one is under way", h.name)
			}
			h.refill, h.early = &a, nil
			if m.rng.IntN(2) == 0 {
				items, next, more := h.load(a.After, a.N)
				h.early = func() { m.core.Offer(m.now, h.name, items, next, more) }
			}
		case Resolve:
			if h.resolving {
				m.t.Fatalf("%s: resolved twice at a time", h.name)
			}
			h.resolving = true
		case Park:
			h.state = a.State
		case Dead:
			m.t.Fatalf("%s died in a web without failures", h.name)
		}
	}
}

func (m *model) step() {
	h := m.hosts[m.rng.IntN(len(m.hosts))]
	switch m.rng.IntN(14) {
	case 0:
		m.queue(h, 1+m.rng.IntN(4))
	case 1, 2:
		if m.core.Places() > 0 && !m.core.Has(h.name) && len(h.queue) > 0 {
			m.activate(h)
		}
	case 3:
		if h.refill != nil {
			m.offer(h)
		}
	case 4:
		if h.resolving {
			h.resolving = false
			if m.rng.IntN(4) == 0 {
				m.core.Unanswered(m.now, h.name, m.now, nil)
			} else {
				m.core.Resolved(m.now, h.name, []netip.Addr{h.addr},
					m.now.Add(time.Duration(m.rng.IntN(20))*time.Second), nil)
			}
		}
	case 5, 6:
		m.next()
	case 7, 8:
		m.release(h)
	case 9:
		m.complete(h)
	case 10:
		m.now = m.now.Add(time.Duration(m.rng.IntN(800)) * time.Millisecond)
		m.core.Advance(m.now)
	case 11:
		m.leave(h)
	case 12:
		if m.rng.IntN(10) == 0 {
			m.change()
		}
		m.takeTurns(h.addr)
	case 13:
		m.raise(h)
	}
	m.actions()
	m.check()
}

// takeTurns makes an address another node's, or again this node's.
func (m *model) takeTurns(ip netip.Addr) {
	if m.ipDelay == 0 {
		return
	}
	if m.away[ip] = !m.away[ip]; !m.away[ip] {
		m.core.TurnCame(m.now, ip)
	}
}

// change sets other gaps. Spacing of addresses is neither begun nor ended: requests
// that are open at the time may be too many then, see TestGapsThatGrow.
func (m *model) change() {
	if m.rng.IntN(2) == 0 {
		m.changeOne()
		return
	}
	delay, ipDelay := m.delay, m.ipDelay
	m.delay = time.Duration(m.rng.IntN(5)) * 500 * time.Millisecond
	if m.ipDelay > 0 {
		m.ipDelay = time.Duration(1+m.rng.IntN(4)) * 100 * time.Millisecond
	}
	grew := m.delay > delay || m.ipDelay > ipDelay
	if grew {
		m.widened = m.now
	}
	// what a longer delay has left is over, after the new one at the latest
	for _, h := range m.hosts {
		m.shorten(h)
	}
	for ip, next := range m.addrs {
		m.addrs[ip] = earlier(next, m.now.Add(m.ipDelay))
	}
	m.core.GapsChanged(m.now, grew)
}

// changeOne gives one host another delay of its own, or takes it away. The others keep their times.
func (m *model) changeOne() {
	h := m.hosts[m.rng.IntN(len(m.hosts))]
	before := m.delayOf(h)
	if h.own = time.Duration(m.rng.IntN(6)) * 500 * time.Millisecond; m.rng.IntN(3) == 0 {
		h.own = -1
	}
	after := m.delayOf(h)
	if after > before {
		h.widened = m.now
	}
	if after < before {
		h.shrunk = true
		m.shorten(h)
	}
	starts := map[crawl.Host]time.Time{}
	for name, c := range m.core.hosts {
		starts[name] = m.core.start(c)
	}
	m.core.HostGapsChanged(m.now, func(name crawl.Host) (bool, bool) {
		return name == h.name && after > before, name == h.name && after < before
	})
	for name, c := range m.core.hosts {
		if start := m.core.start(c); name != h.name && !start.Equal(starts[name]) {
			m.t.Fatalf("%s waits until %v, not %v: its delay is the same", name, start, starts[name])
		}
	}
}

// shorten ends what a longer delay of a host has left.
func (m *model) shorten(h *modelHost) {
	wait := max(m.delayOf(h), 2*h.took, h.backoff, h.pause)
	if len(h.robots) > 0 {
		wait = max(wait, h.delay)
	}
	h.allowed = earlier(h.allowed, m.now.Add(wait))
}

func (m *model) activate(h *modelHost) {
	items, next, more := h.load(Cursor{}, 3)
	// A host that leaves memory forgets what it asked for.
	h.refill, h.resolving = nil, false
	if !m.core.Activate(m.now, Queue{
		Partition: h.part,
		Host:      h.name,
		State:     h.state,
		Robots:    h.robots,
		Items:     items,
		Next:      next,
		More:      more,
		Shorter:   h.shrunk,
	}, crawl.Latest(m.widened, h.widened)) {
		m.t.Fatalf("%s is in memory", h.name)
	}
}

func (m *model) offer(h *modelHost) {
	a := h.refill
	h.refill = nil
	if m.rng.IntN(10) == 0 {
		m.core.OfferFailed(m.now, h.name)
		return
	}
	if h.early != nil {
		h.early()
		return
	}
	items, next, more := h.load(a.After, a.N)
	m.core.Offer(m.now, h.name, items, next, more)
}

func (m *model) leave(h *modelHost) {
	switch m.rng.IntN(30) {
	case 0:
		m.park(m.core.Evict(m.now, 1+m.rng.IntN(3)))
	case 1:
		m.core.Freeze(m.now, h.part)
		m.core.Unfreeze(m.now, h.part)
	case 2:
		m.core.Freeze(m.now, h.part)
		if open, released := m.core.Open(h.part); len(open)+len(released) > 0 {
			m.core.Unfreeze(m.now, h.part)
			return
		}
		m.park(m.core.Drop(m.now, h.part))
	}
}

func (m *model) park(parked []Parked) {
	for _, p := range parked {
		h := m.byName[p.Host]
		if h.open != nil || len(h.earlier) > 0 {
			m.t.Fatalf("%s left memory with visits", h.name)
		}
		h.state, h.refill, h.resolving = p.State, nil, false
	}
}

func (m *model) next() {
	v, ok := m.core.Next(m.now)
	if !ok {
		m.nothingDue()
		return
	}
	m.visits++
	h := m.byName[v.Host]
	switch {
	case h.open != nil:
		m.t.Fatalf("%s has a second open visit", h.name)
	case m.ipDelay > 0 && m.away[v.Addr]:
		m.t.Fatalf("%v is visited, and it is another node's turn", v.Addr)
	case m.now.Before(h.allowed):
		m.t.Fatalf("%s is visited %v too early", h.name, h.allowed.Sub(m.now))
	case m.now.Before(h.held):
		m.t.Fatalf("%s is visited %v before the end of its Retry-After", h.name, h.held.Sub(m.now))
	case !h.ended.IsZero() && m.now.Before(h.ended.Add(max(m.delayOf(h), h.pause))):
		m.t.Fatalf(
			"%s is visited %v after its last request, and the delay is %v now, the pause after its URL %v",
			h.name, m.now.Sub(h.ended), m.delayOf(h), h.pause)
	case m.ipDelay > 0 && m.now.Before(m.quiet[v.Addr].Add(m.ipDelay)):
		m.t.Fatalf("%v is visited %v after its last request, and the delay is %v now", v.Addr,
			m.now.Sub(m.quiet[v.Addr]), m.ipDelay)
	case v.Addr != h.addr:
		m.t.Fatalf("%s is visited at %v, not %v", h.name, v.Addr, h.addr)
	case v.Item.NotBefore.After(m.now):
		m.t.Fatalf("%v is visited before its time", v.Item.URL)
	case m.ipDelay > 0 && m.busy[v.Addr] > 0:
		m.t.Fatalf("%v has a second open visit", v.Addr)
	case m.ipDelay > 0 && m.now.Before(m.addrs[v.Addr]):
		m.t.Fatalf("%v is visited %v too early", v.Addr, m.addrs[v.Addr].Sub(m.now))
	}
	if !slices.ContainsFunc(h.queue, func(it crawl.Item) bool {
		return it.URL == v.Item.URL &&
			(it.Seq == v.Item.Seq || slices.Contains(h.stood[it.URL], v.Item.Seq)) &&
			it.Attempts == v.Item.Attempts
	}) {
		m.t.Fatalf("%v is not queued", v.Item.URL)
	}
	if slices.ContainsFunc(h.earlier, func(o *modelVisit) bool { return o.Item.URL == v.Item.URL }) {
		m.t.Fatalf("%v is visited while its last visit is not completed", v.Item.URL)
	}
	m.busy[v.Addr]++
	h.open = &modelVisit{Visit: v}
}

// nothingDue checks that Next had no reason to hold anything back: each host
// in memory waits for its time, an answer from outside, or its address.
func (m *model) nothingDue() {
	for _, h := range m.hosts {
		c := m.core.hosts[h.name]
		if c == nil || h.open != nil || c.resolving || m.now.Before(h.allowed) || m.now.Before(h.held) ||
			m.now.Before(c.state.NotBefore) || m.now.Before(c.nameAt) ||
			m.now.Before(m.core.lastHolderGapEnd(c)) {
			continue
		}
		if a := m.core.addrs[h.addr]; a != nil && a.next.After(m.now) {
			continue
		}
		if i, _ := c.due(m.now); i < 0 {
			continue
		}
		if m.ipDelay > 0 && (m.away[h.addr] || m.busy[h.addr] > 0 || m.now.Before(m.addrs[h.addr])) {
			continue
		}
		if c.turn != nil && c.turn.holder != nil && c.turn.holder.resolving {
			continue // whose turn it is looks its address up once more
		}
		m.t.Fatalf("%s (%v) could be visited, and is not", h.name, c.status)
	}
	if w := m.core.NextWake(); !w.IsZero() && !w.After(m.now) {
		m.t.Fatalf("NextWake is %v ago", m.now.Sub(w))
	}
}

func (m *model) release(h *modelHost) {
	if h.open == nil {
		return
	}
	v := h.open
	h.open = nil
	took := time.Duration(m.rng.IntN(700)) * time.Millisecond
	r := crawl.Response{Kind: crawl.Fetched, Requested: true, Took: took}
	crawlDelay := h.delay
	switch {
	case v.Robots == nil:
		r.Kind = crawl.RobotsFetched
		r.Robots = &crawl.Robots{
			Origin:     v.Item.URL.Origin(),
			Fetched:    m.now,
			Expires:    m.now.Add(24 * time.Hour),
			CrawlDelay: h.delay,
		}
		h.robots, crawlDelay = []*crawl.Robots{r.Robots}, 0
	case m.rng.IntN(8) == 0:
		r.Kind = crawl.URLFailed
	case m.rng.IntN(8) == 0:
		r = crawl.Response{Kind: crawl.Refused}
	case m.rng.IntN(8) == 0:
		r.Kind = crawl.Aborted
	case m.rng.IntN(8) == 0:
		r.Kind, r.RetryAfter = crawl.RateLimited, time.Duration(m.rng.IntN(3))*5*time.Second
	}
	m.busy[v.Addr]--
	v.response = r
	if _, ok := m.core.Release(m.now, v.ID, r); !ok {
		m.t.Fatalf("visit %d of %s is not known", v.ID, h.name)
	}
	m.judge(h, v, crawlDelay)
	h.earlier = append(h.earlier, v)
}

// judge moves the model's own clockwork on.
func (m *model) judge(h *modelHost, v *modelVisit, crawlDelay time.Duration) {
	r := v.response
	if !r.Requested {
		return
	}
	if h.pause = 0; r.Kind != crawl.RobotsFetched && r.Kind != crawl.RobotsPending {
		h.pause = pauseOf(&v.Item)
	}
	owed := max(m.delayOf(h), 2*r.Took, time.Second)
	if len(h.robots) > 0 {
		owed = max(owed, h.delay)
	}
	switch {
	case r.Kind == crawl.RateLimited && r.RetryAfter == 0:
		h.backoff = 2 * max(h.backoff, owed)
	case r.Kind == crawl.Fetched || r.Kind == crawl.RobotsFetched:
		if h.backoff /= 2; h.backoff <= owed {
			h.backoff = 0
		}
	}
	h.took = r.Took
	h.allowed = crawl.Latest(h.allowed,
		m.now.Add(max(m.delayOf(h), crawlDelay, 2*r.Took, h.backoff, h.pause)))
	h.held = crawl.Latest(h.held, m.now.Add(r.RetryAfter))
	m.addrs[v.Addr] = m.now.Add(m.ipDelay)
	h.ended, m.quiet[v.Addr] = m.now, m.now
}

func (m *model) complete(h *modelHost) {
	if len(h.earlier) == 0 {
		return
	}
	i := m.rng.IntN(len(h.earlier))
	v := h.earlier[i]
	excused := m.core.Excused(v.ID)
	h.earlier = slices.Delete(h.earlier, i, i+1)
	if s, ok := m.core.HostState(v.ID); ok && v.response.Kind != crawl.Aborted {
		h.state = s
		if v.response.Kind == crawl.Fetched && v.Item.Via != crawl.ViaSitemapFile {
			h.pages++
		}
		if s.Pages != h.pages {
			m.t.Fatalf("%s: %d pages are in the state that is written, %d have a record", h.name, s.Pages,
				h.pages)
		}
	}
	at := slices.IndexFunc(h.queue, func(it crawl.Item) bool { return it.URL == v.Item.URL })
	switch v.response.Kind {
	case crawl.Fetched, crawl.Refused:
		h.queue = slices.Delete(h.queue, at, at+1)
		h.fetched[v.Item.URL]++
	case crawl.URLFailed, crawl.RateLimited:
		wait, again := Again(&v.Visit, v.response.Kind)
		h.queue[at].Attempts++
		h.queue[at].NotBefore = m.now.Add(wait)
		if !again && !excused {
			h.queue = slices.Delete(h.queue, at, at+1)
			h.fetched[v.Item.URL]++
		}
	}
	m.core.Completed(m.now, v.ID)
}

// check holds the Core's books against each other.
func (m *model) check() {
	c := m.core
	counts := c.Counts()
	if n := len(c.hosts); n > 6+1 || n != counts.Active {
		m.t.Fatalf("%d hosts in memory, counted %d, bound 6", n, counts.Active)
	}
	var classes [numClasses]int
	bytes := 0
	for name, h := range c.hosts {
		classes[h.class]++
		bytes += h.bytes
		if len(h.items) > 5*c.cfg.ItemsPerHost {
			m.t.Fatalf("%s has %d items in memory", name, len(h.items))
		}
		if !slices.IsSortedFunc(h.items, compareItems) {
			m.t.Fatalf("%s: items out of order", name)
		}
		if (h.line != nil) != (h.status == Ready || h.status == AddressWait || h.status == OverShare) {
			m.t.Fatalf("%s is %v, in line %v", name, h.status, h.line != nil)
		}
		if h.timer.isSet() && h.status != Waiting && h.status != Dry ||
			!h.timer.isSet() && h.status == Waiting {
			m.t.Fatalf("%s is %v, timer %v", name, h.status, h.timer.isSet())
		}
	}
	if classes != c.classes || bytes != c.bytes {
		m.t.Fatalf("classes %v, counted %v; bytes %d, counted %d", classes, c.classes, bytes, c.bytes)
	}
}

// TestModel plays random crawls and then lets each come to its end: every URL
// that was queued is done.
func TestModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		m := newModel(t, seed)
		for _, h := range m.hosts {
			m.queue(h, m.rng.IntN(12))
		}
		for range 1500 {
			m.step()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		m.finish(seed)
	}
}

func (m *model) finish(seed uint64) {
	for _, h := range m.hosts {
		if m.away[h.addr] {
			m.takeTurns(h.addr)
		}
	}
	left := 0
	for range 20_000 {
		left = 0
		for _, h := range m.hosts {
			left += len(h.queue)
			if !m.core.Has(h.name) && len(h.queue) > 0 {
				if m.core.Places() == 0 {
					m.park(m.core.Evict(m.now, 1))
				}
				if m.core.Places() > 0 {
					m.activate(h)
				}
			}
			if h.refill != nil && m.core.Has(h.name) {
				m.offer(h)
			}
			if h.resolving {
				h.resolving = false
				m.core.Resolved(m.now, h.name, []netip.Addr{h.addr}, m.now.Add(time.Minute), nil)
			}
			m.release(h)
			m.complete(h)
			m.actions()
		}
		if left == 0 {
			break
		}
		m.next()
		m.now = m.now.Add(time.Duration(m.rng.IntN(500)) * time.Millisecond)
		m.actions()
		m.check()
	}
	if left > 0 {
		for _, h := range m.hosts {
			m.t.Logf("%s: %d left, in memory: %v", h.name, len(h.queue), m.core.Has(h.name))
		}
		m.t.Fatalf("seed %d: %d URLs were never done", seed, left)
	}
	m.core.Advance(m.now.Add(time.Minute))
	for ip, idle := range m.idle {
		if !idle && m.core.addrs[ip] == nil {
			m.t.Fatalf("seed %d: nobody needs %v, and nobody was told", seed, ip)
		}
	}
	for _, h := range m.hosts {
		for u, n := range h.fetched {
			if n != 1 {
				m.t.Fatalf("seed %d: %v was done %d times", seed, u, n)
			}
		}
	}
}
