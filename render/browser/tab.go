package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	devtools "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// tab is a target of the browser with a browser context of its own. It shows one page after the
// other, all of one origin: a process for each page costs more than the page. Between two pages it
// is cleared.
type tab struct {
	ctx    context.Context
	cancel context.CancelFunc
	origin string
	main   cdp.FrameID
	wg     sync.WaitGroup // of the readers of events
	shown  int            // pages, of the one who has the tab

	mu  sync.Mutex
	now *showing // the page that is shown; nil: the tab is being cleared, or idle
}

// originOf is the scheme, host and port of a page; "" when it is no web address.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// newTab makes a tab that is not open yet.
func (b *browser) newTab(origin string) *tab {
	t := &tab{origin: origin}
	t.ctx, t.cancel = chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	return t
}

// open opens the tab and registers everything that stands between its pages and the outside. It
// does nothing for a tab that is open.
func (t *tab) open(ctx context.Context) error {
	if t.main != "" {
		return nil
	}
	// The tab lives as long as the context of the first call.
	if err := chromedp.Do(t.ctx); err != nil {
		return fmt.Errorf("opening a tab: %w", err)
	}
	if err := t.prepare(ctx); err != nil {
		return fmt.Errorf("preparing a tab: %w", err)
	}
	return nil
}

func (t *tab) prepare(ctx context.Context) error {
	listen(t, fetch.RequestPaused, t.paused)
	listen(t, page.JavascriptDialogOpening, func(page.EventJavascriptDialogOpening) {
		_, _ = chromedp.Call(t.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
	})
	listen(t, runtime.BindingCalled, func(e runtime.EventBindingCalled) {
		if s := t.showing(); s != nil {
			s.route(e.Payload)
		}
	})
	tree, err := chromedp.Call(ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{}); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, runtime.AddBinding, runtime.AddBindingParams{
		Name: bindingName,
	}); err != nil {
		return err
	}
	deny := devtools.SetDownloadBehaviorParams{
		Behavior:         devtools.SetDownloadBehaviorBehaviorDeny,
		BrowserContextID: chromedp.FromContext(t.ctx).BrowserContextID,
	}
	if _, err := chromedp.CallBrowser(ctx, devtools.SetDownloadBehavior, deny); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: guardScript}); err != nil {
		return err
	}
	if err := t.silence(ctx); err != nil {
		return err
	}
	t.main = tree.FrameTree.Frame.ID
	return nil
}

// silence ends the events that chromedp has asked for and that nobody reads here: the DOM as it
// changes, styles, requests, logs.
func (t *tab) silence(ctx context.Context) error {
	for _, off := range []cdp.Command[cdp.Empty, cdp.Empty]{css.Disable, dom.Disable, log.Disable,
		network.Disable} {
		if _, err := chromedp.Call(ctx, off, cdp.Empty{}); err != nil {
			return err
		}
	}
	if _, err := chromedp.Call(ctx, page.SetLifecycleEventsEnabled,
		page.SetLifecycleEventsEnabledParams{}); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, target.SetAutoAttach, target.SetAutoAttachParams{}); err != nil {
		return err
	}
	_, err := chromedp.Call(ctx, target.SetDiscoverTargets, target.SetDiscoverTargetsParams{})
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

// showing is the page that is shown; nil: none.
func (t *tab) showing() *showing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// shows makes s the page that requests and routes belong to.
func (t *tab) shows(s *showing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = s
}

// clear takes the page out of the tab, and everything that it may have left for the next one: an
// empty document of the same origin is shown first, so that no script of the page runs any more.
func (t *tab) clear(ctx context.Context) error {
	t.shows(nil)
	blank, err := chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: t.origin + blankPath})
	if err != nil {
		return err
	}
	if blank.ErrorText != "" {
		return errors.New(blank.ErrorText)
	}
	if err := t.arrive(ctx, func(at string) bool { return at == t.origin+blankPath }); err != nil {
		return err
	}
	if _, err := evaluate[bool](ctx, t.main, clearScript); err != nil {
		return err
	}
	var steps [3]error
	var wg sync.WaitGroup
	wg.Go(func() {
		_, steps[0] = chromedp.Call(ctx, storage.ClearDataForOrigin,
			storage.ClearDataForOriginParams{Origin: t.origin, StorageTypes: "all"})
	})
	wg.Go(func() { _, steps[1] = chromedp.Call(ctx, network.ClearBrowserCookies, cdp.Empty{}) })
	wg.Go(func() { _, steps[2] = chromedp.Call(ctx, page.ResetNavigationHistory, cdp.Empty{}) })
	wg.Wait()
	return errors.Join(steps[:]...)
}

// arrive waits until the document with the address that is wanted is there. The browser says that
// it has navigated a moment before the document before is gone, and an evaluation that is under way
// then fails.
func (t *tab) arrive(ctx context.Context, wanted func(address string) bool) error {
	for failed := 0; ; {
		at, err := evaluate[string](ctx, t.main, "location.href")
		if err == nil && wanted(at) {
			return nil
		}
		if err != nil {
			failed++
		}
		if err != nil && (failed > maxArrivals || ctx.Err() != nil) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(arriveEvery):
		}
	}
}

// close closes the tab and waits for its goroutines.
func (t *tab) close() {
	_ = chromedp.Cancel(t.ctx)
	t.end()
}

// end ends the goroutines of the tab. Its target may be left.
func (t *tab) end() {
	t.cancel()
	t.wg.Wait()
}
