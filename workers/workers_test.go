package workers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/pipeline"
	"crawlnode/web/urlnorm"
)

// fakeNode is the node of a desk, with replicas that may be late.
type fakeNode struct {
	behind  atomic.Bool   // they have nothing of what is stored
	without atomic.Uint32 // a partition of which they have nothing; 0: none
}

func (n *fakeNode) Copied(
	ps []crawl.Partition,
) func(context.Context) func(crawl.Partition) bool {
	return func(context.Context) func(crawl.Partition) bool {
		return func(p crawl.Partition) bool {
			lost := crawl.Partition(n.without.Load())
			return slices.Contains(ps, p) && !n.behind.Load() && (lost == 0 || p != lost)
		}
	}
}

func (*fakeNode) Partition(crawl.Host) crawl.Partition { return 7 }
func (*fakeNode) Held() []crawl.Partition              { return []crawl.Partition{7} }
func (*fakeNode) Forgotten()                           {}

// world is the dispatcher and the pipeline's second half: visits, and what became of them.
type world struct {
	fakeNode
	t    *testing.T
	desk *Desk

	mu       sync.Mutex // guards the rest
	queue    []crawl.Visit
	ready    chan struct{} // closed when something is queued
	contexts map[uint64]context.CancelCauseFunc
	ctxs     map[uint64]context.Context
	ended    map[string][]string // by URL: "settled STATUS", "returned asked=... failed=..."
	waits    map[string]time.Duration
	held     map[crawl.Host]time.Time
	refuses  bool // Reserve keeps nothing
	// adoptable are URLs that another node has leased; moving is Adopt's error.
	adoptable map[string]crawl.LeaseTag
	delays    []string
	late      map[string]crawl.LateState // of URLs without a visit
	moving    error
	broken    error
	blocked   map[crawl.Host]time.Time
	slow      chan struct{} // Settle waits until it is closed; nil: it does not
	last      uint64
}

func newWorld(t *testing.T, lease time.Duration) *world {
	t.Helper()
	w := &world{
		t:         t,
		ready:     make(chan struct{}),
		contexts:  map[uint64]context.CancelCauseFunc{},
		ctxs:      map[uint64]context.Context{},
		ended:     map[string][]string{},
		waits:     map[string]time.Duration{},
		held:      map[crawl.Host]time.Time{},
		adoptable: map[string]crawl.LeaseTag{},
		blocked:   map[crawl.Host]time.Time{},
	}
	w.desk = NewDesk(Options{Source: w, Node: w, Lease: lease})
	w.desk.Use(w)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.desk.Run(ctx); err != nil && !errors.Is(err, w.broken) {
			t.Errorf("Run: %v", err)
		}
	})
	for range 8 {
		running.Go(func() { w.feed(ctx) })
	}
	t.Cleanup(func() {
		cancel()
		w.mu.Lock()
		for _, end := range w.contexts { // as the dispatcher's end
			end(errors.New("stopped"))
		}
		w.mu.Unlock()
		running.Wait()
	})
	return w
}

// feed is a worker of the pipeline.
func (w *world) feed(ctx context.Context) {
	f := w.desk.Feed()
	for {
		v, err := f.Next(ctx)
		if err != nil {
			return
		}
		if !w.desk.Take(v) {
			f.Release(v, crawl.Response{Kind: crawl.Aborted})
			w.put(v)
		}
	}
}

func (w *world) put(v crawl.Visit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, v)
	close(w.ready)
	w.ready = make(chan struct{})
}

