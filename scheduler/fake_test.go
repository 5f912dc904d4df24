package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/dnscache"
	"crawlnode/frontier"
	"crawlnode/settings/sites"
	"crawlnode/web/urlnorm"
)

// fakeDisk is a frontier in a map, with configurable delays.
type fakeDisk struct {
	mu        sync.Mutex // guards the rest
	hosts     map[crawl.Host]*fakeHost
	queued    func([]frontier.QueuedHost)
	parked    int
	failed    map[crawl.Host]int
	reasons   map[crawl.Host]string
	loadDelay time.Duration
	seq       uint64

	parkDelay time.Duration // in place of loadDelay
	moreDelay time.Duration // of Waiting, unless it begins at the start
	reading   atomic.Int64  // such calls that run
	uncounted bool          // Meta's counters are zero
	failing   func()        // called at the end of FailHost
}

type fakeHost struct {
	partition crawl.Partition
	state     crawl.HostState
	robots    []*crawl.Robots
	items     []crawl.Item // by band and sequence
	// index is the host's time in the wake index: the time when the host left memory; nil if it
	// never did.
	index *time.Time
}

// place puts the host's current time into the wake index.
func (h *fakeHost) place() {
	t := crawl.Latest(crawl.Latest(h.state.NotBefore, h.state.FrozenUntil),
		crawl.Latest(h.state.HoldUntil, h.state.BlockedUntil))
	h.index = &t
}

func newFakeDisk() *fakeDisk {
	return &fakeDisk{
		hosts:     map[crawl.Host]*fakeHost{},
		failed:    map[crawl.Host]int{},
		reasons:   map[crawl.Host]string{},
		loadDelay: time.Millisecond,
	}
}

// add queues n pages of a host.
func (s *fakeDisk) add(p crawl.Partition, host crawl.Host, band crawl.Band, n int) {
	s.mu.Lock()
	h := s.hosts[host]
	if h == nil {
		h = &fakeHost{partition: p}
		s.hosts[host] = h
	}
	for range n {
		s.seq++
		u, err := urlnorm.Parse(fmt.Sprintf("http://%s/%d", host, s.seq))
		if err != nil {
			panic(err)
		}
		h.items = append(h.items, crawl.Item{URL: u, Band: band, Seq: s.seq})
	}
	slices.SortStableFunc(h.items, func(a, b crawl.Item) int { return int(a.Band) - int(b.Band) })
	s.mu.Unlock()
	if s.queued != nil {
		s.queued([]frontier.QueuedHost{{Partition: p, Host: host, Band: band}})
	}
}

func (s *fakeDisk) left() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hosts {
		n += len(h.items)
	}
	return n
}

// of counts the queued URLs of a host.
func (s *fakeDisk) of(host crawl.Host) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hosts[host].items)
}

func (s *fakeDisk) Meta(p crawl.Partition) (frontier.Meta, bool) {
	m := frontier.Meta{Partition: p, Epoch: 7, State: frontier.Holder}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hosts {
		if h.partition == p && !s.uncounted {
			m.Counters.Queued[0] += int64(len(h.items))
		}
	}
	return m, true
}

func (s *fakeDisk) Load(
	p crawl.Partition,
	host crawl.Host,
	after frontier.Cursor,
	n int,
) (frontier.HostQueue, error) {
	time.Sleep(s.loadDelay)
	s.mu.Lock()
	defer s.mu.Unlock()
	q := frontier.HostQueue{Partition: p, Host: host, Next: after}
	h := s.hosts[host]
	if h == nil {
		return q, nil
	}
	q.State, q.Robots = h.state, h.robots
	for _, it := range h.items {
		if it.Seq < after[it.Band] {
			continue
		}
		if len(q.Items) == n {
			q.More = true
			break
		}
		q.Items = append(q.Items, it)
		q.Next[it.Band] = it.Seq + 1
	}
	return q, nil
}

func (s *fakeDisk) Host(
	_ crawl.Partition,
	host crawl.Host,
) (st crawl.HostState, queued [crawl.Bands]int64, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.hosts[host]; h != nil {
		return h.state, queued, true, nil
	}
	return st, queued, false, nil
}

func (s *fakeDisk) Record(_ crawl.Partition, u urlnorm.URL) (crawl.Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.hosts[crawl.Host(u.Host())]; h != nil {
		for _, it := range h.items {
			if it.URL == u {
				return crawl.Record{Item: it, State: crawl.Queued}, true, nil
			}
		}
	}
	return crawl.Record{}, false, nil
}

