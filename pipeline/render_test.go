package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/scope"
)

// browser is a Renderer for tests.
type browser struct {
	mu     sync.Mutex
	places int           // free ones
	wait   time.Duration // of Reserve, when there are none
	ahead  bool          // Reserve takes a slot
	parse  bool          // Decide needs the parsed page
	no     bool          // Decide says no
	err    error         // of Render
	hangs  bool          // Render ends with its context
	shown  Shown
	pages  []string
}

func (b *browser) Reserve(*crawl.Visit, *crawl.Settings) (RenderSlot, time.Duration) {
	if !b.ahead {
		return nil, 0
	}
	if p := b.Late(nil); p != nil {
		return p, 0
	}
	return nil, b.wait
}

func (b *browser) Late(*crawl.Visit) RenderSlot {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.places == 0 {
		return nil
	}
	b.places--
	return b
}

func (b *browser) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places++
}

func (b *browser) Decide(
	_ *Showing,
	doc *htmlparse.Document,
	_ *crawl.Settings,
) (crawl.Rendering, bool) {
	return crawl.Rendering{Rendered: !b.no, Reason: "so it is"}, !b.parse || doc != nil
}

func (b *browser) Render(ctx context.Context, p *Showing, _ *crawl.Settings) (*Shown, error) {
	b.mu.Lock()
	b.pages = append(b.pages, p.Visit.Item.URL.String())
	b.mu.Unlock()
	if b.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &b.shown, b.err
}

// showing is a bench whose pages go to a browser.
func showing(t *testing.T, w *browser) *bench {
	b := newBench(t, scope.Options{})
	b.rules.Settings.Archive, b.rules.Settings.Render = true, crawl.RenderAll
	b.serve("http://a.test/", 200, "ETag: \"1\"", `<a href="/plain">plain</a>`)
	b.visit("http://a.test/")
	b.p = New(Options{
		Workers:   1,
		Source:    b,
		Sink:      b,
		Archive:   b,
		Contents:  b,
		Fetcher:   b,
		Elsewhere: b,
		Renderer:  w,
		Rules:     func() *Rules { return &b.rules },
	})
	return b
}

// TestShown takes links, text and DOM from the browser, in one visit of the page.
func TestShown(t *testing.T) {
	t.Parallel()
	for _, w := range []*browser{{places: 1, ahead: true}, {places: 1}, {places: 1, parse: true}} {
		w.shown = Shown{
			DOM:        []byte(`<a href="/made">made</a><a href="/plain">plain</a>`),
			Text:       []byte(strings.Repeat("what a reader sees\n and more words ", 20)),
			Links:      []string{"http://a.test/made", "http://a.test/pushed", "http://b.test/", "mailto:x"},
			Requests:   3,
			Took:       1500 * time.Millisecond,
			Screenshot: []byte("png"),
			Incomplete: "cut",
		}
		b := showing(t, w)
		b.content = map[string]ContentAnswer{
			"http://a.test/": {Original: &crawl.Original{URL: "http://a.test/other"}},
		}
		r, o := b.one()
		if r.Kind != crawl.Fetched || o.Kind != crawl.Fetched || o.ETag != "" || o.DuplicateOf != "" ||
			o.Simhash == 0 || o.Reason != "cut" || o.Skipped[crawl.SkipOutOfScope] != 1 ||
			o.LinksFound != 4 {
			t.Errorf("%+v", o)
		}
		wantTargets(t, o.Targets, "http://a.test/made link d1 h0 b1", "http://a.test/plain link d1 h0 b1",
			"http://a.test/pushed link d1 h0 b1")
		if b.questions[0].Simhash != o.Simhash {
			t.Error("the text of the frame was compared, not what a reader sees")
		}
		if d := o.Rendering; d == nil || !d.Rendered || d.Reason != "so it is" ||
			d.Milliseconds != 1500 || d.Requests != 3 {
			t.Errorf("decided %+v", d)
		}
		c := b.captures[0]
		if string(c.Body) != `<a href="/plain">plain</a>` || len(c.Resources) != 2 ||
			string(c.Resources[0].Body) != string(w.shown.DOM) || c.Resources[1].ContentType != "image/png" {
			t.Errorf("captured %+v", c)
		}
		if w.places != 1 || !slices.Equal(b.log, []string{"fetch http://a.test/", "release fetched",
			"archive http://a.test/", "complete fetched"}) {
			t.Errorf("%d places, %q", w.places, b.log)
		}
	}
}

