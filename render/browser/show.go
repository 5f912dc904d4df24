package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// showing is one page in a tab.
type showing struct {
	tab     *tab
	page    Page
	fetcher Fetcher
	wg      sync.WaitGroup // of requests

	asking context.Context // of requests; done when the page was read
	over   func()          // ends asking

	open    atomic.Int64 // requests that are being fetched
	ended   atomic.Int64 // when the last of them had ended, in nanoseconds
	waiting chan struct{}

	mu       sync.Mutex // guards what follows
	done     bool       // no more requests are fetched
	answered bool       // the document was given to the browser
	requests int
	refused  int
	bytes    int
	routes   []string // of scripts, and navigations that were aborted
}

func newShowing(t *tab, p Page, fetcher Fetcher) *showing {
	s := &showing{tab: t, page: p, fetcher: fetcher, waiting: make(chan struct{}, maxOpenRequests)}
	s.asking, s.over = context.WithCancel(t.ctx)
	return s
}

// begin starts the browser if need be, and returns when the page's time will be over: it begins
// now, however long the start took.
func (b *browser) begin(timeout time.Duration) (end time.Time, err error) {
	if err := b.ensure(); err != nil {
		return time.Time{}, err
	}
	return time.Now().Add(timeout), nil
}

// render shows one page, in the tab that is given or in a new one. It returns within the time-out
// plus Grace, after the start of the browser. The caller calls closing, which clears or closes the
// tab. That reports whether the browser is healthy (if not, it has to be killed), and the tab if it
// can show another page.
func (b *browser) render(
	parent context.Context,
	timeout time.Duration,
	p Page,
	fetcher Fetcher,
	t *tab,
) (result Result, closing func() (healthy bool, kept *tab), err error) {
	end, err := b.begin(timeout)
	if err != nil {
		return Result{}, func() (bool, *tab) { return false, nil }, err
	}
	// a call that does not return ends with the browser
	abort := time.AfterFunc(time.Until(end)+readTime, b.kill)
	defer abort.Stop()
	if t == nil {
		t = b.newTab(originOf(p.URL))
	}
	s := newShowing(t, p, fetcher)
	// also when it was taken back while the browser started
	stop := context.AfterFunc(parent, t.cancel)
	result, err = s.run(end)
	s.over()
	s.mu.Lock()
	result.Requests, result.Refused = s.requests, s.refused
	s.mu.Unlock()
	switch {
	case parent.Err() != nil:
		result.TimedOut, err = false, parent.Err()
	case err == nil:
	case b.dead() && time.Now().Before(end):
		err = fmt.Errorf("%w while it showed the page: %w", ErrBrowser, err)
	case !time.Now().Before(end):
		result.TimedOut, err = true, fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	result.Duration = timeout - time.Until(end)
	whole, taken := result.whole(err), parent.Err() != nil
	return result, func() (bool, *tab) {
		taken = !stop() || taken
		return s.closing(b, whole, taken)
	}, err
}

// whole reports whether the page was read when it was quiet: its tab can be cleared, or closes
// well, in time.
func (r *Result) whole(err error) bool { return err == nil && !r.TimedOut }

// closing clears the tab of a page that was read when it was quiet, and closes that of another one.
func (s *showing) closing(b *browser, whole, taken bool) (healthy bool, kept *tab) {
	t, patience := s.tab, closeTime
	if whole || taken { // nobody waits for it
		patience = closeLate
	}
	t.shown++
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	if whole && !taken && t.origin != "" && t.shown < pagesPerTab && s.cleared() {
		return !b.dead(), t
	}
	closed := within(patience, func() {
		t.close()
		s.wg.Wait()
	})
	return closed && !b.dead(), nil
}

// cleared clears the tab for another page.
func (s *showing) cleared() bool {
	ctx, cancel := context.WithTimeout(s.tab.ctx, clearTime)
	defer cancel()
	return s.tab.clear(ctx) == nil && within(clearTime, s.wg.Wait)
}

// within waits for do, but no longer than limit. It reports whether do has ended; if not, what it
// waits for ends with the browser, which has to be killed.
func within(limit time.Duration, do func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// run does everything within one tab: open it, navigate, wait, read.
func (s *showing) run(end time.Time) (Result, error) {
	ctx, cancel := context.WithDeadline(s.tab.ctx, end)
	defer cancel()
	if err := s.tab.open(ctx); err != nil {
		return Result{}, err
	}
	s.tab.shows(s)
	navigated, err := chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: s.page.URL})
	if err != nil {
		return Result{}, fmt.Errorf("showing the page: %w", err)
	}
	if navigated.ErrorText != "" {
		return Result{}, fmt.Errorf("showing the page: %s", navigated.ErrorText)
	}
	old := s.tab.origin + blankPath
	if err := s.tab.arrive(ctx, func(at string) bool {
		return at != old && at != "about:blank"
	}); err != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Result{}, fmt.Errorf("showing the page: %w", err)
	}
	late := s.settle(ctx)
	reading, stop := context.WithDeadline(s.tab.ctx, end.Add(readTime))
	defer stop()
	result, err := s.read(reading)
	result.TimedOut = late
	return result, err
}

