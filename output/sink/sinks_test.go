package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/output/lists"
	"crawlnode/output/sink/endpoint"
	"crawlnode/web/preferences"
	"crawlnode/web/urlnorm"
)

// fakeSink keeps what it takes, and refuses while it is told to.
type fakeSink struct {
	mu     sync.Mutex
	took   []string
	keys   []string
	refuse bool
	closed int
	asked  chan struct{} // one token for each Send, when there is room
}

func (f *fakeSink) Send(_ context.Context, events []endpoint.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() {
		select {
		case f.asked <- struct{}{}:
		default:
		}
	}()
	if f.refuse {
		return errors.New("no room")
	}
	for _, e := range events {
		f.took, f.keys = append(f.took, string(e.Line)), append(f.keys, e.Key)
	}
	return nil
}

func (f *fakeSink) Close() error { f.closed++; return nil }

func (f *fakeSink) set(refuse bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = refuse
}

func (f *fakeSink) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.took)
}

type fixture struct {
	t   *testing.T
	dir string
	out *lists.Outputs
	far *fakeSink
	n   int
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, dir: t.TempDir(), far: &fakeSink{asked: make(chan struct{}, 1)}}
	f.open()
	return f
}

func (f *fixture) open() {
	f.t.Helper()
	var err error
	if f.out, err = lists.Open(filepath.Join(f.dir, "derived"), lists.Options{
		Node:  "0123456789abcdef",
		Pages: true,
	}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) pages(n int) {
	f.t.Helper()
	for range n {
		f.n++
		u, err := urlnorm.Parse(fmt.Sprintf("http://h%d.test/%d", f.n%5, f.n))
		if err != nil {
			f.t.Fatal(err)
		}
		if err := f.out.Page(f.t.Context(), &crawl.Capture{
			URL:       u,
			Status:    200,
			FetchedAt: time.Now(),
		}, &crawl.Outcome{Status: 200, FetchedAt: time.Now()}, 1, nil, nil); err != nil {
			f.t.Fatal(err)
		}
	}
}

// TestSinkLeavesOut: with purposes to obey, the pages are not sent whose owner said no to one of
// them; they are passed all the same.
func TestSinkLeavesOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i, tag := range []string{"noai", "", "noarchive", "noai"} {
		u, err := urlnorm.Parse(fmt.Sprintf("http://a.test/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		said := preferences.Of(preferences.Read(&preferences.Sources{
			Header: map[string][]string{"X-Robots-Tag": {tag}},
			Agent:  "crawlnode",
		}), "crawlnode")
		o := &crawl.Outcome{Status: 200, FetchedAt: time.Now(), Preferences: said.Encode()}
		if err := f.out.Page(t.Context(), &crawl.Capture{
			URL:       u,
			Status:    200,
			FetchedAt: o.FetchedAt,
		}, o, 1, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	feeder := f.feeder()
	feeder.o.Obeyed = func() preferences.Purposes {
		return preferences.PurposesOf(preferences.AITrain)
	}
	if err := errors.Join(f.out.Close(), feeder.Finish()); err != nil {
		t.Fatal(err)
	}
	if took := strings.Join(f.far.took, ""); len(f.far.took) != 2 || !strings.Contains(took, "/1") ||
		!strings.Contains(took, "/2") {
		t.Errorf("sent: %q", f.far.took)
	}
	if s := feeder.State(time.Now()); s.EventsTotal != 2 {
		t.Errorf("the state is %+v", s)
	}
}

func (f *fixture) feeder() *Feeder {
	f.t.Helper()
	feeder, err := New(Options{Target: crawl.SinkTarget{
		Kind: "file",
		Name: "far",
	}, Derived: filepath.Join(f.dir, "derived"), Dir: filepath.Join(f.dir, "sinks"),
		Log:  slog.New(slog.DiscardHandler),
		Open: func(crawl.SinkTarget) (endpoint.Sink, error) { return f.far, nil }})
	if err != nil {
		f.t.Fatal(err)
	}
	return feeder
}

// run runs a feeder until a condition holds.
func (f *fixture) run(feeder *Feeder, done func() bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 15*time.Minute)
	over := make(chan struct{})
	go func() { feeder.Run(ctx); close(over) }()
	for !done() && ctx.Err() == nil {
		select {
		case <-f.far.asked:
		case <-time.After(5 * time.Millisecond):
		}
	}
	if ctx.Err() != nil {
		f.t.Error("the feeder does not get there")
	}
	cancel()
	<-over
}