// TestRoutes: fragments of the document that is shown are pages when they begin as a route does.
func TestRoutes(t *testing.T) {
	t.Parallel()
	w := &browser{places: 9, ahead: true}
	w.shown = Shown{Links: []string{"http://a.test/#/guide", "http://a.test/#top", "http://a.test/#/",
		"http://a.test/#!x", "http://a.test/#/guide?id=a", "http://a.test/other#/guide",
		"http://b.test/#/x"}}
	b := showing(t, w)
	_, o := b.one()
	wantTargets(t, o.Targets, "http://a.test/#/guide link d1 h0 b1", "http://a.test/#!x link d1 h0 b1",
		"http://a.test/#/guide?id=a link d1 h0 b1", "http://a.test/other link d1 h0 b1")
	w.shown.DOM = []byte("<script>window.$docsify = {}</script>")
	b = showing(t, w)
	_, o = b.one()
	wantTargets(t, o.Targets, "http://a.test/#/guide link d1 h0 b1", "http://a.test/#!x link d1 h0 b1",
		"http://a.test/other link d1 h0 b1")
}

// TestNotShown: pages that no browser shows, or that it cannot show, are taken as they were
// fetched.
func TestNotShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		w      *browser
		change func(*bench)
		reason string
		shown  int
	}{
		"decided":        {w: &browser{places: 1, no: true}},
		"decided parsed": {w: &browser{places: 1, no: true, parse: true}},
		"broken": {
			w:      &browser{places: 1, err: errors.New("no window")},
			reason: "no window",
			shown:  1,
		},
		"off": {
			w:      &browser{places: 1, ahead: true},
			change: func(b *bench) { b.rules.Settings.Render = "" },
		},
		"no page": {
			w:      &browser{places: 1, ahead: true},
			change: func(b *bench) { b.serve("http://a.test/", 200, "Content-Type: text/plain", "x") },
		},
		"missing": {
			w:      &browser{places: 1, ahead: true},
			change: func(b *bench) { b.serve("http://a.test/", 404, "", "x") },
		},
		"no answer": {
			w:      &browser{places: 1, ahead: true},
			change: func(b *bench) { b.fail("http://a.test/", errors.New("silence")) },
			reason: "silence",
		},
	} {
		b := showing(t, c.w)
		if c.change != nil {
			c.change(b)
		}
		_, o := b.one()
		if o.Rendering != nil && o.Rendering.Rendered || !strings.Contains(o.Reason, c.reason) ||
			len(c.w.pages) != c.shown || c.w.places != 1 {
			t.Errorf("%s: %+v, %+v, %d places", name, o, o.Rendering, c.w.places)
		}
		if o.Kind == crawl.Fetched && o.ContentType == "text/html" && o.Status == 200 {
			wantTargets(t, o.Targets, "http://a.test/plain link d1 h0 b1")
			if len(b.captures) != 1 || len(b.captures[0].Resources) != 0 {
				t.Errorf("%s: captured %+v", name, b.captures)
			}
		}
	}
}

// TestNoPlace: a page without a slot stays queued, if possible without a request.
func TestNoPlace(t *testing.T) {
	t.Parallel()
	b := showing(t, &browser{ahead: true, wait: 3 * time.Second})
	r, o := b.one()
	if r.Kind != crawl.Aborted || r.HoldPages != 3*time.Second || r.Requested ||
		o.Kind != crawl.Aborted || len(b.asked) != 0 {
		t.Errorf("%+v, %+v", r, o)
	}
	b = showing(t, &browser{})
	r, o = b.one()
	if r.Kind != crawl.Fetched || o.Kind != crawl.Aborted || len(b.captures) != 0 {
		t.Errorf("%+v, %+v", r, o)
	}
}