// route keeps an address that a script wants to go to.
func (s *showing) route(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.routes) < maxRoutes && len(url) <= maxURL {
		s.routes = append(s.routes, url)
	}
}

// settle waits until neither the network nor the DOM has changed for quietTime, scrolls to the end
// once, and waits again. It reports whether the time-out came first.
func (s *showing) settle(ctx context.Context) (late bool) {
	err := s.quiet(ctx)
	if err == nil {
		_, err = evaluate[bool](ctx, s.tab.main, scrollScript)
	}
	if err == nil {
		err = s.quiet(ctx)
	}
	return err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// quiet waits until neither the network nor the DOM has changed for quietTime. The page itself
// looks at its DOM: a look from here costs three processes a turn.
func (s *showing) quiet(ctx context.Context) error {
	for {
		if _, err := evaluate[bool](ctx, s.tab.main, quietScript); err != nil {
			return err
		}
		if s.networkQuiet() {
			return nil
		}
		tick := time.NewTicker(lookEvery)
		for !s.networkQuiet() && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
		tick.Stop()
	}
}

func (s *showing) networkQuiet() bool {
	return s.open.Load() == 0 && time.Since(time.Unix(0, s.ended.Load())) >= quietTime
}

// evaluate runs a script and decodes its value, in a world of its own: nothing that the page has
// changed in its own world is there.
func evaluate[T any](ctx context.Context, frame cdp.FrameID, script string) (value T, err error) {
	world, err := chromedp.Call(ctx, page.CreateIsolatedWorld,
		page.CreateIsolatedWorldParams{FrameID: frame, WorldName: "read"})
	if err != nil {
		return value, err
	}
	yes := true
	result, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{
		Expression:    script,
		ContextID:     world.ExecutionContextID,
		ReturnByValue: &yes,
		AwaitPromise:  &yes,
	})
	switch {
	case err != nil:
		return value, err
	case result.ExceptionDetails != nil:
		return value, fmt.Errorf("reading the page: %s", result.ExceptionDetails.Text)
	case result.Result == nil:
		return value, errors.New("reading the page: no value")
	}
	return value, json.Unmarshal(result.Result.Value, &value)
}

// read takes everything out of the page.
func (s *showing) read(ctx context.Context) (Result, error) {
	read, err := evaluate[struct {
		DOM, Text, Title, Canonical string
		Links                       []string
		Cut                         bool
	}](ctx, s.tab.main, readScript)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		DOM:       read.DOM,
		Text:      read.Text,
		Title:     read.Title,
		Canonical: read.Canonical,
		Truncated: read.Cut,
	}
	s.mu.Lock()
	all := append(read.Links, s.routes...)
	s.mu.Unlock()
	seen := make(map[string]bool, len(all))
	for _, link := range all {
		if !seen[link] && link != s.page.URL {
			seen[link] = true
			r.Links = append(r.Links, link)
		}
	}
	if !s.page.Screenshot {
		return r, nil
	}
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot,
		page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	if err != nil {
		return Result{}, fmt.Errorf("screenshot: %w", err)
	}
	r.Screenshot = shot.Data
	return r, nil
}
