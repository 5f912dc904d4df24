package pipeline

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/mime"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// bench is the surroundings of a pipeline: Source, Sink, Archive and Fetcher in one. It records
// what is called, in order.
type bench struct {
	t     testing.TB
	rules Rules
	web   map[string]func(fetcher.Request) (*fetcher.Response, error) // by URL; missing: 404

	mu       sync.Mutex
	visits   []crawl.Visit
	contexts map[uint64]context.Context
	asks     int      // how often MayRequest was called
	lost     int      // MayRequest is false from this call on; 0: never
	log      []string // "fetch URL", "release KIND", "archive URL", "complete KIND"
	asked    []fetcher.Request
	releases []crawl.Response
	outcomes []crawl.Outcome
	kept     time.Duration // of the visit that was completed last and tells it
	captures []crawl.Capture

	// elsewhere holds the answers of other hosts. A file without an entry is on its way.
	elsewhere map[string]crawl.RobotsAnswer
	p         *Pipeline // made by the first run

	// content is what is known of pages, by URL; questions are those that were asked.
	content   map[string]ContentAnswer
	questions []ContentQuestion
	stored    map[string]Stored        // of pages that have not changed
	looked    []string                 // for stored ones
	read      map[string]crawl.Outcome // what was read of pages before: Digest and Basis
	earlier   Earlier                  // nil: none
	deriver   Deriver                  // nil: none
	jars      Jars                     // nil: none
	means     Means                    // nil: none

	archiveErr, completeErr error
}

func url(t testing.TB, s string) urlnorm.URL {
	t.Helper()
	u, err := urlnorm.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// newBench crawls http://a.test/ in host scope, without an archive.
func newBench(t testing.TB, o scope.Options) *bench {
	t.Helper()
	if o.Mode == "" {
		o.Mode = "host"
	}
	sc, err := scope.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{
		t:        t,
		web:      map[string]func(fetcher.Request) (*fetcher.Response, error){},
		contexts: map[uint64]context.Context{},
	}
	b.rules = Rules{
		Settings: crawl.Settings{UserAgent: "crawlnode/test", Delay: time.Second},
		Scope:    sc, Seeds: scope.NewSeeds([]string{sc.EntryOf(url(t, "http://a.test/"))}),
	}
	return b
}

// allowAll is a robots entry that allows everything.
func allowAll() *crawl.Robots {
	return &crawl.Robots{
		Verdict: crawl.RobotsAllowAll,
		Fetched: time.Now(),
		Expires: time.Now().Add(time.Hour),
	}
}

func (b *bench) Seen(_ context.Context, q ContentQuestion) ContentAnswer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.questions = append(b.questions, q)
	return b.content[q.URL.String()]
}

func (b *bench) Stored(_ context.Context, u urlnorm.URL) Stored {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looked = append(b.looked, u.String())
	return b.stored[u.String()]
}

func (b *bench) Read(u urlnorm.URL) Reading {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.read[u.String()]
	return Reading{Digest: o.Digest, Basis: o.Basis, Preferences: o.Preferences, Reason: o.Reason}
}

// visit queues a visit of u.
func (b *bench) visit(u string, change ...func(*crawl.Visit)) {
	target := url(b.t, u)
	v := crawl.Visit{
		Lease: crawl.Lease{Host: crawl.Host(target.Host()), Item: crawl.Item{URL: target}},
		ID:    uint64(len(b.visits) + 1), Addr: netip.MustParseAddr("127.0.0.1"), Robots: allowAll(),
	}
	for _, f := range change {
		f(&v)
	}
	b.visits = append(b.visits, v)
}

func (b *bench) serve(u string, status int, header, body string) {
	b.web[url(b.t, u).String()] = func(fetcher.Request) (*fetcher.Response, error) {
		return answer(status, header, body), nil
	}
}

// serveConditional answers 304 with a header to a request with a validator.
func (b *bench) serveConditional(u, header string) {
	b.web[url(b.t, u).String()] = func(r fetcher.Request) (*fetcher.Response, error) {
		resp := answer(304, header, "")
		resp.Conditional = r.ETag != "" || r.LastModified != ""
		return resp, nil
	}
}

func (b *bench) fail(u string, err error) {
	b.web[url(b.t, u).String()] = func(fetcher.Request) (*fetcher.Response, error) { return nil, err }
}

// answer makes a response; header is "Name: value" or "".
func answer(status int, header, body string) *fetcher.Response {
	h := http.Header{}
	for _, line := range splitLines(header) {
		h.Add(line[0], line[1])
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "text/html")
	}
	media := mime.Of(h, []byte(body))
	return &fetcher.Response{
		Status: status, Header: h, Body: []byte(body), RawBody: []byte(body), WireBytes: int64(len(body)),
		ContentType: media.String(), MediaType: media.Essence, Started: time.Now(),
		Took:        10 * time.Millisecond,
		RequestHead: []byte("GET"), ResponseHead: []byte("HTTP"),
		RemoteAddr: netip.MustParseAddr("127.0.0.1"),
	}
}