// TestFeeds sends each line once and in order over an end and a new start, and at the end what came
// late.
func TestFeeds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.pages(1200)
	feeder := f.feeder()
	f.run(feeder, func() bool { return f.far.count() == 1200 })
	f.pages(30)
	if err := f.out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := feeder.Finish(); err != nil || f.far.closed != 1 {
		t.Errorf("%v, closed %d times", err, f.far.closed)
	}
	f.open()
	f.pages(20)
	second := f.feeder()
	f.run(second, func() bool { return f.far.count() == 1250 })
	if s := second.State(time.Now()); s.EventsTotal != 1250 || s.ErrorsTotal != 0 || s.Error != nil ||
		s.Sink != "file:far" {
		t.Errorf("%+v", s)
	}
	for i, line := range f.far.took {
		if host := fmt.Sprintf("h%d.test", (i+1)%5); f.far.keys[i] != host ||
			!strings.HasPrefix(line, fmt.Sprintf(`{"url":"http://%s/%d"`, host, i+1)) {
			t.Fatalf("event %d has the key %s: %s", i, f.far.keys[i], line)
		}
	}
	if err := f.out.Close(); err != nil {
		t.Error(err)
	}
}

// TestRefused waits for a sink that takes nothing, says so, and loses nothing.
func TestRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.far.set(true)
	f.pages(10)
	feeder := f.feeder()
	f.run(feeder, func() bool { return feeder.State(time.Now()).ErrorsTotal > 0 })
	now := time.Now()
	if s := feeder.State(now.Add(time.Minute)); s.Error == nil || *s.Error != "no room" ||
		s.FailsSince == nil || s.BehindSeconds < 59 || s.EventsTotal != 0 {
		t.Errorf("while it refuses: %+v", s)
	}
	f.far.set(false)
	f.run(feeder,
		func() bool { return f.far.count() == 10 && feeder.State(time.Now()).BehindSeconds == 0 })
	if s := feeder.State(now); s.Error != nil || s.FailsSince != nil || s.EventsTotal != 10 {
		t.Errorf("afterwards: %+v", s)
	}
	// The end does not wait for a sink that refuses.
	f.far.set(true)
	f.pages(1)
	if err := f.out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := feeder.Finish(); err != nil {
		t.Error(err)
	}
	f.open()
	f.far.set(false)
	f.run(f.feeder(), func() bool { return f.far.count() == 11 })
	if err := f.out.Close(); err != nil {
		t.Error(err)
	}
}

// TestKilled takes the cursor back, as a kill between a batch and its cursor does: the batch comes
// again, in order.
func TestKilled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.pages(100)
	feeder := f.feeder()
	f.run(feeder, func() bool { return f.far.count() == 100 })
	saved, err := os.ReadFile(feeder.path)
	if err != nil {
		t.Fatal(err)
	}
	f.pages(100)
	f.run(feeder, func() bool { return f.far.count() == 200 })
	if err := os.WriteFile(feeder.path, saved, 0o600); err != nil {
		t.Fatal(err)
	}
	f.run(f.feeder(), func() bool { return f.far.count() == 300 })
	if !slices.Equal(f.far.took[100:200], f.far.took[200:]) {
		t.Error("the repeated events are not those since the cursor")
	}
	if err := os.WriteFile(feeder.path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(feeder.o); err == nil || !strings.Contains(err.Error(), feeder.path) {
		t.Errorf("a damaged cursor: %v", err)
	}
	if err := f.out.Close(); err != nil {
		t.Error(err)
	}
}

// TestSet has no sinks, one that cannot be, and one.
func TestSet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	none, err := Open(nil, dir, dir, nil, log)
	if err != nil || none != nil || len(none.State(time.Now())) != 0 || none.Finish() != nil {
		t.Error(none, err)
	}
	none.Run(t.Context())
	if _, err := Open([]string{"file:" + filepath.Join(dir, "a"),
		"file:" + dir}, dir, filepath.Join(dir, "sinks"), nil, log); err == nil ||
		!strings.Contains(err.Error(), "--sink file:"+dir) {
		t.Error(err)
	}
	away := "file:" + filepath.Join(dir, "none", "a")
	_, err = Open([]string{away}, dir, filepath.Join(dir, "sinks"), nil, log)
	if err = datadir.Failed("open the sinks", err); !errors.Is(err, datadir.ErrUsage) ||
		errors.Is(err, datadir.ErrStorage) {
		t.Errorf("a file in a folder that is not there: %v", err)
	}
	if text := err.Error(); strings.Count(text, away) != 1 || strings.Contains(text, "--data-dir") ||
		!strings.Contains(text, "name a file in a folder that exists") {
		t.Error(text)
	}
	one, err := Open([]string{"file:" + filepath.Join(dir, "a")}, dir, filepath.Join(dir, "sinks"),
		nil, log)
	if err != nil || len(one.State(time.Now())) != 1 {
		t.Fatal(one, err)
	}
	if err := one.Finish(); err != nil {
		t.Error(err)
	}
}
