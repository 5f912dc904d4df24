package render

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/pipeline"
	"crawlnode/render/browser"
	"crawlnode/render/decide"
	"crawlnode/web/htmlparse"
)

const (
	// placesPerRenderer is how many pages may be fetched for a browser, wait for it or be in it, for
	// each that can be in it at a time.
	placesPerRenderer = 8
	// shortPause is the least time for which a host is asked to wait for a place, and longPause the
	// most. While many wait, they come back one after the other, pace apart.
	shortPause = 500 * time.Millisecond
	longPause  = time.Minute
	pace       = 2 * time.Millisecond
	// moreTries is how often a page whose browser ended is shown again.
	moreTries = 2
)

// Node is what a Renderer asks of its node. Any goroutine calls it. Only Call blocks.
type Node interface {
	// Rules are the present ones. They are not changed.
	Rules() *pipeline.Rules
	// Partitions is their number; 0 before the node has joined.
	Partitions() int
	// Holder is the node that holds p, as far as is known; "": none is.
	Holder(p crawl.Partition) crawl.NodeID
	// Call asks another node for a part, whose Renderer.Serve answers. Its error has a gRPC status.
	Call(ctx context.Context, to crawl.NodeID, req *peer.PartRequest) (*peer.PartReply, error)
	// Look tells the dispatcher that a part waits.
	Look()
}

// Options are the parts of a Renderer.
type Options struct {
	Self       crawl.NodeID
	Dir        string // for profiles of the browser; the Renderer owns it
	Browser    string // path; "": the first that is installed
	Renderers  int    // pages in the browser at a time; 0: one per processor
	Timeout    time.Duration
	Memory     int64 // of the browser's processes
	CacheBytes int   // of answers that pages share
	Fetchers   int   // of the node
	Node       Node
	Log        *slog.Logger
}

// Renderer shows pages to a browser. It is the pipeline's Renderer.
type Renderer struct {
	// Parts are the requests of pages, for the dispatcher.
	Parts *Parts

	o       Options
	log     *slog.Logger
	browser string // path; "": there is none
	places  int

	hits   atomic.Int64
	failed atomic.Int64
	warned atomic.Bool // that the browser does not start

	mu      sync.Mutex // guards the rest
	pool    *browser.Pool
	ended   bool
	taken   int       // places
	inside  int       // pages in Render
	next    time.Time // when the last host that was asked to wait comes back
	buckets [crawl.NumLatencyBuckets]int64
	learner *decide.Learner

	asked  chan struct{} // a slot for each question to other nodes
	served chan struct{} // and of other nodes
}

// New makes a Renderer and removes what a browser of an earlier process has left in o.Dir. It
// starts no browser. Without one it shows no page (Missing).
func New(o Options) (*Renderer, error) {
	if o.Renderers <= 0 {
		o.Renderers = runtime.GOMAXPROCS(0)
	}
	r := &Renderer{
		o:       o,
		log:     o.Log,
		places:  max(1, min(placesPerRenderer*o.Renderers, o.Fetchers/2)),
		learner: decide.NewLearner(),
		asked:   make(chan struct{}, maxAsked),
		served:  make(chan struct{}, maxServed),
	}
	r.Parts = newParts(o.CacheBytes, r)
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if path, err := browser.Find(o.Browser); err == nil && runtime.GOOS == "linux" {
		r.browser = path
	}
	if _, err := os.Stat(o.Dir); err == nil && r.browser != "" {
		if err := r.openLocked(); err != nil { // an earlier process had pages in a browser
			return nil, err
		}
	}
	return r, nil
}

// ErrNoBrowser is a node that shall show pages to a browser and has none.
var ErrNoBrowser = errors.New("no browser")

// Missing says what is missing to show pages; nil: nothing.
func (r *Renderer) Missing() error {
	if r.browser != "" {
		return nil
	}
	if r.o.Browser != "" {
		return fmt.Errorf("%w: --browser %s is not there or is not a program", ErrNoBrowser, r.o.Browser)
	}
	return fmt.Errorf("%w: install chromium or chromium-headless-shell (apt-get install chromium), "+
		"name one with --browser, or leave out --render", ErrNoBrowser)
}

