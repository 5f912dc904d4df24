package browser

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long a page, and the start of a browser, may take in a test that is not about time:
// the machine may be busy.
const patience = 10 * time.Minute

// newPool fails in CI, and leaves the test out elsewhere, when there is no browser. After the test
// no process and no profile may be left.
func newPool(t *testing.T, cfg Config) *Pool {
	t.Helper()
	if _, err := Find(""); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v (make deps), and CI is set: a missing dependency is a failure", err)
		}
		t.Skip("needs Chromium, which make deps installs")
	}
	cfg.Dir, cfg.startTime = t.TempDir()+"/render", patience
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		if pids := users(cfg.Dir); len(pids) > 0 {
			t.Errorf("processes %v are left", pids)
		}
		if _, err := os.Stat(cfg.Dir); !os.IsNotExist(err) {
			t.Errorf("the directory of profiles is left: %v", err)
		}
	})
	return p
}

// site answers from a table and remembers what was asked for.
type site struct {
	files map[string]string // by URL; a missing one is refused

	mu    sync.Mutex
	asked []string
}

func (s *site) Fetch(_ context.Context, r Request) (Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL)
	s.mu.Unlock()
	body, ok := s.files[r.URL]
	if !ok {
		return Response{}, errors.New("refused")
	}
	kind := "text/javascript"
	if !strings.HasSuffix(r.URL, ".js") {
		kind = "application/json"
	}
	return Response{Status: 200, Header: http.Header{"Content-Type": {kind}}, Body: []byte(body)}, nil
}

func htmlPage(body string) Page {
	return Page{URL: "https://site.test/page", Response: Response{
		Status: 200,
		Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body:   []byte(body),
	}}
}

// TestPages has one browser for all that a page does when it behaves: a start takes longer than the
// pages.
func TestPages(t *testing.T) {
	p := newPool(t, Config{Timeout: patience, Tabs: 2})
	t.Run("scripts", func(t *testing.T) { scriptsMakeThePage(t, p) })
	t.Run("shadow roots", func(t *testing.T) { shadowRootsAreRead(t, p) })
	t.Run("cleared", func(t *testing.T) { tabIsCleared(t, p) })
	t.Run("origins", func(t *testing.T) { tabsAreOfOneOrigin(t, p) })
}

func scriptsMakeThePage(t *testing.T, p *Pool) {
	s := &site{files: map[string]string{
		"https://site.test/app.js":    `fetch("/data.json").then(r => r.json()).then(d => { document.title = d.title; document.getElementById("app").innerHTML = d.html; history.pushState(null, "", "/route") })`,
		"https://site.test/data.json": `{"title":"Ä title","html":"<h1>Grüße</h1><a href='#/deep'>deep</a><a href='/next'>next</a><a href='javascript:x()'>no</a>"}`,
	}}
	page := htmlPage(
		`<link rel=canonical href=/canon><div id=app></div><img src=/i.png><script src=/app.js></script>`)
	page.Screenshot = true
	r, err := p.Render(t.Context(), page, s)
	if err != nil {
		t.Fatal(err)
	}
	if r.Title != "Ä title" || !strings.Contains(r.Text, "Grüße") ||
		!strings.Contains(r.DOM, "<h1>Grüße</h1>") || r.Canonical != "https://site.test/canon" {
		t.Errorf("read title %q, text %q, canonical %q, DOM %q", r.Title, r.Text, r.Canonical, r.DOM)
	}
	if got := strings.Join(r.Links, " "); got !=
		"https://site.test/route#/deep https://site.test/next https://site.test/route" {
		t.Errorf("links are %q", got)
	}
	if r.Requests != 2 || r.Refused == 0 || r.TimedOut ||
		!strings.HasPrefix(string(r.Screenshot), "\x89PNG") {
		t.Errorf("%d requests, %d refused, timed out %v, screenshot of %d bytes", r.Requests, r.Refused,
			r.TimedOut, len(r.Screenshot))
	}
	for _, url := range s.asked {
		if url == page.URL {
			t.Error("the browser has fetched the page again")
		}
	}
}

// shadowRootsAreRead has components as web pages are made of: their content is in the text, the
// links and the DOM once, wherever their roots are; that of closed ones is nowhere, as no script
// can read it.
func shadowRootsAreRead(t *testing.T, p *Pool) {
	page := htmlPage(
		`<html lang=de class="a b"><body><p>light</p><x-a id=a><b slot=s>slotted</b></x-a><x-c id=c></x-c><x-d id=d></x-d>
<x-e><template shadowrootmode=open><p>declared</p><a href=/declared>d</a></template></x-e>
<script>
const root = (e, mode, html) => { const r = e.attachShadow({ mode }); r.innerHTML = html; return r };
const a = root(document.getElementById("a"), "open", "<style>p{color:red}</style><p>outer &amp; shown</p><slot name=s></slot><a href='/outer'>o</a><x-b></x-b><img src=/i.png>");
root(a.querySelector("x-b"), "open", "<p>inner</p><a href='/inner'>i</a>");
root(document.getElementById("c"), "closed", "<p>secret</p><a href='/closed'>c</a>");
root(document.getElementById("d"), "open", "<p hidden>unseen</p>bare words<area href='/area'>");
</script></body></html>`)
	r, err := p.Render(t.Context(), page, &site{})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"light", "slotted", "outer & shown", "inner", "declared",
		"bare words"} {
		if strings.Count(r.Text, word) != 1 {
			t.Errorf("the text has %q %d times: %q", word, strings.Count(r.Text, word), r.Text)
		}
	}
	if strings.Contains(r.Text, "secret") || strings.Contains(r.Text, "unseen") {
		t.Errorf("the text has what nobody sees: %q", r.Text)
	}
	want := "https://site.test/outer https://site.test/declared https://site.test/area " +
		"https://site.test/inner"
	got := slices.Sorted(slices.Values(r.Links))
	if !slices.Equal(got, slices.Sorted(slices.Values(strings.Fields(want)))) {
		t.Errorf("links are %q", got)
	}
	if strings.Count(r.DOM, `<template shadowrootmode="open">`) != 4 ||
		!strings.HasPrefix(r.DOM, `<!DOCTYPE html><html lang="de" class="a b"><head>`) ||
		!strings.HasSuffix(r.DOM, "</body></html>") {
		t.Errorf("the DOM is %s", r.DOM)
	}
	for _, part := range []string{`href="/inner"`, `href="/declared"`, `src="/i.png"`} {
		if strings.Count(r.DOM, part) != 1 {
			t.Errorf("the DOM has %q %d times", part, strings.Count(r.DOM, part))
		}
	}
}

