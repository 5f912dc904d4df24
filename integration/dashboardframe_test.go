package integration

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// attacks are what a page could try from within the frame in which it is shown. %s is the
// attacker's web server.
var attacks = []string{
	`<script>window.hit = 1; fetch("%[1]s/hit"); top.location = "%[1]s/hit"; parent.hit = 1</script>`,
	`<img src="%[1]s/hit" onerror="window.hit=1"><svg onload="window.hit=1"><image href="%[1]s/hit"/></svg>`,
	`<meta http-equiv="refresh" content="0;url=%[1]s/hit"><base href="%[1]s/" target="_top">`,
	`<iframe src="%[1]s/hit"></iframe><iframe srcdoc="<script>top.hit=1</script>"></iframe><object data="%[1]s/hit"></object><embed src="%[1]s/hit">`,
	`<style>@import "%[1]s/hit"; body { background: url(%[1]s/hit) } @font-face { font-family: f; src: url(%[1]s/hit) } p { font-family: f }</style><p style="background:url(%[1]s/hit)">x`,
	`<video src="%[1]s/hit" poster="%[1]s/hit" autoplay></video><audio src="%[1]s/hit" autoplay></audio><input type="image" src="%[1]s/hit">`,
	`<form action="%[1]s/hit" target="_top"><button style="position:fixed;inset:0;width:100%%;height:100%%">press</button></form>`,
	`<a href="%[1]s/hit" target="_top" ping="%[1]s/hit" style="position:fixed;inset:0;display:block">press</a>`,
	`<a href="%[1]s/hit" target="_blank" style="position:fixed;inset:0;display:block">press</a>`,
	`<a href="javascript:top.hit=1" style="position:fixed;inset:0;display:block">press</a>`,
	`<form action="/control/crawl" method="post" target="_top"><button name="action" value="stop" style="position:fixed;inset:0;width:100%%;height:100%%">press</button></form>`,
	`<link rel="stylesheet" href="%[1]s/hit"><link rel="preload" as="image" href="%[1]s/hit"><link rel="prefetch" href="%[1]s/hit"><link rel="icon" href="%[1]s/hit">`,
}

// connects are the attacks that no policy of a browser stops: what is left of the page must not
// have them.
var connects = []string{
	`<link rel="preconnect" href="%[1]s/"><link rel="dns-prefetch" href="%[1]s/">`,
	`<noscript><link rel="preconnect" href="%[1]s/"></noscript>`,
}

// attacker is a web server with a page of each attack at its number, and a count of the requests
// and connections that it gets.
type attacker struct {
	origin string
	pages  []string

	mu          sync.Mutex // guards the rest
	requests    []string
	connections int
}

func serveAttacks(
	t *testing.T,
	address string,
	pages []string,
	answer func(a *attacker, w http.ResponseWriter, r *http.Request),
) *attacker {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	a := &attacker{origin: "http://" + ln.Addr().String(), pages: pages}
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second,
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				a.mu.Lock()
				a.connections++
				a.mu.Unlock()
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a.mu.Lock()
			a.requests = append(a.requests, r.Method+" "+r.URL.Path)
			a.mu.Unlock()
			answer(a, w, r)
		})}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return a
}

// heard is what the server was asked for since the last call.
func (a *attacker) heard() (requests []string, connections int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	requests, connections = a.requests, a.connections
	a.requests, a.connections = nil, 0
	return requests, connections
}

// page is the attack of a number, with a text that a reader is to see.
func (a *attacker) page(n int, target string) string {
	return "<!doctype html><title>attack</title><p>the text of the page</p>" +
		fmt.Sprintf(a.pages[n], target)
}

// seedAttacks gives the pages of all attacks to a node, with a server that notes who comes.
func seedAttacks(t *testing.T) (c *cluster, evil *attacker, all []string) {
	t.Helper()
	all = append(append([]string{}, attacks...), connects...)
	evil = serveAttacks(t, "127.0.0.1:0", all,
		func(a *attacker, w http.ResponseWriter, r *http.Request) {
			var n int
			if _, err := fmt.Sscanf(r.URL.Path, "/page/%d", &n); err != nil || n >= len(a.pages) {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Refresh", "0;url="+a.origin+"/hit")
			w.Header().Set("Link", "<"+a.origin+">; rel=preconnect")
			fmt.Fprint(w, a.page(n, a.origin))
		})
	c = newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "0s", "--partitions", "512", "--scope",
		"page")
	c.addReady(1)
	for i := range all {
		c.nodes[0].seed(fmt.Sprintf("%s/page/%d", evil.origin, i))
	}
	return c, evil, all
}