// add queues URLs, each of another host.
func (w *world) add(urls ...string) {
	for _, s := range urls {
		u, err := urlnorm.Parse(s)
		if err != nil {
			w.t.Fatal(err)
		}
		w.mu.Lock()
		w.last++
		v := crawl.Visit{ID: w.last, Gap: time.Second, Robots: &crawl.Robots{
			Expires:    time.Now().Add(time.Hour),
			CrawlDelay: 3 * time.Second,
		},
			Lease: crawl.Lease{
				Partition: crawl.Partition(w.last),
				Host:      crawl.Host(u.Host()),
				Item:      crawl.Item{URL: u, Band: 7},
			}}
		w.ctxs[v.ID], w.contexts[v.ID] = context.WithCancelCause(context.Background())
		w.mu.Unlock()
		w.put(v)
	}
}

func (w *world) Next(ctx context.Context) (crawl.Visit, error) {
	for {
		w.mu.Lock()
		if len(w.queue) > 0 && ctx.Err() == nil {
			v := w.queue[0]
			w.queue = w.queue[1:]
			w.mu.Unlock()
			return v, nil
		}
		ready := w.ready
		w.mu.Unlock()
		select {
		case <-ready:
		case <-ctx.Done():
			return crawl.Visit{}, context.Cause(ctx)
		}
	}
}

func (w *world) Context(v crawl.Visit) (context.Context, context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ctxs[v.ID], w.contexts[v.ID]
}

func (w *world) MayRequest(crawl.Visit) bool         { return true }
func (w *world) Release(crawl.Visit, crawl.Response) {}
func (w *world) takeBack(visit uint64)               { w.contexts[visit](errors.New("it moves")) }
func (w *world) note(v crawl.Visit, what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := v.Item.URL.String()
	w.ended[u] = append(w.ended[u], what)
	return w.broken
}

func (w *world) Reserve(
	_ context.Context,
	visits []crawl.Visit,
	hold func(*crawl.Visit) crawl.LeaseHold,
) ([]bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := make([]bool, len(visits))
	for i, v := range visits {
		w.held[v.Host] = hold(&v).Until
		kept[i] = !w.refuses
	}
	return kept, nil
}

// Adopt opens visits for what the test has put into w.adoptable.
func (w *world) Adopt(_ context.Context, claims []crawl.LeaseClaim) ([]crawl.Visit, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	visits := make([]crawl.Visit, len(claims))
	for i, c := range claims {
		if c.Partition != 7 {
			return visits, fmt.Errorf("partition %d of %s", c.Partition, c.URL)
		}
		if w.adoptable[c.URL.String()] != c.Lease || c.Lease == 0 {
			continue
		}
		delete(w.adoptable, c.URL.String())
		w.last++
		visits[i] = crawl.Visit{ID: w.last, Lease: crawl.Lease{
			Partition: c.Partition,
			Host:      crawl.Host(c.URL.Host()),
			Item:      crawl.Item{URL: c.URL},
		}}
		w.ctxs[w.last], w.contexts[w.last] = context.WithCancelCause(context.Background())
	}
	return visits, w.moving
}

func (w *world) Delete(context.Context, crawl.Host, string) error { return nil }

func (w *world) SetDelay(
	_ context.Context,
	_ crawl.Partition,
	host crawl.Host,
	d time.Duration,
) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delays = append(w.delays, fmt.Sprint(host, " ", d))
	return nil
}

// Late finds what the test has put into w.late.
func (w *world) Late(
	_ context.Context,
	p crawl.Partition,
	u urlnorm.URL,
) (v crawl.Visit, s crawl.LateState, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.late[u.String()]
	if !ok {
		s = crawl.LateUnknown
	}
	if s == crawl.LateOpen {
		w.late[u.String()] = crawl.LateOver
		v = crawl.Visit{
			Late:  true,
			Lease: crawl.Lease{Partition: p, Host: crawl.Host(u.Host()), Item: crawl.Item{URL: u}},
		}
	}
	return v, s, w.moving
}

func (w *world) Block(
	_ context.Context,
	p crawl.Partition,
	host crawl.Host,
	until time.Time,
) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p != 7 || host == "unknown.test" {
		return crawl.ErrUnknownHost
	}
	w.blocked[host] = until
	return w.moving
}

