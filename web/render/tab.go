package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	devtools "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is one page in a browser context of its own.
type tab struct {
	ctx     context.Context
	page    Page
	fetcher Fetcher
	wg      sync.WaitGroup // of the readers of events and of the requests
	main    cdp.FrameID

	asking context.Context // of requests; done when the page was read
	over   func()          // ends asking

	open    atomic.Int64 // requests that are being fetched
	waiting chan struct{}

	mu       sync.Mutex // guards what follows
	answered bool       // the document was given to the browser
	requests int
	refused  int
	bytes    int
	routes   []string // of scripts, and navigations that were aborted
}

// begin starts the browser if need be, and returns when the page's time will be over: it begins now, however long the start took.
func (b *browser) begin(timeout time.Duration) (end time.Time, err error) {
	if err := b.ensure(); err != nil {
		return time.Time{}, err
	}
	return time.Now().Add(timeout), nil
}

// render shows one page. It returns within the time-out plus Grace, after the start of the browser. The caller calls closing, which
// ends the tab and reports whether the browser is healthy; if not, it has to be killed.
func (b *browser) render(parent context.Context, timeout time.Duration, p Page, fetcher Fetcher) (result Result, closing func() (healthy bool), err error) {
	end, err := b.begin(timeout)
	if err != nil {
		return Result{}, func() bool { return false }, err
	}
	abort := time.AfterFunc(time.Until(end)+readTime, b.kill) // a call that does not return ends with the browser
	defer abort.Stop()
	if parent.Err() != nil { // it was taken back while the browser started
		return Result{}, func() bool { return !b.dead() }, parent.Err()
	}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t := &tab{ctx: ctx, page: p, fetcher: fetcher, waiting: make(chan struct{}, maxOpenRequests)}
	t.asking, t.over = context.WithCancel(ctx)
	stop := context.AfterFunc(parent, cancel)
	result, err = t.run(end)
	t.over()
	t.mu.Lock()
	result.Requests, result.Refused = t.requests, t.refused
	t.mu.Unlock()
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
	patience := closeTime
	if parent.Err() != nil || result.whole(err) { // nobody waits for it
		patience = closeLate
	}
	return result, func() bool { return t.close(cancel, stop, patience) && !b.dead() }, err
}

// whole reports whether the page was read when it was quiet: its tab closes well, in time.
func (r *Result) whole(err error) bool { return err == nil && !r.TimedOut }

// close ends the tab and waits for its goroutines. It reports whether the browser closed the tab in time;
// if not, the goroutines end with the browser, which has to be killed.
func (t *tab) close(cancel context.CancelFunc, stop func() bool, patience time.Duration) bool {
	stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = chromedp.Cancel(t.ctx)
		cancel()
		t.wg.Wait()
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// run does everything within one tab: prepare, navigate, wait, read.
func (t *tab) run(end time.Time) (Result, error) {
	// The tab lives as long as the context of the first call.
	if err := chromedp.Do(t.ctx); err != nil {
		return Result{}, fmt.Errorf("opening a tab: %w", err)
	}
	ctx, cancel := context.WithDeadline(t.ctx, end)
	defer cancel()
	if err := t.prepare(ctx); err != nil {
		return Result{}, fmt.Errorf("preparing a tab: %w", err)
	}
	navigated, err := chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: t.page.URL})
	if err != nil {
		return Result{}, fmt.Errorf("showing the page: %w", err)
	}
	if navigated.ErrorText != "" {
		return Result{}, fmt.Errorf("showing the page: %s", navigated.ErrorText)
	}
	late := t.settle(ctx)
	reading, stop := context.WithDeadline(t.ctx, end.Add(readTime))
	defer stop()
	result, err := t.read(reading)
	result.TimedOut = late
	return result, err
}