func splitLines(header string) (out [][2]string) {
	for header != "" {
		var line string
		line, header, _ = strings.Cut(header, "\n")
		name, value, _ := strings.Cut(line, ": ")
		out = append(out, [2]string{name, value})
	}
	return out
}

// run runs a pipeline with one worker until all visits are over.
func (b *bench) run() error { return b.runWith(context.Background(), b) }

func (b *bench) runWith(ctx context.Context, f Fetcher) error {
	if b.p == nil {
		b.p = New(Options{
			Workers:   1,
			Source:    b,
			Sink:      b,
			Archive:   b,
			Contents:  b,
			Earlier:   b.earlier,
			Jars:      b.jars,
			Means:     b.means,
			Fetcher:   f,
			Elsewhere: b,
			Deriver:   b.deriver,
			Rules:     func() *Rules { return &b.rules },
		})
	}
	err := b.p.Run(ctx)
	if b.p.Busy() != 0 {
		b.t.Errorf("%d visits under way after Run", b.p.Busy())
	}
	return err
}

// one runs the only visit and returns its result.
func (b *bench) one() (crawl.Response, crawl.Outcome) {
	b.t.Helper()
	if err := b.run(); err != nil {
		b.t.Fatal(err)
	}
	if len(b.releases) != 1 || len(b.outcomes) != 1 {
		b.t.Fatalf("%d releases, %d outcomes of one visit", len(b.releases), len(b.outcomes))
	}
	return b.releases[0], b.outcomes[0]
}

func (b *bench) Next(context.Context) (crawl.Visit, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.visits) == 0 {
		return crawl.Visit{}, io.EOF
	}
	v := b.visits[0]
	b.visits = b.visits[1:]
	return v, nil
}

func (b *bench) Context(v crawl.Visit) (context.Context, context.CancelCauseFunc) {
	ctx := b.contexts[v.ID]
	if ctx == nil {
		ctx = context.Background()
	}
	return context.WithCancelCause(ctx)
}

func (b *bench) MayRequest(crawl.Visit) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asks++
	return b.lost == 0 || b.asks < b.lost
}

func (b *bench) Release(_ crawl.Visit, r crawl.Response) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, "release "+r.Kind.String())
	b.releases = append(b.releases, r)
}

func (b *bench) Complete(ctx context.Context, v crawl.Visit, o crawl.Outcome) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v.Kept != nil {
		b.kept = time.Duration(v.Kept.Load())
	}
	if ctx.Err() != nil {
		b.t.Error("completed with a cancelled context")
	}
	b.log = append(b.log, "complete "+o.Kind.String())
	o.Targets = slices.Clone(o.Targets) // they are the worker's again
	b.outcomes = append(b.outcomes, o)
	return b.completeErr
}

func (b *bench) Put(_ context.Context, c crawl.Capture) (crawl.ArchiveRef, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, "archive "+c.URL.String())
	b.captures = append(b.captures, c)
	return crawl.ArchiveRef{File: "f", Offset: 1, Length: 2}, b.archiveErr
}

func (b *bench) RobotsFile(_ context.Context, u urlnorm.URL) (crawl.RobotsAnswer, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, "ask for "+u.String())
	a, ok := b.elsewhere[u.String()]
	return a, ok
}

func (b *bench) Do(ctx context.Context, r fetcher.Request) (*fetcher.Response, error) {
	if err := r.BeforeWrite(); err != nil {
		return nil, &fetcher.Error{
			Category: fetcher.Other,
			Err:      fmt.Errorf("%w: %w", fetcher.ErrRefused, err),
		}
	}
	b.mu.Lock()
	b.log = append(b.log, "fetch "+r.URL.String())
	b.asked = append(b.asked, r)
	f := b.web[r.URL.String()]
	b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, &fetcher.Error{Category: fetcher.Other, Err: fmt.Errorf("fetch cancelled: %w", err)}
	}
	if f == nil {
		return answer(404, "", "not here"), nil
	}
	return f(r)
}

// targets writes targets for comparison: URL, via, depth, hops, band.
func targets(ts []crawl.Target) []string {
	out := []string{}
	for _, t := range ts {
		out = append(out, fmt.Sprintf("%s %v d%d h%d b%d", t.URL, t.Via, t.Depth, t.Hops, t.Band))
	}
	return out
}

func wantTargets(t testing.TB, got []crawl.Target, want ...string) {
	t.Helper()
	if g := targets(got); !slices.Equal(g, want) && len(g)+len(want) > 0 {
		t.Errorf("targets\n got %q\nwant %q", g, want)
	}
}