// TestShownTakenBack: a page whose visit is cancelled while a browser shows it stays queued, and
// the end of the pipeline cancels it.
func TestShownTakenBack(t *testing.T) {
	t.Parallel()
	w := &browser{places: 1, ahead: true, hangs: true}
	b := showing(t, w)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- b.runWith(ctx, b) }()
	for shown := 0; shown == 0; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		shown = len(w.pages)
		w.mu.Unlock()
	}
	end()
	if err := <-done; err != nil || len(b.outcomes) != 1 || b.outcomes[0].Kind != crawl.Aborted ||
		w.places != 1 {
		t.Errorf("%v, %+v, %d places", err, b.outcomes, w.places)
	}
}

// TestShownMoved: a page whose host moves away while a browser shows it stays queued, and nothing
// of it is archived.
func TestShownMoved(t *testing.T) {
	t.Parallel()
	w := &browser{places: 1, err: fmt.Errorf("shown in vain: %w", ErrMoved)}
	b := showing(t, w)
	if _, o := b.one(); o.Kind != crawl.Aborted || len(b.captures) != 0 || w.places != 1 {
		t.Errorf("%+v, captured %+v, %d places", o, b.captures, w.places)
	}
}

// TestPart makes a request for a page in the browser, under robots.txt, and hands the answer over.
func TestPart(t *testing.T) {
	t.Parallel()
	part := func(v *crawl.Visit) { v.Item.Via = crawl.ViaPart }
	b := newBench(t, scope.Options{})
	b.serve("http://c.test/x.js", 200, "Content-Type: text/javascript", "alert()")
	b.visit("http://c.test/x.js", part) // whose host is not in scope: the asker has judged it
	r, o := b.one()
	if r.Kind != crawl.Fetched || !r.Requested || o.Part == nil || string(o.Part.Body) != "alert()" ||
		o.Part.Status != 200 || o.Part.Header.Get("Content-Type") != "text/javascript" ||
		len(b.captures) != 0 {
		t.Errorf("%+v, %+v", r, o)
	}
	b = newBench(t, scope.Options{})
	b.visit("http://a.test/x.js", part, func(v *crawl.Visit) {
		v.Robots = &crawl.Robots{Verdict: crawl.RobotsDenyAll, Expires: time.Now().Add(time.Hour)}
	})
	if r, o := b.one(); r.Requested || o.Part != nil || o.Reason == "" {
		t.Errorf("%+v, %+v", r, o)
	}
	b = newBench(t, scope.Options{})
	b.serve("http://a.test/x.js", 429, "Retry-After: 7", "")
	b.visit("http://a.test/x.js", part)
	if r, o := b.one(); r.Kind != crawl.RateLimited || r.RetryAfter != 7*time.Second ||
		o.Part.Status != 429 {
		t.Errorf("%+v, %+v", r, o)
	}
	b = newBench(t, scope.Options{})
	var sent fetcher.Request
	b.serve("http://a.test/x.js", 200, "", "")
	b.web["http://a.test/x.js"] = func(r fetcher.Request) (*fetcher.Response, error) {
		sent = r
		return answer(304, "", ""), nil
	}
	b.visit("http://a.test/x.js", part,
		func(v *crawl.Visit) {
			v.Item.ETag, v.Item.LastModified = `"1"`, "Thu, 01 Jan 2026 00:00:00 GMT"
		})
	if _, o := b.one(); sent.ETag != `"1"` || sent.LastModified == "" || o.Part == nil ||
		o.Part.Status != 304 || o.ETag != `"1"` || o.LastMod != sent.LastModified {
		t.Errorf("asked with %q and %q: %+v", sent.ETag, sent.LastModified, o)
	}
	b = newBench(t, scope.Options{})
	cut := answer(200, "", "x")
	cut.Truncated = fetcher.CutLength
	b.serve("http://a.test/x.js", 200, "", "")
	b.web["http://a.test/x.js"] = func(fetcher.Request) (*fetcher.Response, error) { return cut, nil }
	b.visit("http://a.test/x.js", part)
	if _, o := b.one(); o.Part == nil || o.Part.Refusal == "" {
		t.Errorf("half an answer is passed on: %+v", o)
	}
}