// openLocked makes the pool.
func (r *Renderer) openLocked() error {
	if r.pool != nil || r.ended {
		return nil
	}
	pool, err := browser.New(browser.Config{
		Browser:     r.browser,
		Dir:         r.o.Dir,
		Tabs:        r.o.Renderers,
		Timeout:     r.o.Timeout,
		MemoryBytes: r.o.Memory,
	})
	if err != nil {
		return fmt.Errorf("prepare the browser: %w", err)
	}
	r.pool = pool
	return nil
}

// Close ends the browser.
func (r *Renderer) Close() {
	r.mu.Lock()
	pool := r.pool
	r.pool, r.ended = nil, true
	r.mu.Unlock()
	if pool != nil {
		pool.Close()
	}
}

// place is one page's.
type place struct {
	r    *Renderer
	gone sync.Once
}

// Release gives the slot back.
func (p *place) Release() {
	p.gone.Do(func() {
		p.r.mu.Lock()
		defer p.r.mu.Unlock()
		p.r.taken--
	})
}

// Reserve is part of pipeline.Renderer, as the methods below.
func (r *Renderer) Reserve(v *crawl.Visit, s *crawl.Settings) (pipeline.RenderSlot, time.Duration) {
	if r.browser == "" || !r.expects(v, s) {
		return nil, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken < r.places {
		r.taken++
		return &place{r: r}, 0
	}
	now := time.Now()
	r.next = r.next.Add(pace)
	if soonest := now.Add(shortPause); r.next.Before(soonest) {
		r.next = soonest
	}
	return nil, min(r.next.Sub(now), longPause)
}

// expects reports whether a page that is not fetched yet will need a place.
func (r *Renderer) expects(v *crawl.Visit, s *crawl.Settings) bool {
	switch {
	case r.matched(v, s), v.Item.URL.Route() != "":
		return true
	case s.Render == crawl.RenderAll:
		return len(s.RenderMatch) == 0 || r.ruled(v)
	}
	u := v.Item.URL
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.learner.Expects(u.Host(), u.Path())
}

// matched reports whether a pattern names the page of v.
func (r *Renderer) matched(v *crawl.Visit, s *crawl.Settings) bool {
	match := r.o.Node.Rules().RenderMatch
	return len(s.RenderMatch) > 0 && match != nil && match.Decide(v.Item.URL, 1, nil).Admit
}

// ruled reports whether a rule for sites says how the page of v is shown. No pattern of the whole
// crawl then leaves it out.
func (r *Renderer) ruled(v *crawl.Visit) bool {
	site := r.o.Node.Rules().Sites.Of(v.Item.URL)
	return site != nil && site.From("render") != nil
}

// Late takes a place for a page that was fetched without one.
func (r *Renderer) Late(*crawl.Visit) pipeline.RenderSlot {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken >= r.places {
		return nil
	}
	r.taken++
	return &place{r: r}
}

// Decide says whether a page is shown. With --render auto its text decides, so it has to be parsed,
// unless it has no script.
func (r *Renderer) Decide(
	p *pipeline.Showing,
	doc *htmlparse.Document,
	s *crawl.Settings,
) (d crawl.Rendering, known bool) {
	matched := r.matched(p.Visit, s)
	switch {
	case r.browser == "":
		return crawl.Rendering{Reason: "this node has no browser"}, true
	case matched:
		return crawl.Rendering{Rendered: true, Reason: "--render-match names it"}, true
	case p.Visit.Item.URL.Route() != "":
		return crawl.Rendering{Rendered: true, Reason: "its address is a route of an application"}, true
	case s.Render == crawl.RenderAll && r.ruled(p.Visit):
		return crawl.Rendering{Rendered: true, Reason: "a rule for its site has render: all"}, true
	case s.Render == crawl.RenderAll && len(s.RenderMatch) > 0:
		return crawl.Rendering{Reason: "--render-match does not name it"}, true
	case s.Render == crawl.RenderAll:
		return crawl.Rendering{Rendered: true, Reason: "--render all"}, true
	}
	return r.judge(p, doc)
}

// Render shows a page. One whose browser ended, for another page's sake it may be, is shown again.
func (r *Renderer) Render(
	ctx context.Context,
	p *pipeline.Showing,
	s *crawl.Settings,
) (*pipeline.Shown, error) {
	r.mu.Lock()
	err := r.openLocked()
	pool := r.pool
	r.inside++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.inside--
	}()
	if pool == nil {
		return nil, errors.Join(browser.ErrClosed, err)
	}
	own := *p // the browser may still have the page when its visit has ended
	own.Body = slices.Clone(p.Body)
	p = &own
	visit := ctx
	ctx, end := context.WithCancelCause(visit)
	defer end(nil)
	a := &asker{r: r, page: p, s: s, rules: r.o.Node.Rules(), end: end}
	page := browser.Page{
		URL:        p.Visit.Item.URL.String(),
		Response:   browser.Response{Status: p.Status, Header: p.Header, Body: p.Body},
		Screenshot: s.RenderScreenshot,
	}
	result, err := pool.Render(ctx, page, a)
	for range moreTries {
		if !errors.Is(err, browser.ErrBrowser) || ctx.Err() != nil || r.stopped() {
			break
		}
		result, err = pool.Render(ctx, page, a)
	}
	if cause := context.Cause(ctx); errors.Is(cause, pipeline.ErrMoved) && visit.Err() == nil {
		return nil, cause // whatever the browser has made of it meanwhile
	}
	if err != nil {
		if ctx.Err() == nil {
			r.failed.Add(1)
			r.complain(page.URL, err)
		}
		return nil, err
	}
	r.warned.Store(false)
	r.observe(result.Duration)
	r.learn(p, &result)
	return shown(&result), nil
}