// prepare registers everything that stands between the page and the outside.
func (t *tab) prepare(ctx context.Context) error {
	listen(t, fetch.RequestPaused, t.paused)
	listen(t, page.JavascriptDialogOpening, func(page.EventJavascriptDialogOpening) {
		_, _ = chromedp.Call(t.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
	})
	listen(t, runtime.BindingCalled, func(e runtime.EventBindingCalled) { t.route(e.Payload) })
	tree, err := chromedp.Call(ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return err
	}
	t.main = tree.FrameTree.Frame.ID
	if _, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{}); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, runtime.AddBinding, runtime.AddBindingParams{Name: bindingName}); err != nil {
		return err
	}
	deny := devtools.SetDownloadBehaviorParams{Behavior: devtools.SetDownloadBehaviorBehaviorDeny, BrowserContextID: chromedp.FromContext(t.ctx).BrowserContextID}
	if _, err := chromedp.CallBrowser(ctx, devtools.SetDownloadBehavior, deny); err != nil {
		return err
	}
	_, err = chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: guardScript})
	return err
}

// listen calls do for each event of the tab, one after the other, until the tab is closed.
func listen[E any](t *tab, event cdp.Event[E], do func(E)) {
	events := chromedp.Events(t.ctx, event) // from now on
	t.wg.Go(func() {
		for e, err := range events {
			if err != nil {
				return
			}
			do(e)
		}
	})
}

// route keeps an address that a script wants to go to.
func (t *tab) route(url string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.routes) < maxRoutes && len(url) <= maxURL {
		t.routes = append(t.routes, url)
	}
}

// settle waits until neither the network nor the DOM has changed for quietTime, scrolls to the end once, and
// waits again. It reports whether the time-out came first.
func (t *tab) settle(ctx context.Context) (late bool) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	before, since, scrolled := "", time.Now(), false
	for {
		select {
		case <-ctx.Done():
			return errors.Is(ctx.Err(), context.DeadlineExceeded)
		case <-tick.C:
		}
		var now string
		if err := t.evaluate(ctx, lookScript, &now); err != nil {
			return errors.Is(ctx.Err(), context.DeadlineExceeded)
		}
		if t.open.Load() > 0 || now != before || !strings.HasPrefix(now, "complete") {
			before, since = now, time.Now()
			continue
		}
		if time.Since(since) < quietTime {
			continue
		}
		if scrolled {
			return false
		}
		scrolled, since = true, time.Now()
		if err := t.evaluate(ctx, scrollScript, new(string)); err != nil {
			return errors.Is(ctx.Err(), context.DeadlineExceeded)
		}
	}
}

// evaluate runs a script that returns JSON or a string, in a world of its own: nothing that the page has
// changed in its own world is there.
func (t *tab) evaluate(ctx context.Context, script string, into *string) error {
	world, err := chromedp.Call(ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: t.main, WorldName: "read"})
	if err != nil {
		return err
	}
	yes := true
	result, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: script, ContextID: world.ExecutionContextID, ReturnByValue: &yes})
	switch {
	case err != nil:
		return err
	case result.ExceptionDetails != nil:
		return fmt.Errorf("reading the page: %s", result.ExceptionDetails.Text)
	case result.Result == nil:
		return errors.New("reading the page: no value")
	}
	return json.Unmarshal(result.Result.Value, into)
}

// read takes everything out of the page.
func (t *tab) read(ctx context.Context) (Result, error) {
	var text string
	if err := t.evaluate(ctx, readScript, &text); err != nil {
		return Result{}, err
	}
	var read struct {
		DOM, Text, Title, Canonical string
		Links                       []string
		Cut                         bool
	}
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		return Result{}, fmt.Errorf("reading the page: %w", err)
	}
	r := Result{DOM: read.DOM, Text: read.Text, Title: read.Title, Canonical: read.Canonical, Truncated: read.Cut}
	t.mu.Lock()
	all := append(read.Links, t.routes...)
	t.mu.Unlock()
	seen := make(map[string]bool, len(all))
	for _, link := range all {
		if !seen[link] && link != t.page.URL {
			seen[link] = true
			r.Links = append(r.Links, link)
		}
	}
	if !t.page.Screenshot {
		return r, nil
	}
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	if err != nil {
		return Result{}, fmt.Errorf("screenshot: %w", err)
	}
	r.Screenshot = shot.Data
	return r, nil
}
