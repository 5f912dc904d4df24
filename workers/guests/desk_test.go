package guests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/guests"
	"crawlnode/frontier/storage"
	"crawlnode/web/urlnorm"
)

// world is a dispatcher that opens a visit of each host that is wished for at once, unless it is
// slow, and the frontier.
type world struct {
	node  *fakeNode
	t     *testing.T
	front *frontier.Frontier
	desk  *Desk

	mu       sync.Mutex // guards the rest
	last     uint64
	outcome  map[crawl.Host]crawl.Kind // of visits that nobody gets; none: Take gets them
	slow     bool
	ctxs     map[uint64]context.CancelCauseFunc
	contexts map[uint64]context.Context
	releases map[crawl.Host][]crawl.Response
	open     map[uint64]crawl.Host
	unsafe   bool // Reserve keeps nothing
}

func newWorld(t *testing.T, lease time.Duration) *world {
	t.Helper()
	f, err := frontier.New(storage.NewMemory(), frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t:        t,
		front:    f,
		outcome:  map[crawl.Host]crawl.Kind{},
		ctxs:     map[uint64]context.CancelCauseFunc{},
		contexts: map[uint64]context.Context{},
		releases: map[crawl.Host][]crawl.Response{},
		open:     map[uint64]crawl.Host{},
	}
	w.node = &fakeNode{source: w}
	w.desk = New(Options{
		Node:  w.node,
		Store: f,
		Lease: lease,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = f.Run(ctx) })
	desk, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = w.desk.Run(desk) })
	t.Cleanup(func() {
		stop()
		w.endAll()
		serving.Wait()
		cancel()
		running.Wait()
		if len(w.open) > 0 {
			t.Errorf("visits are open at the end: %v", w.open)
		}
	})
	if err := f.Found(t.Context(), []crawl.Partition{0}, 1); err != nil {
		t.Fatal(err)
	}
	return w
}

// fakeNode is a node that holds one partition, and has no replicas.
type fakeNode struct {
	source    Source
	partition atomic.Uint32 // of all hosts
}

func (n *fakeNode) Source() Source          { return n.source }
func (n *fakeNode) Held() []crawl.Partition { return []crawl.Partition{0} }

func (n *fakeNode) Partition(crawl.Host) crawl.Partition {
	return crawl.Partition(n.partition.Load())
}

func (n *fakeNode) Copied(
	ps []crawl.Partition,
) func(context.Context) func(crawl.Partition) bool {
	return func(context.Context) func(crawl.Partition) bool {
		return func(p crawl.Partition) bool { return slices.Contains(ps, p) }
	}
}

// endAll takes all visits back, as a dispatcher does that ends.
func (w *world) endAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cancel := range w.ctxs {
		cancel(errors.New("the end"))
	}
}