func (s *fakeDisk) Waiting(
	p crawl.Partition,
	from frontier.WakeCursor,
	n int,
) ([]frontier.Wake, frontier.WakeCursor, error) {
	time.Sleep(s.loadDelay)
	if from != "" {
		s.reading.Add(1)
		time.Sleep(s.moreDelay)
		s.reading.Add(-1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	type entry struct {
		key  string
		wake frontier.Wake
	}
	var all []entry
	for name, h := range s.hosts {
		if h.partition != p || len(h.items) == 0 {
			continue
		}
		if h.index == nil {
			h.place()
		}
		w := frontier.Wake{Host: name, Band: h.items[0].Band, NotBefore: *h.index}
		ms := int64(0)
		if !w.NotBefore.IsZero() {
			ms = w.NotBefore.UnixMilli() + 1
		}
		all = append(all, entry{fmt.Sprintf("%d/%020d/%s", w.Band, ms, name), w})
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	var out []frontier.Wake
	for _, e := range all {
		if len(out) < n && e.key > string(from) {
			out, from = append(out, e.wake), frontier.WakeCursor(e.key)
		}
	}
	return out, from, nil
}

func (s *fakeDisk) SetDelay(
	_ context.Context,
	_ crawl.Partition,
	host crawl.Host,
	d time.Duration,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[host]
	if h == nil {
		return crawl.ErrUnknownHost
	}
	h.state.AskedDelay = d
	return nil
}

func (s *fakeDisk) Park(ctx context.Context, hosts []frontier.Parked) error {
	if !sleep(ctx, max(s.parkDelay, s.loadDelay)) {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range hosts {
		if s.parked++; s.hosts[p.Host] == nil {
			continue // nothing of it is queued
		}
		p.State.AskedDelay = s.hosts[p.Host].state.AskedDelay
		p.State.BlockedUntil = s.hosts[p.Host].state.BlockedUntil
		s.hosts[p.Host].state = p.State
		s.hosts[p.Host].place()
	}
	return nil
}

func (s *fakeDisk) Block(
	_ context.Context,
	_ crawl.Partition,
	host crawl.Host,
	until time.Time,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts[host] == nil {
		return crawl.ErrUnknownHost
	}
	s.hosts[host].state.BlockedUntil = until
	s.hosts[host].place()
	return nil
}

func (s *fakeDisk) FailHost(
	_ context.Context,
	_ crawl.Partition,
	host crawl.Host,
	reason string,
) (int, error) {
	if s.failing != nil {
		defer s.failing()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.hosts[host].items)
	s.hosts[host].items = nil
	s.failed[host] += n
	s.reasons[host] = reason
	return n, nil
}

// givenUp returns how many URLs of each host were given up, and why.
func (s *fakeDisk) givenUp() (map[crawl.Host]int, map[crawl.Host]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.failed), maps.Clone(s.reasons)
}

// complete is the part of Complete that concerns a visit.
func (s *fakeDisk) complete(
	v crawl.Visit,
	r crawl.Response,
	state crawl.HostState,
	retryAt time.Time,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[v.Host]
	i := slices.IndexFunc(h.items, func(it crawl.Item) bool { return it.Seq == v.Item.Seq })
	if i < 0 {
		return fmt.Errorf("%v is not queued: it was handed out twice", v.Item.URL)
	}
	if r.Kind == crawl.Aborted {
		return nil
	}
	h.state = state
	switch r.Kind {
	case crawl.RobotsFetched:
		h.robots = []*crawl.Robots{r.Robots}
	case crawl.Fetched, crawl.Refused:
		h.items = slices.Delete(h.items, i, i+1)
	case crawl.URLFailed, crawl.RateLimited:
		h.items[i].Attempts++
		h.items[i].NotBefore = retryAt
		if retryAt.IsZero() {
			h.items = slices.Delete(h.items, i, i+1)
		}
	case crawl.HostFailed, crawl.Aborted:
	}
	return nil
}

// fakeWeb answers requests and checks their politeness, as a web server would.
type fakeWeb struct {
	t     *testing.T
	delay time.Duration
	took  time.Duration
	// answer may replace the answer to a visit.
	answer func(ctx context.Context, v crawl.Visit) (crawl.Response, bool)

	mu      sync.Mutex // guards the rest
	open    map[crawl.Host]bool
	ended   map[crawl.Host]time.Time
	fetched map[string]int
	robots  int
	maxOpen int
	nOpen   int
}

func newFakeWeb(t *testing.T, delay, took time.Duration) *fakeWeb {
	return &fakeWeb{
		t:       t,
		delay:   delay,
		took:    took,
		open:    map[crawl.Host]bool{},
		ended:   map[crawl.Host]time.Time{},
		fetched: map[string]int{},
	}
}

func (w *fakeWeb) get(ctx context.Context, v crawl.Visit) crawl.Response {
	switch {
	case v.Excluded:
		return crawl.Response{Kind: crawl.Refused}
	case !v.Addr.IsValid():
		return crawl.Response{Kind: crawl.HostFailed}
	}
	w.arrive(v.Host)
	defer w.leave(v.Host)
	start := time.Now()
	if w.answer != nil {
		if r, ok := w.answer(ctx, v); ok {
			return r
		}
	}
	if !sleep(ctx, w.took) {
		return crawl.Response{Kind: crawl.Aborted, Requested: true, Took: time.Since(start)}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r := crawl.Response{Kind: crawl.Fetched, Requested: true, Took: time.Since(start)}
	if v.Robots == nil {
		w.robots++
		r.Kind = crawl.RobotsFetched
		r.Robots = &crawl.Robots{
			Origin:  v.Item.URL.Origin(),
			Verdict: crawl.RobotsAllowAll,
			Fetched: start,
			Expires: start.Add(24 * time.Hour),
		}
		return r
	}
	w.fetched[v.Item.URL.String()]++
	return r
}

func (w *fakeWeb) arrive(h crawl.Host) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[h] {
		w.t.Errorf("%s has two requests open", h)
	}
	if end, ok := w.ended[h]; ok && time.Since(end) < w.delay {
		w.t.Errorf("%s was asked again after %v, the delay is %v", h, time.Since(end), w.delay)
	}
	w.open[h] = true
	w.nOpen++
	w.maxOpen = max(w.maxOpen, w.nOpen)
}

func (w *fakeWeb) leave(h crawl.Host) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[h], w.ended[h] = false, time.Now()
	w.nOpen--
}

func (w *fakeWeb) pages() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for u, times := range w.fetched {
		if times != 1 {
			w.t.Errorf("%s was fetched %d times", u, times)
		}
		n += times
	}
	return n
}

// openNow counts the open requests.
func (w *fakeWeb) openNow() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nOpen
}

