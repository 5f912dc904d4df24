package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Find returns the path of the browser: the one given, or the first that is installed.
func Find(given string) (string, error) {
	names := []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"}
	if given != "" {
		names = []string{given}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	if given != "" {
		return "", fmt.Errorf("%w: %s is not there or is not a program", ErrNoBrowser, given)
	}
	return "", ErrNoBrowser
}

// Pool renders pages. It may be used by any number of goroutines.
type Pool struct {
	cfg   Config
	slots chan struct{}  // one for each tab in use
	ended sync.WaitGroup // of browsers, and of pages in them

	mu sync.Mutex // guards what follows; never held while a browser starts or ends
	// the one that takes pages; nil before the first and after the last has worn out
	now     *browser
	started int
	closed  bool
	stats   Stats
	broken  int       // browsers in a row that did not start
	pause   time.Time // no browser is started before
}

// A browser that does not start may take Config.startTime for it. After startTries in a row no page
// waits for the next one before startPause has passed.
const (
	startTries = 3
	startPause = time.Minute
)

// New makes a pool and removes what an earlier one has left in cfg.Dir: processes and profiles. It
// starts no browser.
func New(cfg Config) (*Pool, error) {
	cfg = cfg.withDefaults()
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("%w (rendering needs Linux, this is %s)", ErrNoBrowser, runtime.GOOS)
	}
	path, err := Find(cfg.Browser)
	if err != nil {
		return nil, err
	}
	cfg.Browser = path
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, fmt.Errorf("directory of profiles: %w", err)
	}
	killFamily(cfg.Dir)
	if err := os.RemoveAll(cfg.Dir); err != nil {
		return nil, fmt.Errorf("removing old profiles of the browser: %w", err)
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of profiles: %w", err)
	}
	return &Pool{cfg: cfg, slots: make(chan struct{}, cfg.Tabs)}, nil
}

// Stats returns the counts.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Busy = len(p.slots)
	return s
}

// Render shows page to the browser. It waits for a slot as long as ctx lasts, and then returns
// within the time-out plus Grace; a page for which the browser starts, or which waits for that, has
// its time from then on. An error is ErrTimeout, ErrBrowser, ErrClosed or that of ctx.
//
// It returns when the page is read, and at once when ctx is done, however long the browser takes to
// start or to close the page's tab: the slot is free after that. So the bytes of page must not
// change later, and fetcher may still be called, with a context that is done.
func (p *Pool) Render(ctx context.Context, page Page, fetcher Fetcher) (Result, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	b, t, err := p.take(originOf(page.URL))
	if err != nil {
		<-p.slots
		return Result{}, err
	}
	type outcome struct {
		Result
		error
	}
	done := make(chan outcome, 1)
	go func() { // Close waits for it
		defer p.ended.Done()
		defer func() { <-p.slots }()
		result, closing, err := b.render(ctx, p.cfg.Timeout, page, fetcher, t)
		if ctx.Err() == nil {
			p.count(result, err)
		}
		if result.whole(err) {
			done <- outcome{result, err}
		}
		healthy, kept := closing()
		for _, surplus := range p.keep(b, kept) {
			healthy = within(closeLate, surplus.close) && healthy
		}
		last := p.give(b, healthy)
		if !result.whole(err) { // another try gets another browser
			done <- outcome{result, err}
		}
		if !healthy {
			b.kill()
		}
		if last {
			b.end()
			p.ended.Done()
		}
	}()
	select {
	case o := <-done:
		return o.Result, o.error
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

// count counts a page. One that was taken back is none.
func (p *Pool) count(r Result, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Pages++
	p.stats.Refused += int64(r.Refused)
	if err != nil {
		p.stats.Failed++
	}
	if r.TimedOut {
		p.stats.Timeouts++
	}
}

// take returns the browser for one more page, a new one when there is none, and a tab of the page's
// origin if one is idle.
func (p *Pool) take(origin string) (*browser, *tab, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, ErrClosed
	}
	if p.now != nil && p.now.lostOrKilled() { // it has ended while it had no page, or with other pages
		p.retireLocked()
	}
	if p.now == nil {
		if time.Now().Before(p.pause) {
			return nil, nil, fmt.Errorf("%w: %s; it is tried again in a minute", ErrNotStarted,
				p.stats.Broken)
		}
		p.started++
		if p.started > 1 {
			p.stats.Restarts++
		}
		p.now = newBrowser(p.cfg, filepath.Join(p.cfg.Dir, fmt.Sprint(p.started)))
		p.ended.Add(1)
	}
	p.ended.Add(1) // for the page
	p.now.users++
	p.now.pages++
	b := p.now
	if b.pages >= p.cfg.PagesPerBrowser {
		b.worn, p.now = true, nil
	}
	for i, t := range b.idle {
		if t.origin == origin {
			b.idle = slices.Delete(b.idle, i, i+1)
			return b, t, nil
		}
	}
	return b, nil, nil
}

// retireLocked takes no more pages for the browser. The last page that it has ends it; without one,
// it ends now.
func (p *Pool) retireLocked() {
	b := p.now
	b.worn, p.now = true, nil
	if b.users == 0 { // its place in ended is given back when it is gone
		go func() {
			defer p.ended.Done()
			b.end()
		}()
	}
}

// keep puts a tab among the idle ones of its browser, Config.Tabs at most, and returns those that
// have to be closed: the oldest, and all of a browser that takes no more pages or needs half of its
// memory. A nil tab is none.
func (p *Pool) keep(b *browser, t *tab) (surplus []*tab) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t != nil {
		b.idle = append(b.idle, t)
	}
	n := len(b.idle) - p.cfg.Tabs
	if b.worn || b.memory.Load() > p.cfg.MemoryBytes/2 {
		n = len(b.idle)
	}
	if n > 0 {
		surplus = slices.Clone(b.idle[:n])
		b.idle = slices.Delete(b.idle, 0, n)
	}
	return surplus
}

// give returns a browser. One that is not healthy has to be killed: nobody waits for its pages.
// last: it takes no more pages and has no other user, so it has to be ended.
func (p *Pool) give(b *browser, healthy bool) (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.users--
	if !healthy || b.dead() {
		b.worn = true
		if p.now == b {
			p.now = nil
		}
	}
	last = b.worn && b.users == 0
	p.noteStartLocked(b, last)
	return last
}

// noteStartLocked remembers whether a browser that a page has used did start. last: nobody else
// uses it.
func (p *Pool) noteStartLocked(b *browser, last bool) {
	switch {
	case b.err == nil:
		p.broken, p.stats.Broken = 0, ""
	case last && !p.closed:
		p.broken++
		p.stats.Broken = b.err.Error()
		if p.broken%startTries == 0 {
			p.pause = time.Now().Add(startPause)
		}
	}
}

// Close ends the browser, and with it the pages that are being rendered, and waits for it.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	b := p.now
	p.now = nil
	last := b != nil && b.users == 0
	if b != nil {
		b.worn = true
	}
	p.mu.Unlock()
	if b != nil {
		b.kill()
	}
	if last {
		b.end()
		p.ended.Done()
	}
	p.ended.Wait()
	killFamily(p.cfg.Dir)
	_ = os.RemoveAll(p.cfg.Dir) // New does it again
}