// Look opens visits, and ends those that fail. It does so before it returns: a call of Next waits
// for leases.Linger only for what comes after its first URL.
func (w *world) Look() {
	type begun struct {
		visit crawl.Visit
		kind  crawl.Kind
		fails bool
	}
	var all []begun
	defer func() {
		for _, b := range all {
			if b.fails || !w.desk.Take(b.visit) {
				w.Release(b.visit, crawl.Response{Kind: b.kind})
				w.desk.Ended(&b.visit, &crawl.Outcome{Kind: b.kind})
				w.Completed(b.visit)
			}
		}
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slow {
		return
	}
	for _, e := range w.desk.Waiting("", time.Now()) {
		w.last++
		id := w.last
		v := crawl.Visit{
			ID:    id,
			Lease: crawl.Lease{Host: e.Host, Item: crawl.Item{URL: e.URL, Via: crawl.ViaGuest}},
			Gap:   time.Second,
		}
		if !w.desk.Begin(e.URL, id) {
			w.t.Errorf("%s is not wanted any more", e.URL)
			continue
		}
		w.contexts[id], w.ctxs[id] = context.WithCancelCause(context.Background())
		w.open[id] = e.Host
		kind, fails := w.outcome[e.Host]
		all = append(all, begun{v, kind, fails})
	}
}

func (w *world) Context(v crawl.Visit) (context.Context, context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.contexts[v.ID], w.ctxs[v.ID]
}

func (w *world) Reserve(
	_ context.Context,
	visits []crawl.Visit,
	_ func(*crawl.Visit) crawl.LeaseHold,
) ([]bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := make([]bool, len(visits))
	for i := range kept {
		kept[i] = !w.unsafe
	}
	return kept, nil
}

func (w *world) Release(v crawl.Visit, r crawl.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.releases[v.Host] = append(w.releases[v.Host], r)
}

func (w *world) HostState(crawl.Visit) crawl.HostState { return crawl.HostState{Requests: 1} }

func (w *world) Completed(v crawl.Visit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[v.ID] == "" {
		w.t.Errorf("the visit %d of %s was completed twice", v.ID, v.Host)
	}
	delete(w.open, v.ID)
	delete(w.ctxs, v.ID)
}

// put puts items, and expects the same of all.
func (w *world) put(want crawl.GuestAnswer, items ...crawl.GuestPut) {
	w.t.Helper()
	answers, why := w.desk.Put(w.t.Context(), items)
	for i, a := range answers {
		if a != want {
			w.t.Fatalf("%+v: %d, %s; want %d", items[i], a, why[i], want)
		}
	}
}

func (w *world) next(q Query) (urls []string) {
	w.t.Helper()
	if q.Most == 0 {
		q.Most = 10
	}
	if q.Lease == "" {
		q.Lease = "l"
	}
	q.Worker = "w"
	given, _, err := w.desk.Next(w.t.Context(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, g := range given {
		urls = append(urls, g.Crawl+" "+g.Visit.Item.URL.String())
	}
	return urls
}

func (w *world) is(id, url string, active, known bool) {
	w.t.Helper()
	u, err := urlnorm.Parse(url)
	if err != nil {
		w.t.Fatal(err)
	}
	g, ok, err := w.front.Guest(0, id, u)
	if err != nil || !ok || g.Active != active || g.Known != known {
		w.t.Errorf("%s of %s: %+v, %v, %v", url, id, g, ok, err)
	}
}

const patience = time.Minute // nothing waits for so long

func TestLeases(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	a, b := crawl.GuestPut{
		Crawl: "x",
		URL:   "http://a.test/",
	}, crawl.GuestPut{Crawl: "x", URL: "http://b.test/"}
	w.put(crawl.GuestStored, a, b, crawl.GuestPut{Crawl: "y", URL: a.URL})
	w.put(crawl.GuestRefused, crawl.GuestPut{Crawl: "\x00", URL: a.URL},
		crawl.GuestPut{Crawl: "x", URL: "nothing"})
	if got := w.next(Query{Crawl: "x", Patience: patience}); len(got) != 2 {
		t.Fatalf("given out: %v", got)
	}
	if got := w.next(Query{Crawl: "x"}); len(got) > 0 {
		t.Errorf("given out twice: %v", got)
	}
	if n := w.desk.InProcess(""); n["x"] != 2 || w.desk.InProcess("b.test")["x"] != 1 ||
		w.desk.Counts().Open != 2 {
		t.Errorf("in process: %v", n)
	}
	w.desk.Forget("x", "b.test") // a client has it
	if n := w.desk.InProcess(""); n["x"] != 1 || w.desk.Counts().Open != 2 {
		t.Errorf("in process without a deleted guest: %v, %d leases", n, w.desk.Counts().Open)
	}
	result := a
	result.Known, result.Lease = true, "another"
	w.put(crawl.GuestRefused, result) // somebody else has it
	result.Lease = "l"
	w.put(crawl.GuestStored, result)
	w.put(crawl.GuestStored, result) // a repeat
	w.is("x", a.URL, false, true)
	result = b
	result.Known, result.Refetch = true, time.Now().Add(time.Hour).Unix()
	result.Result = &crawl.WorkerResult{HTTPStatus: 503, RetryAfter: 60}
	w.put(crawl.GuestStored, result) // whoever has it does not say so
	w.is("x", b.URL, true, true)
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.releases["a.test"]; len(r) != 1 || r[0].Kind != crawl.Fetched || !r[0].Requested {
		t.Errorf("a.test was released with %+v", r)
	}
	if r := w.releases["b.test"]; len(r) != 1 || r[0].Kind != crawl.RateLimited ||
		r[0].RetryAfter != time.Minute {
		t.Errorf("b.test was released with %+v", r)
	}
}

// TestLeaseEnds: what has no result in time is given out again, and then its first client's result
// counts only without the second's lease.
func TestLeaseEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	it := crawl.GuestPut{Crawl: "x", URL: "http://a.test/"}
	w.put(crawl.GuestStored, it)
	if got := w.next(Query{
		Crawl:    "x",
		Lease:    "first",
		Patience: patience,
		Life:     50 * time.Millisecond,
	}); len(got) != 1 {
		t.Fatalf("given out: %v", got)
	}
	if got := w.next(Query{Lease: "second", Patience: patience}); len(got) != 1 {
		t.Fatalf("given out again: %v", got)
	}
	it.Known, it.Lease = true, "first"
	w.put(crawl.GuestRefused, it)
	w.desk.mu.Lock()
	for id := range w.desk.open {
		go w.desk.takenBack(id)
	}
	w.desk.mu.Unlock()
	for w.desk.Counts().Open > 0 {
		time.Sleep(time.Millisecond)
	}
	w.put(crawl.GuestStored, it) // nobody else has it
	w.is("x", it.URL, false, true)
}

// TestOfOneHost: a host that is named, and none that has no turn.
func TestOfOneHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	for i := range 5 {
		w.put(crawl.GuestStored,
			crawl.GuestPut{Crawl: fmt.Sprint("x", i%2), URL: fmt.Sprintf("http://h%d.test/", i)})
	}
	if got := w.next(Query{Host: "h3.test", Patience: patience}); len(got) != 1 ||
		got[0] != "x1 http://h3.test/" {
		t.Errorf("given out: %v", got)
	}
	if got := w.next(Query{Crawl: "x0", Host: "h1.test"}); len(got) > 0 {
		t.Errorf("of another crawl: %v", got)
	}
	w.mu.Lock()
	w.slow = true
	w.mu.Unlock()
	if got := w.next(Query{Patience: 20 * time.Millisecond}); len(got) > 0 {
		t.Errorf("without a turn: %v", got)
	}
	if got := w.desk.Wanted(); len(got) > 0 {
		t.Errorf("wished for when nobody waits: %v", got)
	}
	end := w.desk.WishOwn("own.test")
	if got := w.desk.Wanted(); len(got) != 1 || got[0].Guest || !w.desk.Wants("own.test") {
		t.Errorf("wished for: %v", got)
	}
	if end(); w.desk.Wants("own.test") {
		t.Error("the wish does not end")
	}
}

// TestVisitsThatEnd: a guest that robots.txt forbids is completed, one of a host that fails waits,
// and one whose hold is not safe is given back.
func TestVisitsThatEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	w.outcome["forbidden.test"], w.outcome["dead.test"] = crawl.Refused, crawl.HostFailed
	w.put(crawl.GuestStored, crawl.GuestPut{Crawl: "x", URL: "http://forbidden.test/"},
		crawl.GuestPut{Crawl: "x", URL: "http://dead.test/"},
		crawl.GuestPut{Crawl: "x", URL: "http://good.test/"})
	if got := w.next(Query{Crawl: "x", Patience: patience}); len(got) != 1 ||
		got[0] != "x http://good.test/" {
		t.Errorf("given out: %v", got)
	}
	for deadline := time.Now().Add(15 * time.Minute); ; time.Sleep(time.Millisecond) {
		u, _ := urlnorm.Parse("http://forbidden.test/")
		if g, _, err := w.front.Guest(0, "x", u); err != nil || time.Now().After(deadline) {
			t.Fatal(g, err)
		} else if !g.Active {
			break
		}
	}
	w.is("x", "http://dead.test/", true, false)
	w.put(crawl.GuestStored, crawl.GuestPut{Crawl: "x", URL: "http://unsafe.test/"})
	w.mu.Lock()
	w.unsafe = true
	w.mu.Unlock()
	if got := w.next(Query{Crawl: "x", Patience: patience}); len(got) > 0 {
		t.Errorf("given out although its hold is not safe: %v", got)
	}
	w.mu.Lock()
	w.unsafe = false
	w.mu.Unlock()
	if got := w.next(Query{Crawl: "x", Patience: patience}); len(got) != 1 ||
		got[0] != "x http://unsafe.test/" {
		t.Errorf("given out: %v", got)
	}
}

// TestNotHeld: what is of a partition that is elsewhere is to be sent again.
func TestNotHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	w.node.partition.Store(9)
	w.put(crawl.GuestLater, crawl.GuestPut{Crawl: "x", URL: "http://a.test/"})
	if _, err := w.front.PutGuests(t.Context(), []guests.Put{{Partition: 9, Crawl: "x"}}); !errors.Is(
		err, frontier.ErrNotHolder) {
		t.Error(err)
	}
}