func (w *fakeWeb) robotsFetched() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.robots
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// fakeResolver knows every name, except those in the map.
type fakeResolver struct{ unknown map[string]bool }

func (r fakeResolver) Lookup(ctx context.Context, host string) (dnscache.Answer, error) {
	if !sleep(ctx, 20*time.Millisecond) {
		return dnscache.Answer{}, ctx.Err()
	}
	if r.unknown[host] {
		return dnscache.Answer{}, errors.New("no such name")
	}
	return dnscache.Answer{
		Addrs:   []netip.Addr{netip.MustParseAddr("127.0.0.1")},
		Expires: time.Now().Add(30 * time.Second),
	}, nil
}

// fakeNode is a node that allows everything at first, and the rules of its crawl. It implements
// Rules and Node.
type fakeNode struct {
	now     atomic.Pointer[rules]
	lease   atomic.Bool
	lastTry atomic.Bool
	permits atomic.Int64 // those that are left; at first there are more than any test uses
	used    atomic.Int64 // those that became pages
	refused sync.Map     // why, by host
	// asked and taken are called by MayFetch and TakePermit; nil: nothing is.
	asked, taken func()
}

// manyPermits are those of a crawl that has no limit.
const manyPermits = 1 << 40

func newFakeNode(settings *crawl.Settings, table *sites.Table) *fakeNode {
	n := &fakeNode{}
	n.now.Store(&rules{settings, table})
	n.lease.Store(true)
	n.lastTry.Store(true)
	n.permits.Store(manyPermits)
	return n
}

func (n *fakeNode) Settings() *crawl.Settings { return n.now.Load().settings }
func (n *fakeNode) Sites() *sites.Table       { return n.now.Load().sites }

// Excluded knows the hosts of --exclude, and the rules for sites.
func (n *fakeNode) Excluded(it *crawl.Item) bool {
	r := n.now.Load()
	for _, e := range r.settings.Exclude {
		if ok, err := path.Match(strings.TrimPrefix(e, "host:"), it.URL.Host()); ok || err != nil {
			return true
		}
	}
	site := r.sites.Of(it.URL)
	return site != nil && site.Scope != nil && site.Scope.Excludes(it.URL)
}

func (n *fakeNode) MayFetch(crawl.Partition) bool {
	if n.asked != nil {
		n.asked()
	}
	return n.lease.Load()
}