// stopped reports whether Close was called: a page that waits for a browser then need not wait for
// another.
func (r *Renderer) stopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// complain logs a page that could not be shown. A browser that does not start is a warning, once
// until the next start.
func (r *Renderer) complain(url string, err error) {
	if errors.Is(err, browser.ErrNotStarted) && !r.warned.Swap(true) {
		r.log.Warn("the browser does not start, so pages are taken as they were fetched; "+
			"does `BROWSER --headless --dump-dom about:blank` work as this user?", "browser", r.browser,
			"error", err)
		return
	}
	r.log.Debug("a page could not be shown to the browser", "url", url, "error", err)
}

func shown(r *browser.Result) *pipeline.Shown {
	x := &pipeline.Shown{
		DOM:        []byte(r.DOM),
		Text:       []byte(r.Text),
		Links:      r.Links,
		Screenshot: r.Screenshot,
		Requests:   r.Requests,
		Took:       r.Duration,
	}
	switch {
	case r.TimedOut:
		x.Incomplete = "the browser was not done with it at its time limit"
	case r.Truncated:
		x.Incomplete = "the browser's page was larger than its limits"
	}
	return x
}

// observe counts the time of a page.
func (r *Renderer) observe(took time.Duration) {
	k := 0
	for k < len(crawl.LatencyBuckets) && took.Milliseconds() > crawl.LatencyBuckets[k] {
		k++
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buckets[k]++
}

// Block is what the node says of its browser; nil: no page is shown.
func (r *Renderer) Block() *crawl.RenderBlock {
	if rules := r.o.Node.Rules(); !rules.Settings.Renders() && !rules.Sites.Renders() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := &crawl.RenderBlock{
		Browser: r.browser,
		Max:     r.o.Renderers,
		Failed:  r.failed.Load(),
		Hits:    r.hits.Load(),
		Buckets: append([]int64(nil), r.buckets[:]...),
	}
	if r.browser == "" {
		b.Max = 0
	}
	if r.pool != nil {
		s := r.pool.Stats()
		b.Broken = s.Broken
		b.Busy, b.Pages, b.Timeouts, b.Restarts, b.Refused = s.Busy, s.Pages, s.Timeouts, s.Restarts,
			s.Refused
	}
	b.Queued = max(r.inside-b.Busy, 0)
	return b
}