// answered remembers which visit a Settlement is of: the pipeline's own are opaque.
var answered sync.Map

func (w *world) Answered(v crawl.Visit, r pipeline.Report) *pipeline.Settlement {
	s := pipeline.New(pipeline.Options{
		Source: w,
		Rules:  func() *pipeline.Rules { return &pipeline.Rules{} },
	}).Answered(v, r)
	answered.Store(s, fmt.Sprintf("%d|settled %d", v.ID, r.Status))
	w.mu.Lock()
	w.ctxs[v.ID] = context.WithValue(context.Background(), visitKey{}, v)
	w.mu.Unlock()
	return s
}

type visitKey struct{}

func (w *world) Settle(_ context.Context, s *pipeline.Settlement) error {
	w.mu.Lock()
	slow := w.slow
	w.mu.Unlock()
	if slow != nil {
		<-slow
	}
	text, _ := answered.LoadAndDelete(s)
	var id uint64
	var status int
	if _, err := fmt.Sscanf(text.(string), "%d|settled %d", &id, &status); err != nil {
		return err
	}
	w.mu.Lock()
	v := w.ctxs[id].Value(visitKey{}).(crawl.Visit)
	w.mu.Unlock()
	return w.note(v, fmt.Sprintf("settled %d", status))
}

func (w *world) Return(
	_ context.Context,
	v crawl.Visit,
	asked bool,
	held pipeline.Held,
	failed bool,
	_ string,
) error {
	w.mu.Lock()
	w.waits[v.Item.URL.String()] = held.For
	w.mu.Unlock()
	return w.note(v, fmt.Sprintf("returned asked=%v failed=%v", asked, failed))
}

