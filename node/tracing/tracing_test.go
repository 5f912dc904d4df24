package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/links"
	"crawlnode/peer"
	"crawlnode/pipeline"
	"crawlnode/web/urlnorm"
)

func parse(t *testing.T, text string) urlnorm.URL {
	t.Helper()
	u, err := urlnorm.ParseStored(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestSampler draws a share of the URLs, the same on all nodes of a cluster; a larger share
// contains a smaller one.
func TestSampler(t *testing.T) {
	t.Parallel()
	const urls = 20_000
	little, much, other := NewSampler("a", 0.01, nil), NewSampler("a", 0.1, nil),
		NewSampler("b", 0.1, nil)
	all, none := NewSampler("a", 1, nil), NewSampler("a", 0, nil)
	matching := NewSampler("a", 0,
		[]func(urlnorm.URL) bool{func(u urlnorm.URL) bool { return u.Host() == "h7.test" }})
	var few, many, elsewhere int
	ids := map[trace.TraceID]bool{}
	for i := range urls {
		u := parse(t, fmt.Sprintf("http://h%d.test/p/%d", i%100, i))
		a, first := little.Trace(u)
		b, second := much.Trace(u)
		c, third := other.Trace(u)
		if a != b || a == c || !a.IsValid() || ids[a] {
			t.Fatalf("%v: traces %v, %v and %v", u, a, b, c)
		}
		ids[a] = true
		if first && !second {
			t.Fatalf("%v is in the smaller sample alone", u)
		}
		if id, ok := much.stored(u.String()); id != b || ok != second {
			t.Fatalf("%v: %v, %v as text", u, id, ok)
		}
		if _, ok := all.Trace(u); !ok {
			t.Fatalf("%v is not traced at 1", u)
		}
		if _, ok := none.Trace(u); ok {
			t.Fatalf("%v is traced at 0", u)
		}
		_, asURL := matching.Trace(u)
		_, asText := matching.stored(u.String())
		if want := u.Host() == "h7.test"; asURL != want || asText != want {
			t.Fatalf("%v: matched %v, as text %v", u, asURL, asText)
		}
		few, many, elsewhere = few+count(first), many+count(second), elsewhere+count(third)
	}
	if few < 120 || few > 280 || many < 1700 || many > 2300 || elsewhere < 1700 || elsewhere > 2300 {
		t.Errorf("of %d URLs %d at 0.01, %d and %d at 0.1", urls, few, many, elsewhere)
	}
	if _, ok := matching.stored("no URL"); ok {
		t.Error("what is no URL is traced")
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// fakeParts are what the decorators stand in front of.
type fakeParts struct {
	links.Store
	links.Peers
	visits []crawl.Visit
}

func (f *fakeParts) Next(context.Context) (v crawl.Visit, err error) {
	v, f.visits = f.visits[0], f.visits[1:]
	return v, nil
}
func (f *fakeParts) Context(crawl.Visit) (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(context.Background())
}
func (f *fakeParts) MayRequest(crawl.Visit) bool         { return true }
func (f *fakeParts) Release(crawl.Visit, crawl.Response) {}
func (f *fakeParts) Put(context.Context, crawl.Capture) (crawl.ArchiveRef, error) {
	return crawl.ArchiveRef{File: "a.warc.gz", Offset: 7}, nil
}
func (f *fakeParts) Add(_ context.Context, ls []crawl.Routed) ([]frontier.Admission, error) {
	return []frontier.Admission{frontier.Added, frontier.Known}[:len(ls)], nil
}
func (f *fakeParts) Forward(context.Context, crawl.NodeID, []*peer.Link) ([]peer.Verdict, error) {
	return []peer.Verdict{peer.Verdict_VERDICT_ADDED}, nil
}

// fakeSink completes into the store, as a Completer does.
type fakeSink struct{ store links.Store }

func (s fakeSink) Complete(ctx context.Context, v crawl.Visit, o crawl.Outcome) error {
	return s.store.Complete(ctx, frontier.Completion{Lease: v.Lease, Outcome: o})
}

type fakeStore struct{ *fakeParts }

func (fakeStore) Complete(context.Context, frontier.Completion) error { return nil }

// TestTree makes the trip of a URL on two tracers, as on two nodes, and looks at the tree.
func TestTree(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	node := func(name string) *Tracer {
		tr, err := New(Options{
			Share:    1,
			Cluster:  "c",
			Node:     name,
			Log:      slog.New(slog.DiscardHandler),
			Exporter: keep{spans},
		})
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	u, page := parse(t, "http://a.test/x"), parse(t, "http://b.test/")
	first, second := node("n1"), node("n2")
	ctx := t.Context()

	// On the first node a page with the link is completed, and the link is sent.
	parts := &fakeParts{
		visits: []crawl.Visit{{Lease: crawl.Lease{Host: "b.test", Item: crawl.Item{URL: page}}}},
	}
	v1 := NewVisits(first)
	runVisit(t, v1, parts, crawl.Outcome{
		Kind:      crawl.Fetched,
		Status:    200,
		Took:      time.Millisecond,
		FetchedAt: time.Now(),
		Targets:   []crawl.Target{{URL: u, Depth: 1}},
	})
	if _, err := first.Peers(parts).Forward(ctx, "id2", []*peer.Link{{Url: u.String()}}); err != nil {
		t.Fatal(err)
	}
	// The second one admits it, is sent away by robots.txt once, and fetches it.
	v2 := NewVisits(second)
	if _, err := v2.Store(fakeStore{parts}).Add(ctx, []crawl.Routed{{Target: crawl.Target{URL: u}},
		{Target: crawl.Target{URL: page}}}); err != nil {
		t.Fatal(err)
	}
	item := crawl.Visit{Lease: crawl.Lease{Host: "a.test", Item: crawl.Item{URL: u}}}
	again := item
	again.Item.Revisit = true
	parts.visits = []crawl.Visit{item, item, again}
	runVisit(t, v2, parts, crawl.Outcome{Kind: crawl.RobotsFetched})
	runVisit(t, v2, parts,
		crawl.Outcome{Kind: crawl.Fetched, Status: 200, Took: time.Millisecond, FetchedAt: time.Now()})
	runVisit(t, v2, parts,
		crawl.Outcome{Kind: crawl.Fetched, Status: 304, Took: time.Millisecond, FetchedAt: time.Now()})
	if len(v1.open)+len(v2.open) > 0 {
		t.Errorf("visits are left open: %v, %v", v1.open, v2.open)
	}
	for _, tr := range []*Tracer{first, second} {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	}
	id, _ := first.sampler.Trace(u)
	got := map[string]int{}
	known := map[trace.SpanID]string{}
	for _, s := range spans.GetSpans() {
		if s.SpanContext.TraceID() == id {
			known[s.SpanContext.SpanID()] = s.Name
		}
	}
	for _, s := range spans.GetSpans() {
		if s.SpanContext.TraceID() != id {
			continue
		}
		parent := known[s.Parent.SpanID()]
		if s.Parent.SpanID().IsValid() && parent == "" {
			t.Errorf("%s has an unknown parent", s.Name)
		}
		got[parent+"/"+s.Name]++
	}
	want := map[string]int{
		"/crawl":        1,
		"crawl/found":   1,
		"crawl/forward": 1,
		"crawl/admit":   1,
		"crawl/visit":   3,
		"visit/archive": 3,
		"visit/store":   3,
		"visit/fetch":   2,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("spans %v, want %v", got, want)
	}
}

func runVisit(t *testing.T, v *Visits, parts *fakeParts, o crawl.Outcome) {
	t.Helper()
	next, err := v.Source(pipeline.Source(parts)).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Archive(parts).Put(t.Context(), crawl.Capture{URL: next.Item.URL}); err != nil {
		t.Fatal(err)
	}
	if err := v.Sink(fakeSink{v.Store(fakeStore{parts})}).Complete(t.Context(), next, o); err != nil {
		t.Fatal(err)
	}
}

// keep is an exporter that keeps its spans when the tracer ends.
type keep struct{ *tracetest.InMemoryExporter }

func (keep) Shutdown(context.Context) error { return nil }

// deaf is a collector that never answers.
type deaf struct{ asked chan struct{} }

func (d deaf) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	select {
	case d.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return errors.New("no answer")
}
func (deaf) Shutdown(context.Context) error { return nil }

// TestDeafCollector makes more spans than fit: nobody waits, and the end comes in time.
func TestDeafCollector(t *testing.T) {
	t.Parallel()
	d := deaf{make(chan struct{}, 1)}
	tr, err := New(Options{Share: 1, Cluster: "c", Log: slog.New(slog.DiscardHandler), Exporter: d})
	if err != nil {
		t.Fatal(err)
	}
	id, _ := tr.sampler.Trace(parse(t, "http://a.test/"))
	for range 2 * maxWaiting {
		tr.span(id, root(id), "found", time.Now(), time.Now(), attribute.Int("n", 1))
	}
	<-d.asked
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkSampler is what a link costs with traces on.
func BenchmarkSampler(b *testing.B) {
	s := NewSampler("c", 0.001, nil)
	u, err := urlnorm.ParseStored("http://docs.example.org/guide/chapter-7/section-12.html")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, _ = s.Trace(u)
	}
}

// BenchmarkPage is what traces cost a page with 40 links at the default sample, in processor time:
// "cpu-ns/op" is to be compared with that of a page, some hundred microseconds
// (docs/performance.md).
func BenchmarkPage(b *testing.B) {
	tr, err := New(Options{
		Share:    0.001,
		Cluster:  "c",
		Log:      slog.New(slog.DiscardHandler),
		Exporter: tracetest.NewNoopExporter(),
	})
	if err != nil {
		b.Fatal(err)
	}
	v, parts := NewVisits(tr), &fakeParts{}
	var pages []crawl.Visit
	var links []crawl.Target
	for i := range 4000 { // a few of them are in the sample
		u, err := urlnorm.ParseStored(
			fmt.Sprintf("http://docs.example.org/guide/chapter-7/section-%d.html", i))
		if err != nil {
			b.Fatal(err)
		}
		pages, links = append(pages, crawl.Visit{
			Lease: crawl.Lease{Host: "docs.example.org", Item: crawl.Item{URL: u}},
		}), append(links, crawl.Target{URL: u, Depth: 1})
	}
	for _, bare := range []bool{true, false} {
		var from pipeline.Source = parts
		var into pipeline.Archive = parts
		var end pipeline.Sink = fakeSink{fakeStore{parts}}
		if !bare {
			from, into, end = v.Source(from), v.Archive(into), v.Sink(fakeSink{v.Store(fakeStore{parts})})
		}
		b.Run(fmt.Sprintf("bare=%v", bare), func(b *testing.B) {
			before := processorTime(b)
			for i := 0; b.Loop(); i++ {
				parts.visits = pages[i%len(pages):]
				next, _ := from.Next(b.Context())
				_, _ = into.Put(b.Context(), crawl.Capture{URL: next.Item.URL})
				at := i * 40 % len(links)
				_ = end.Complete(b.Context(), next, crawl.Outcome{
					Kind:      crawl.Fetched,
					Status:    200,
					Took:      time.Millisecond,
					FetchedAt: time.Now(),
					Targets:   links[at : at+40],
				})
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
	if err := tr.Close(); err != nil {
		b.Error(err)
	}
}

// processorTime is what this process has used.
func processorTime(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