func (n *fakeNode) TakePermit() bool {
	if n.permits.Load() == 0 {
		return false
	}
	n.permits.Add(-1) // the loop alone takes them
	if n.taken != nil {
		n.taken()
	}
	return true
}

func (n *fakeNode) PermitDone(used bool) {
	if used {
		n.used.Add(1)
	} else {
		n.permits.Add(1)
	}
}

func (n *fakeNode) MayLastTry() bool { return n.lastTry.Load() }
func (n *fakeNode) LookupRoom() int  { return 1 << 20 }
func (n *fakeNode) Fetchers() int    { return 256 }

// Refuse is for tests without hosts that have had their pages.
func (n *fakeNode) Refuse(_ context.Context, v crawl.Visit, _ crawl.Outcome) error {
	return fmt.Errorf("%v is refused", v.Item.URL)
}

// rig is a dispatcher with its workers and its surroundings.
type rig struct {
	t        *testing.T
	disk     *fakeDisk
	web      *fakeWeb
	settings crawl.Settings
	*fakeNode
	options Options
	d       *Dispatcher
	// how long a page takes from Release to Completed
	processing time.Duration
	// the result of a visit for another host's robots.txt
	robots func(crawl.Visit, crawl.Response) *crawl.RobotsAnswer

	ctx     context.Context // of Run and the workers
	stop    context.CancelFunc
	running sync.WaitGroup
}

func newRig(t *testing.T) *rig {
	r := &rig{
		t:          t,
		disk:       newFakeDisk(),
		web:        newFakeWeb(t, time.Second, 50*time.Millisecond),
		processing: 5 * time.Millisecond,
	}
	r.settings = crawl.Settings{
		Delay:    time.Second,
		AllowNet: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}
	r.fakeNode = newFakeNode(&r.settings, nil)
	r.options = Options{
		Store:    r.disk,
		Resolver: fakeResolver{},
		Rules:    r,
		Node:     r,
		Lookups:  8,
	}
	return r
}

// Refuse is Node's.
func (r *rig) Refuse(_ context.Context, v crawl.Visit, o crawl.Outcome) error {
	r.refused.Store(v.Host, o.Reason)
	return r.finish(v, crawl.Response{Kind: o.Kind})
}

// start runs the dispatcher and its workers; end stops them.
func (r *rig) start(workers int) {
	r.make()
	r.run(workers)
}

func (r *rig) make() {
	r.d = New(r.options)
	r.disk.queued = r.d.NoteQueued
}

func (r *rig) run(workers int) {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.running.Go(func() {
		if err := r.d.Run(ctx); err != nil {
			r.t.Errorf("Run: %v", err)
		}
	})
	r.ctx = ctx
	r.workers(workers)
}

// workers adds n workers.
func (r *rig) workers(n int) {
	for range n {
		r.running.Go(func() { r.work(r.ctx) })
	}
}

func (r *rig) end() {
	r.stop()
	r.running.Wait()
}

func (r *rig) work(ctx context.Context) {
	for {
		v, err := r.d.Next(ctx)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, context.Canceled):
			return
		case err != nil:
			r.t.Errorf("Next: %v", err)
			return
		}
		if v.Epoch != 7 {
			r.t.Errorf("%v was handed out in epoch %d, want 7", v.Item.URL, v.Epoch)
		}
		answer := crawl.Response{Kind: crawl.Aborted}
		if !v.Addr.IsValid() || r.d.MayRequest(v) {
			visit, _ := r.d.Context(v)
			answer = r.web.get(visit, v)
		}
		r.d.Release(v, answer)
		time.Sleep(r.processing)
		if err := r.finish(v, answer); err != nil {
			r.t.Error(err)
		}
	}
}

func (r *rig) finish(v crawl.Visit, answer crawl.Response) error {
	defer r.d.Completed(v)
	if v.Item.Via == crawl.ViaRobots {
		o := crawl.Outcome{Kind: answer.Kind, Answer: r.robots(v, answer)}
		r.d.ErrandCompleted(v, &o)
		return nil
	}
	if answer.Kind == crawl.HostFailed {
		r.d.Unreachable(v, crawl.HostFailure{Category: "connect", Reason: "no way to " + string(v.Host)})
	}
	return r.disk.complete(v, answer, r.d.HostState(v), r.d.RetryAt(v, answer.Kind))
}

// until waits until ok is true, at most an hour of the bubble's time.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	for range 360_000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatalf("%s: not after an hour", what)
}