// became waits until something became of each URL.
func (w *world) became(want string, urls ...string) {
	w.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for _, u := range urls {
		for {
			w.mu.Lock()
			got := slices.Clone(w.ended[u])
			w.mu.Unlock()
			if len(got) > 0 {
				if !slices.Equal(got, []string{want}) {
					w.t.Errorf("%s: %q, want %q", u, got, want)
				}
				break
			}
			if time.Now().After(deadline) {
				w.t.Fatalf("nothing became of %s", u)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func (w *world) next(worker string, most int, wait time.Duration) Grant {
	w.t.Helper()
	g, err := w.desk.Next(w.t.Context(), "lease-of-"+worker, worker, most, wait)
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

func result(url string, status int) crawl.WorkerResult {
	return crawl.WorkerResult{URL: url, Status: crawl.WorkerSuccess, HTTPStatus: status}
}

// TestLeaseAndResults: what was given out is held, settled once, and repetitions are known.
func TestLeaseAndResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	w.add("http://a.test/", "http://b.test/")
	start := time.Now()
	g := w.next("w", 2, 20*time.Second)
	if len(g.URLs) == 1 { // the other came more than leases.Linger later
		g.URLs = append(g.URLs, w.next("w", 1, 20*time.Second).URLs...)
	}
	if len(g.URLs) != 2 || g.Left <= 50*time.Second || g.Left > time.Minute {
		t.Fatalf("%+v", g)
	}
	u := g.URLs[0]
	if u.Host != "a.test" && u.Host != "b.test" || u.Priority != 0 || *u.Robots.CrawlDelay != 3 ||
		!u.Robots.Allowed || u.DelaySeconds != 1 {
		t.Errorf("%+v", u)
	}
	w.mu.Lock()
	if until := w.held["a.test"]; until.Before(start.Add(time.Minute + 4*time.Second)) {
		t.Errorf("a.test is held until %v after the start; a clock that is 5 %% fast would end that "+
			"before the lease",
			until.Sub(start))
	}
	w.mu.Unlock()
	r, err := w.desk.Settle(t.Context(), "lease-of-w", []crawl.WorkerResult{
		result("http://a.test/", 200), result("http://never.test/", 200), {
			URL:    "http://b.test/",
			Status: crawl.WorkerError,
			Error:  "timeout: 3 s",
		}, result("http://a.test/", 404),
	})
	if want := (crawl.ResultsReport{Processed: 3, RetriesScheduled: 1, Ended: 1}); err != nil ||
		r != want {
		t.Errorf("%+v, %v; want %+v", r, err, want)
	}
	w.became("settled 200", "http://a.test/")
	w.became("settled 0", "http://b.test/")
	if c := w.desk.Counts(); c.Open != 0 || c.Settled != 2 {
		t.Errorf("%+v", c)
	}
}

// TestNobodyHasAny: a wait without URLs ends with none, and a URL that comes later is not taken for
// it.
func TestNobodyHasAny(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	if g := w.next("w", 5, 10*time.Millisecond); len(g.URLs) != 0 {
		t.Errorf("%+v", g)
	}
	w.add("http://a.test/")
	if g := w.next("w", 5, 20*time.Second); len(g.URLs) != 1 {
		t.Errorf("%+v", g)
	}
	if n := len(w.desk.demand.asking); n != 0 {
		t.Errorf("the dispatcher is still asked %d times", n)
	}
}

// TestLeaseEnds: a worker that dies costs its lease's time, and its late results do not count.
func TestLeaseEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 50*time.Millisecond)
	w.add("http://a.test/")
	w.next("w", 1, 20*time.Second)
	w.became("returned asked=true failed=true", "http://a.test/")
	r, err := w.desk.Settle(t.Context(), "lease-of-w",
		[]crawl.WorkerResult{result("http://a.test/", 200)})
	if err != nil || r != (crawl.ResultsReport{Ended: 1}) || w.desk.Counts().Expired != 1 {
		t.Errorf("%+v, %v, %+v", r, err, w.desk.Counts())
	}
}

// TestLifeEnds: a lease lasts for as long as was asked, and its end is no failure of the URL then.
func TestLifeEnds(t *testing.T) {
	w := newWorld(t, time.Hour)
	w.add("http://a.test/")
	g, err := w.desk.answerNext(t.Context(),
		&nextQuestion{Lease: "l", Worker: "w", Most: 1, Wait: time.Minute, Life: 50 * time.Millisecond})
	if err != nil || len(g.URLs) != 1 || g.Left > 50*time.Millisecond || len(g.Notes) != 1 {
		t.Fatalf("%+v, %v", g, err)
	}
	w.became("returned asked=true failed=false", "http://a.test/")
}

// TestTakenBack: a visit that the node must not keep stays queued, and its host waits for as long
// as the worker may still request it.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	w.add("http://a.test/")
	w.next("w", 1, 20*time.Second)
	w.takeBack(1)
	w.became("returned asked=true failed=false", "http://a.test/")
	w.mu.Lock()
	wait := w.waits["http://a.test/"]
	w.mu.Unlock()
	if wait < 55*time.Second || wait > 65*time.Second {
		t.Errorf("its host waits for %v", wait)
	}
	if r, _ := w.desk.Settle(t.Context(), "lease-of-w", []crawl.WorkerResult{
		result("http://a.test/", 200)}); r.Ended != 1 {
		t.Errorf("%+v", r)
	}
}

// TestAdopted: of a URL that another node has leased one result counts, however many come at once.
func TestAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	const u = "http://a.test/"
	w.mu.Lock()
	w.adoptable[u] = crawl.TagOf("l", u)
	w.mu.Unlock()
	settle := func(id string) crawl.ResultsReport {
		r, err := w.desk.Settle(t.Context(), id,
			[]crawl.WorkerResult{result(u, 200), result(u, 404), result("http://other.test/", 200)})
		if err != nil {
			t.Error(err)
		}
		return r
	}
	if r := settle("of another"); r != (crawl.ResultsReport{Ended: 3}) {
		t.Errorf("another lease: %+v", r)
	}
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if r := settle("l"); r != (crawl.ResultsReport{Processed: 2, Ended: 1}) {
				t.Errorf("%+v", r)
			}
		})
	}
	calls.Wait()
	w.became("settled 200", u)
	if r := settle(strings.Repeat("l", maxLeaseID+1)); r != (crawl.ResultsReport{Ended: 3}) {
		t.Errorf("an endless id: %+v", r)
	}
	if c := w.desk.Counts(); c.Settled != 1 || c.Open != 0 {
		t.Errorf("%+v", c)
	}
}