// A page is given to the browser as it was fetched, and nothing but the Fetcher can make a
// connection.
func TestHostilePages(t *testing.T) {
	canary, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int64
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := canary.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_ = c.Close()
		}
	})
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepting.Go(func() {
		if _, _, err := packets.ReadFrom(make([]byte, 1)); err == nil {
			connections.Add(1)
		}
	})
	addr, udp := canary.Addr().String(), packets.LocalAddr().String()
	host, port, _ := strings.Cut(addr, ":")
	replace := strings.NewReplacer("CANARY", addr, "UDP", udp, "HOST", host, "PORT", port, "NUMBER",
		"2130706433", "REBIND", "localhost:"+port)

	const timeout = 6 * time.Second
	p := newPool(t, Config{Timeout: timeout, MemoryBytes: 1 << 30})
	warm(t, p)
	for name, body := range hostilePages(t) {
		if testing.Short() && !shortPages[name] {
			continue // minutes in all
		}
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			_, err := p.Render(t.Context(), htmlPage(replace.Replace(body)), &site{})
			took := time.Since(begin)
			t.Logf("%v, %v", took.Round(time.Millisecond), err)
			// A busy machine may start a browser meanwhile, and lets the test itself wait.
			if took > timeout+Grace+patience {
				t.Errorf("the page took %v, the time-out is %v", took, timeout)
			}
		})
	}
	// a browser is still being killed
	for end := time.Now().Add(patience); p.Stats().Busy != 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d slots are in use", p.Stats().Busy)
		}
	}
	warm(t, p) // the next page is shown all the same
	p.Close()
	_, _ = canary.Close(), packets.Close()
	accepting.Wait()
	if n := connections.Load(); n > 0 {
		t.Errorf("%d connections at the canary", n)
	}
}

// warm shows a page that does nothing. The time-out of a pool may be too short for a busy machine
// that starts a browser, so it is tried again.
func warm(t *testing.T, p *Pool) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		var r Result
		if r, err = p.Render(t.Context(), htmlPage(`<p>plain words`), &site{}); err == nil &&
			strings.Contains(r.Text, "plain words") {
			return
		}
	}
	t.Fatalf("a plain page is not shown: %v", err)
}

// shortPages are those that every run shows.
var shortPages = map[string]bool{"addresses inside": true, "WebRTC": true, "endless script": true}

// hostilePages are those of testdata/hostile.txt, by name.
func hostilePages(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, body, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && line[0] != '#' {
			pages[name] = body
		}
	}
	if len(pages) < 40 {
		t.Fatalf("%d hostile pages", len(pages))
	}
	return pages
}

type fetcherFunc func(context.Context, Request) (Response, error)

func (f fetcherFunc) Fetch(ctx context.Context, r Request) (Response, error) { return f(ctx, r) }

// New ends what a killed node has left: the browser and its profile.
func TestNewSweeps(t *testing.T) {
	left := newPool(t, Config{Timeout: patience})
	warm(t, left)
	if len(users(left.cfg.Dir)) == 0 {
		t.Fatal("no process uses the profile of a running browser")
	}
	again, err := New(Config{Dir: left.cfg.Dir})
	if err != nil {
		t.Fatal(err)
	}
	if pids := users(left.cfg.Dir); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
	if entries, err := os.ReadDir(left.cfg.Dir); err != nil || len(entries) > 0 {
		t.Errorf("profiles are left: %v, %v", entries, err)
	}
	again.Close()
}

// A browser is renewed after its pages.
func TestRenewed(t *testing.T) {
	p := newPool(t, Config{Timeout: patience, PagesPerBrowser: 1})
	warm(t, p)
	warm(t, p)
	if s := p.Stats(); s.Restarts != 1 || s.Pages != 2 || s.Failed != 0 {
		t.Errorf("counted %+v, want two pages and one restart", s)
	}
}

func TestClosed(t *testing.T) {
	p := newPool(t, Config{})
	p.Close()
	if _, err := p.Render(t.Context(), htmlPage(""), &site{}); !errors.Is(err, ErrClosed) {
		t.Errorf("the error is %v, want ErrClosed", err)
	}
}
