package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

var (
	// ErrTimeout is a page that could not be read at its time-out.
	ErrTimeout = errors.New("the page could not be read within its time-out")
	// ErrBrowser is a browser that crashed, was killed or does not start. The page may be tried again.
	ErrBrowser = errors.New("the browser ended")
	// ErrNotStarted is an ErrBrowser of one that does not start.
	ErrNotStarted = fmt.Errorf("%w before it was ready", ErrBrowser)
	// ErrNoBrowser is a system without Chromium.
	ErrNoBrowser = errors.New(
		"no browser: install chromium-headless-shell or chromium, or name one with --browser")
	// ErrClosed is a pool after Close.
	ErrClosed = errors.New("the pool of browsers is closed")
)

// Fetcher answers the requests of pages. Fetch fetches a sub-resource by the rules of the crawl; an
// error is a refusal, which the page sees as a failed request. It is called from several goroutines
// and returns soon after ctx is done.
type Fetcher interface {
	Fetch(ctx context.Context, r Request) (Response, error)
}

// Request is one sub-resource that a page asks for.
type Request struct {
	URL    string // as the browser writes it, always http or https
	Method string // GET and HEAD; others are refused before
	Kind   string // of the protocol's resource types: Script, Stylesheet, Image, Font, XHR, Fetch...
}

// Response is what a server has answered. The body has no content encoding any more.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Page is a page that the crawl has fetched.
type Page struct {
	URL        string
	Response   Response
	Screenshot bool
}

// Result is what the browser made of a page.
type Result struct {
	DOM        string // the document as HTML, UTF-8
	Text       string // what a reader sees: innerText
	Title      string
	Canonical  string        // "" without one
	Links      []string      // absolute: anchors first, then routes and navigations, each once
	Screenshot []byte        // PNG, when it was asked for
	Requests   int           // that the Fetcher answered
	Refused    int           // requests, frames and navigations that were refused
	Truncated  bool          // a limit left something out
	TimedOut   bool          // read at the time-out, not when the page was quiet
	Duration   time.Duration // without the start of the browser
}

// Config is what a pool needs. The zero value of a number is its default.
type Config struct {
	Browser         string        // path; "" looks for one with Find
	Dir             string        // for profiles; the pool owns it and removes what is in it
	Tabs            int           // pages at one time; default 1
	Timeout         time.Duration // of a page; default 30 s
	MemoryBytes     int64         // of all processes of the browser; default 1 GiB
	PagesPerBrowser int           // default 200

	// bounds the start of a browser; default 30 s. No page's time-out includes it
	startTime time.Duration
}

func (c Config) withDefaults() Config {
	if c.Tabs <= 0 {
		c.Tabs = 1
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.MemoryBytes <= 0 {
		c.MemoryBytes = 1 << 30
	}
	if c.PagesPerBrowser <= 0 {
		c.PagesPerBrowser = 200
	}
	if c.startTime <= 0 {
		c.startTime = 30 * time.Second
	}
	return c
}

// Stats counts what a pool has done since New.
type Stats struct {
	Busy     int
	Pages    int64
	Failed   int64
	Timeouts int64 // pages read at their time-out, or not at all
	Restarts int64 // browsers started after the first
	Refused  int64
	Broken   string // why the browser did not start the last time; "": it did
}