// TestResultsNotCopied: a result that a replica may not have is to be sent again, and counts once.
func TestResultsNotCopied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	w.add("http://a.test/")
	w.next("w", 1, 20*time.Second)
	w.behind.Store(true)
	sent := []crawl.WorkerResult{result("http://a.test/", 200)}
	for range 2 { // a repetition is not answered before its replicas have it either
		if r, err := w.desk.Settle(t.Context(), "lease-of-w", sent); !errors.Is(err, errNotCopied) {
			t.Errorf("%+v, %v", r, err)
		}
	}
	w.behind.Store(false)
	if r, err := w.desk.Settle(t.Context(), "lease-of-w", sent); err != nil || r.Processed != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	w.became("settled 200", "http://a.test/")
}

// TestNotHeld: what could not be made safe is not given to anybody.
func TestNotHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	w.refuses = true
	w.add("http://a.test/")
	if g := w.next("w", 1, 20*time.Second); len(g.URLs) != 0 {
		t.Errorf("%+v", g)
	}
	w.became("returned asked=false failed=false", "http://a.test/")
}

// TestNotCopied: neither is what the replicas do not have.
func TestNotCopied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	w.without.Store(1)
	w.add("http://a.test/", "http://b.test/")
	if g := w.next("w", 2, 20*time.Second); len(g.URLs) != 1 || g.URLs[0].Host != "b.test" {
		t.Errorf("%+v", g)
	}
	w.became("returned asked=false failed=false", "http://a.test/")
}

// TestTooMany: a worker with too many open URLs gets no more, and one that hangs up gets none.
func TestTooMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.desk.Next(ctx, "l", "w", 1, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("who has hung up got %v", err)
	}
	urls := make([]string, MaxOpenPerWorker)
	for i := range urls {
		urls[i] = fmt.Sprintf("http://h%d.test/", i)
	}
	w.add(urls...)
	got := 0
	for got < MaxOpenPerWorker {
		got += len(w.next("w", crawl.MaxLeaseBatch, 20*time.Second).URLs)
	}
	if _, err := w.desk.Next(t.Context(), "l", "w", 1, 0); !errors.Is(err, crawl.ErrTooManyLeased) {
		t.Errorf("got %v", err)
	}
	if g := w.next("other", 1, 0); len(g.URLs) != 0 {
		t.Errorf("%+v", g)
	}
}

// TestBrokenStore: a storage error ends Run.
func TestBrokenStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	w.broken = io.ErrUnexpectedEOF
	w.add("http://a.test/")
	w.next("w", 1, 20*time.Second)
	if _, err := w.desk.Settle(t.Context(), "lease-of-w", []crawl.WorkerResult{
		result("http://a.test/", 200)}); !errors.Is(err, w.broken) {
		t.Errorf("got %v", err)
	}
}

