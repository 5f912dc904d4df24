package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"crawlnode/cli/command"
	"crawlnode/cli/process"
	"crawlnode/crawl"
	render "crawlnode/render/browser"
)

const (
	// applicationPages is how many pages the application has.
	applicationPages = 4
	// applicationTime bounds the scene with the browser, and endTime what its node then needs to end.
	// Such a scene that takes longer on a busy machine is no failure.
	applicationTime = 30 * time.Second
	endTime         = 10 * time.Second
)

// application is a site whose text and links only a browser can read, and what its server saw.
type application struct {
	*http.Server

	mu    sync.Mutex // guards what follows
	asked map[string]int
	ended time.Time     // the last answer
	gap   time.Duration // the smallest between an answer and the next request; 0: none yet
}

// shell is every page of the application as it is delivered.
const shell = `<!DOCTYPE html><title>application</title><div id="app"></div><script src="/app.js"></script>`

// script makes the text of a page, and the links to all.
var script = fmt.Sprintf(
	`document.getElementById("app").innerHTML = "<p>page " + location.pathname + " was made by a script</p>" +
  Array.from({length: %d}, (_, i) => "<a href='/" + (i || "") + "'>page " + i + "</a>").join(" ")`, applicationPages)

func newApplication() *application {
	a := &application{asked: map[string]int{}}
	a.Server = &http.Server{Handler: a, ReadHeaderTimeout: 10 * time.Second}
	return a
}

// ServeHTTP answers and takes notes.
func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.note(r.URL.Path, time.Now())
	kind, body := "text/html", shell
	switch n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); {
	case r.URL.Path == "/app.js":
		kind, body = "text/javascript", script
	case r.URL.Path != "/" && (err != nil || n < 1 || n >= applicationPages):
		http.NotFound(w, r)
		a.answered(time.Now())
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write([]byte(body))
	a.answered(time.Now())
}

func (a *application) note(path string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[path]++
	if gap := now.Sub(a.ended); !a.ended.IsZero() && (a.gap == 0 || gap < a.gap) {
		a.gap = gap
	}
}

func (a *application) answered(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = now
}

// judge says how many pages were fetched, and what was wrong. complete: the crawl has ended, and a
// browser has shown its pages.
func (a *application) judge(delay time.Duration, complete bool) (pages int, wrong error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for path, times := range a.asked {
		n, err := strconv.Atoi(strings.TrimPrefix(path, "/"))
		if path == "/" || err == nil && n < applicationPages {
			pages++
		}
		if times > 1 {
			wrong = errors.Join(wrong, fmt.Errorf("%s of the application was fetched %d times", path, times))
		}
	}
	if complete && pages < applicationPages {
		wrong = errors.Join(wrong, fmt.Errorf(
			"%d pages of the application, which scripts link to, were not fetched", applicationPages-pages))
	}
	if a.gap > 0 && a.gap < delay {
		wrong = errors.Join(wrong,
			fmt.Errorf("the smallest gap at the application, %v, is below the promised %v", a.gap, delay))
	}
	return pages, wrong
}

// shows crawls the application with one more node, which shows its pages to a browser. Without a
// browser, or on a machine that is too busy for one, it says so and nothing has failed.
func (d *demo) shows(ctx context.Context) error {
	browser, err := render.Find("")
	if err != nil {
		d.shown = "left out: no browser is installed (chromium-headless-shell or chromium)"
		d.say("no page is shown to a browser: none is installed")
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, applicationTime)
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("the application: %w", err)
	}
	a := newApplication()
	var wg sync.WaitGroup
	wg.Go(func() { _ = a.Serve(listener) }) // until it is closed
	defer wg.Wait()
	defer a.Close()
	d.say("one more node shows the %d pages of an application to %s", applicationPages, browser)
	n, err := d.launcher.StartNode("browser", "--render", "all", "--allow-net", "127.0.0.0/8",
		"--delay", d.Delay.String(), "--log-level", "warn", "--partitions", "512")
	if err != nil {
		return err
	}
	defer d.ends(n)
	st, err := d.crawlApplication(ctx, n, "http://"+listener.Addr().String()+"/")
	if err != nil && ctx.Err() == nil {
		return err
	}
	complete := err == nil && st.Render.FailedTotal+st.Render.TimeoutsTotal == 0
	pages, wrong := a.judge(d.Delay, complete)
	switch {
	case wrong != nil:
		return wrong
	case err != nil:
		d.shown = fmt.Sprintf("%d / %d when its %v were over: the machine is busy", pages,
			applicationPages, applicationTime)
	case !complete:
		d.shown = fmt.Sprintf("%d / %d: the browser does not work here", pages, applicationPages)
	default:
		d.shown = fmt.Sprintf("%d / %d, their script fetched once", pages, applicationPages)
	}
	return nil
}

// crawlApplication waits until n has crawled the site.
func (d *demo) crawlApplication(
	ctx context.Context,
	n *process.Node,
	seed string,
) (*crawl.Status, error) {
	if err := n.WaitReady(ctx); err != nil {
		return nil, err
	}
	if _, err := n.API.AddSeeds(ctx, []crawl.Seed{{URL: seed}}); err != nil {
		return nil, err
	}
	for {
		st, err := n.API.Status(ctx, false)
		switch {
		case err == nil && st.Crawl.State == crawl.CrawlFinished:
			return st, nil
		case n.Ended():
			return nil, fmt.Errorf("%s has ended early:\n%s", n.Name, n.LastLines())
		case !command.Pause(ctx, 100*time.Millisecond):
			return nil, ctx.Err()
		}
	}
}

// ends ends a node that has a browser: politely, so that nothing writes into its folder any more.
func (d *demo) ends(n *process.Node) {
	n.Signal(syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	_ = n.Wait(ctx)
	n.Close()
}
