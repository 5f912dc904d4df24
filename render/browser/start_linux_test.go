package browser

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writeProgram writes a program that may be run.
func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	// Whoever forks meanwhile would hold the file open for writing, and it could not be run (execve(2), ETXTBSY).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
}

// pretender is a script in the place of a browser.
func pretender(t *testing.T, script string) Config {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "browser")
	writeProgram(t, path, "#!/bin/sh\n"+script+"\n")
	return Config{Browser: path, Dir: filepath.Join(dir, "profiles"), Timeout: time.Millisecond}
}

// A browser that is a script whose child never answers is ended with that child, which holds its
// pipes open. The page has its error, and the pool can be closed.
func TestBrowserNeverReady(t *testing.T) {
	t.Parallel()
	cfg := pretender(t, "sleep 600")
	cfg.startTime = time.Second
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := p.Render(t.Context(), htmlPage("x"), &site{})
		p.Close()
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, ErrNotStarted) || !errors.Is(err, ErrBrowser) {
			t.Errorf("the error is %v, want ErrNotStarted", err)
		}
	case <-time.After(patience):
		t.Fatal("the page waits for ever")
	}
}

// A browser that starts for longer than a page may take is not ended for that: here it has the time
// to end by itself, and to say why.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	p, err := New(pretender(t, "sleep 3; echo missing library >&2; exit 1"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Render(t.Context(), htmlPage("x"), &site{}); !errors.Is(err, ErrNotStarted) ||
		!strings.Contains(err.Error(), "missing library") {
		t.Errorf("the error is %v, want the browser's own reason", err)
	}
}

// The time of a page begins when the browser has started, also for one that waits for the start
// that another page has asked for.
func TestTimeBeginsAfterTheStart(t *testing.T) {
	t.Parallel()
	b := newBrowser(Config{}, "")
	starting, started := make(chan struct{}), make(chan time.Time, 1)
	go b.start.Do(func() {
		close(starting)
		time.Sleep(50 * time.Millisecond) // what a start takes
		started <- time.Now()
	})
	<-starting
	end, err := b.begin(time.Second)
	if at := <-started; err != nil || end.Before(at.Add(time.Second)) {
		t.Errorf("the time is over %v after the start, %v; want at least a second", end.Sub(at), err)
	}
}

// After some browsers that end before they are ready no page waits for another one, and the pool
// says why.
func TestBrowserDoesNotStart(t *testing.T) {
	t.Parallel()
	p, err := New(pretender(t, "echo missing library >&2; exit 1"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.cfg.Timeout = patience
	for range startTries + 2 {
		if _, err := p.Render(t.Context(), htmlPage("x"), &site{}); !errors.Is(err, ErrNotStarted) {
			t.Errorf("the error is %v, want ErrNotStarted", err)
		}
	}
	if s := p.Stats(); s.Restarts != startTries-1 || s.Broken == "" {
		t.Errorf("counted %+v, want %d browsers and the reason", s, startTries)
	}
}

// A page that is taken back while the browser starts is given back at once. Its slot is free when
// the browser has ended, and it counts neither as a page nor as one that took too long.
func TestTakenBackWhileTheBrowserStarts(t *testing.T) {
	t.Parallel()
	cfg := pretender(t, "sleep 600")
	cfg.startTime = patience
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p.cfg.Timeout = patience
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Render(ctx, htmlPage("x"), &site{})
		ended <- err
	}()
	for len(users(p.cfg.Dir)) == 0 { // it has begun
		time.Sleep(time.Millisecond)
	}
	cancel()
	select {
	case err := <-ended:
		if s := p.Stats(); !errors.Is(err, context.Canceled) || s.Busy != 1 {
			t.Errorf("the error is %v, want that of the context before the browser has ended: %+v", err, s)
		}
	case <-time.After(patience):
		t.Fatal("the page waits for the browser")
	}
	p.Close()
	if s := p.Stats(); s.Pages+s.Failed+s.Timeouts != 0 || s.Busy != 0 {
		t.Errorf("counted %+v", s)
	}
}