// TestReportsAreBounded: a worker says what it likes.
func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	const sha = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		r    crawl.WorkerResult
		want pipeline.Report
	}{
		{crawl.WorkerResult{Status: "success"}, pipeline.Report{Status: 200}},
		// some servers refuse with it
		{crawl.WorkerResult{Status: "success", HTTPStatus: 999}, pipeline.Report{Status: 999}},
		{crawl.WorkerResult{Status: "error", HTTPStatus: 1000}, pipeline.Report{}},
		{crawl.WorkerResult{Status: "error", HTTPStatus: 503, RetryAfter: 7}, pipeline.Report{Status: 503, RetryAfter: 7 * time.Second}},
		{crawl.WorkerResult{Status: "success", FetchTimeMS: 1e300, RetryAfter: -1}, pipeline.Report{Status: 200, Took: time.Minute}},
		{crawl.WorkerResult{Status: "success", ContentLength: math.MaxInt64, LinksFound: math.MaxInt},
			pipeline.Report{Status: 200, Bytes: maxPageBytes, LinksFound: maxPageLinks}},
		{crawl.WorkerResult{Status: "success", ContentLength: -1, LinksFound: -1, HTTPStatus: -200}, pipeline.Report{Status: 200}},
		{crawl.WorkerResult{Status: "error", ContentType: "a\x00b\xff", Error: "dns:\n\x1b[2J"},
			pipeline.Report{ContentType: "a b", Error: "dns:  [2J"}},
		{crawl.WorkerResult{Status: "success", Simhash: "00ff", ContentHash: "md5:x"}, pipeline.Report{Status: 200, Simhash: 255}},
		{crawl.WorkerResult{Status: "success", ContentHash: "sha1:" + sha},
			pipeline.Report{Status: 200, Digest: crawl.Digest{0x01,
				0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01,
				0x23, 0x45, 0x67}}},
		{crawl.WorkerResult{Status: "success", ContentHash: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB"},
			pipeline.Report{Status: 200, Digest: crawl.Digest{19: 1}}},
	} {
		got := reportOf(&c.r, time.Minute)
		if got.Bytes != c.want.Bytes || got.LinksFound != c.want.LinksFound ||
			got.ContentType != c.want.ContentType || got.Error != c.want.Error {
			t.Errorf("%+v: %+v, want %+v", c.r, got, c.want)
		}
		if got.Status != c.want.Status || got.Took != c.want.Took ||
			got.RetryAfter != c.want.RetryAfter || got.Digest != c.want.Digest ||
			got.Simhash != c.want.Simhash {
			t.Errorf("%+v: %+v, want %+v", c.r, got, c.want)
		}
	}
}

// TestDelay: the least gap of a host is bounded, and set where the host is.
func TestDelay(t *testing.T) {
	w := newWorld(t, time.Minute)
	for _, d := range []time.Duration{time.Second, 0, -time.Second, 1 << 60} {
		if err := w.desk.SetDelay(t.Context(), "a.test", d); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"a.test 1s", "a.test 0s", "a.test 0s",
		"a.test 24h0m0s"}; !slices.Equal(w.delays, want) {
		t.Errorf("set %q, want %q", w.delays, want)
	}
}

// TestLate: a result whose lease has ended, or is not said, counts while nobody else has the URL.
func TestLate(t *testing.T) {
	w := newWorld(t, time.Minute)
	w.late = map[string]crawl.LateState{
		"http://queued.test/": crawl.LateOpen,
		"http://taken.test/":  crawl.LateTaken,
		"http://over.test/":   crawl.LateOver,
	}
	settle := func(id, url string, late bool) (processed, ended int) {
		t.Helper()
		r, err := w.desk.settle(t.Context(), id, []crawl.WorkerResult{{URL: url, HTTPStatus: 200}}, late)
		if err != nil {
			t.Fatal(err)
		}
		return r.Processed, r.Ended
	}
	for _, c := range []struct {
		id, url string
		late    bool
		counts  bool
	}{
		{"l", "http://queued.test/", false, false},
		{"l", "http://queued.test/", true, true},
		{"", "http://queued.test/", true, true}, // again: it is over
		{"", "http://taken.test/", true, false},
		{"", "http://over.test/", true, true},
		{"", "http://unknown.test/", true, false},
	} {
		if processed, ended := settle(c.id, c.url, c.late); (processed == 1) != c.counts ||
			(ended == 1) == c.counts {
			t.Errorf("%+v: %d processed, %d ended", c, processed, ended)
		}
	}
}