// A hostile page can do nothing from the frame in which the dashboard shows it, and nothing when it
// is opened by itself.
func TestHostilePagesDoNothingInTheirFrame(t *testing.T) {
	needsProcesses(t)
	b := openTab(t)
	t.Parallel()
	c, evil, all := seedAttacks(t)
	n := c.nodes[0]
	c.finished(time.Minute)
	u := "http://" + n.http
	for i := range all {
		about := u + "/urls?view=page&url=" + url.QueryEscape(fmt.Sprintf("%s/page/%d", evil.origin, i))
		b.open(about)
		_, _ = evil.heard()
		b.open(about)
		b.touchFrame()
		b.unharmed(fmt.Sprintf("%s in its frame", all[i]), about, evil)
		var frame string
		b.js(`document.querySelector("iframe").src`, &frame)
		b.open(frame)
		if says := b.text("body"); !strings.Contains(says, "the text of the page") {
			b.t.Errorf("%s by itself shows %q", all[i], says)
		}
		b.unharmed(all[i]+" by itself", frame, evil)
	}
	if s, err := n.status(); err != nil || s.Crawl.FinishReason == nil ||
		*s.Crawl.FinishReason == "stopped" {
		t.Errorf("a page has stopped the crawl: %+v, %v", s.Crawl, err)
	}
	b.wallAlone(u, n, evil)
}

// touchFrame clicks into the middle of the frame, once that has a page.
func (b *tab) touchFrame() {
	b.t.Helper()
	b.await(`document.readyState === "complete"`)
	var at struct{ X, Y float64 }
	b.js(
		`(() => { const f = document.querySelector("iframe"); f.scrollIntoView({block: "center"}); const r = f.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`,
		&at)
	b.do(chromedp.MouseClickXY(at.X, at.Y))
}

// unharmed checks that the tab is where it was, that no script of the page ran in it, and that the
// attacker has heard nothing. A look at the page comes after what the browser did before it.
func (b *tab) unharmed(what, at string, evil *attacker) {
	b.t.Helper()
	if connections := b.unheard(what, at, evil); connections > 0 {
		b.t.Errorf("%s: the attacker had %d connections", what, connections)
	}
}

// unheard is unharmed without the connections, which it returns: a browser may open one before it
// asks the policy, and sends nothing over it.
func (b *tab) unheard(what, at string, evil *attacker) (connections int) {
	b.t.Helper()
	time.Sleep(150 * time.Millisecond) // nothing is awaited: what must not happen needs its time
	var now struct {
		Hit     int
		Address string
	}
	b.js(`({hit: window.hit === undefined ? -1 : window.hit, address: location.href})`, &now)
	requests, connections := evil.heard()
	if now.Hit != -1 || now.Address != at || len(requests) > 0 {
		b.t.Errorf("%s: %+v, the attacker heard %q", what, now, requests)
	}
	return connections
}

// wallAlone shows the attacks as they are, with the headers and the frame of the dashboard: the
// browser's policy must hold when nothing is taken out of a page.
func (b *tab) wallAlone(u string, n *node, evil *attacker) {
	b.t.Helper()
	resp, err := http.Get(u + "/archive?url=" + url.QueryEscape(evil.origin+"/page/0"))
	if err != nil {
		b.t.Fatal(err)
	}
	_ = resp.Body.Close()
	wall := serveAttacks(b.t, "127.0.0.1:0", attacks,
		func(a *attacker, w http.ResponseWriter, r *http.Request) {
			var k int
			if _, err := fmt.Sscanf(r.URL.Path, "/raw/%d", &k); err == nil {
				for _, h := range []string{"Content-Type", "Content-Security-Policy", "X-Content-Type-Options",
					"X-Frame-Options", "Referrer-Policy"} {
					w.Header().Set(h, resp.Header.Get(h))
				}
				fmt.Fprint(w, a.page(k, evil.origin))
				return
			}
			_, _ = fmt.Sscanf(r.URL.Path, "/frame/%d", &k)
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Security-Policy",
				"default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "+
					"frame-ancestors 'none'")
			fmt.Fprintf(w,
				`<!doctype html><iframe sandbox="" width="600" height="300" src="/raw/%d"></iframe>`, k)
		})
	_, _ = evil.heard()
	for k := range attacks {
		b.open(fmt.Sprintf("%s/frame/%d", wall.origin, k))
		b.touchFrame()
		_ = b.unheard(attacks[k]+" with nothing taken out", fmt.Sprintf("%s/frame/%d", wall.origin, k),
			evil)
	}
	if s, err := n.status(); err != nil || s.Crawl.FinishReason == nil ||
		*s.Crawl.FinishReason == "stopped" {
		b.t.Errorf("a page has stopped the crawl: %+v, %v", s.Crawl, err)
	}
}
