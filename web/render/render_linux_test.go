package render

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is how long a page may take in a test that is not about time: the machine may be busy.
const patience = 90 * time.Second

// newPool fails in CI, and leaves the test out elsewhere, when there is no browser. After the test no process
// and no profile may be left.
func newPool(t *testing.T, cfg Config) *Pool {
	t.Helper()
	if _, err := Find(""); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v (make deps), and CI is set: a missing dependency is a failure", err)
		}
		t.Skip("needs Chromium: make deps installs it")
	}
	cfg.Dir = t.TempDir() + "/render"
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
	return Page{URL: "https://site.test/page", Response: Response{Status: 200, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(body)}}
}

func TestScriptsMakeThePage(t *testing.T) {
	p := newPool(t, Config{Timeout: patience})
	s := &site{files: map[string]string{
		"https://site.test/app.js":    `fetch("/data.json").then(r => r.json()).then(d => { document.title = d.title; document.getElementById("app").innerHTML = d.html; history.pushState(null, "", "/route") })`,
		"https://site.test/data.json": `{"title":"Ä title","html":"<h1>Grüße</h1><a href='#/deep'>deep</a><a href='/next'>next</a><a href='javascript:x()'>no</a>"}`,
	}}
	page := htmlPage(`<link rel=canonical href=/canon><div id=app></div><img src=/i.png><script src=/app.js></script>`)
	page.Screenshot = true
	r, err := p.Render(t.Context(), page, s)
	if err != nil {
		t.Fatal(err)
	}
	if r.Title != "Ä title" || !strings.Contains(r.Text, "Grüße") || !strings.Contains(r.DOM, "<h1>Grüße</h1>") || r.Canonical != "https://site.test/canon" {
		t.Errorf("read title %q, text %q, canonical %q, DOM %q", r.Title, r.Text, r.Canonical, r.DOM)
	}
	if got := strings.Join(r.Links, " "); got != "https://site.test/route#/deep https://site.test/next https://site.test/route" {
		t.Errorf("links are %q", got)
	}
	if r.Requests != 2 || r.Refused == 0 || r.TimedOut || !strings.HasPrefix(string(r.Screenshot), "\x89PNG") {
		t.Errorf("%d requests, %d refused, timed out %v, screenshot of %d bytes", r.Requests, r.Refused, r.TimedOut, len(r.Screenshot))
	}
	for _, url := range s.asked {
		if url == page.URL {
			t.Error("the browser has fetched the page again")
		}
	}
}

// A page is given to the browser as it was fetched, and nothing but the Fetcher can make a connection.
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
	replace := strings.NewReplacer("CANARY", addr, "UDP", udp)

	const timeout = 6 * time.Second
	const slack = 15 * time.Second // for a machine that lets the test itself wait
	p := newPool(t, Config{Timeout: timeout, MemoryBytes: 1 << 30})
	warm(t, p)
	for name, body := range hostilePages {
		if testing.Short() && !shortPages[name] {
			continue // minutes in all
		}
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			_, err := p.Render(t.Context(), htmlPage(replace.Replace(body)), &site{})
			took := time.Since(begin)
			t.Logf("%v, %v", took.Round(time.Millisecond), err)
			if took > timeout+Grace+slack {
				t.Errorf("the page took %v, the time-out is %v", took, timeout)
			}
		})
	}
	for end := time.Now().Add(patience); p.Stats().Busy != 0; time.Sleep(10 * time.Millisecond) { // a browser is still being killed
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

// warm shows a page that does nothing. The time-out of a pool may be too short for a busy machine that
// starts a browser, so it is tried again.
func warm(t *testing.T, p *Pool) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		var r Result
		if r, err = p.Render(t.Context(), htmlPage(`<p>plain words`), &site{}); err == nil && strings.Contains(r.Text, "plain words") {
			return
		}
	}
	t.Fatalf("a plain page is not shown: %v", err)
}

// shortPages are those that every run shows.
var shortPages = map[string]bool{"addresses inside": true, "WebRTC": true, "endless script": true}

// hostilePages try to reach CANARY (an address of this machine), or never to end.
var hostilePages = map[string]string{
	"addresses inside":  `<script src=http://CANARY/a.js></script><img src=http://CANARY/><iframe src=http://CANARY/></iframe><link rel=stylesheet href=http://CANARY/c.css><script>fetch("http://CANARY/").catch(()=>0);new Image().src="http://CANARY/i"</script>`,
	"metadata":          `<script>fetch("http://169.254.169.254/latest/meta-data/").then(r=>r.text()).then(t=>document.body.append(t))</script>`,
	"file":              `<iframe src=file:///etc/passwd></iframe><script>location="file:///etc/passwd"</script>`,
	"data navigation":   `<script>location="data:text/html,<img src=http://CANARY/>"</script>`,
	"blob frame":        `<script>const f=document.createElement("iframe");f.src=URL.createObjectURL(new Blob(["<img src=http://CANARY/>"],{type:"text/html"}));document.documentElement.append(f)</script>`,
	"web socket":        `<script>for(let i=0;i<20;i++)try{new WebSocket("ws://CANARY/")}catch(e){}</script>`,
	"WebRTC":            `<iframe id=f></iframe><script>for(const w of [window,f.contentWindow])try{const p=new w.RTCPeerConnection({iceServers:[{urls:"stun:UDP"},{urls:"turn:CANARY?transport=tcp",username:"a",credential:"b"}]});p.createDataChannel("x");p.createOffer().then(o=>p.setLocalDescription(o))}catch(e){}</script>`,
	"beacon":            `<a id=a href=# ping=http://CANARY/>x</a><script>navigator.sendBeacon("http://CANARY/","x");a.click()</script>`,
	"hints":             `<link rel=prefetch href=http://CANARY/p><link rel=preconnect href=http://CANARY><link rel=dns-prefetch href=//x.test><link rel=preload as=script href=http://CANARY/l><link rel=modulepreload href=http://CANARY/m><link rel=prerender href=http://CANARY/r><script type=speculationrules>{"prefetch":[{"source":"list","urls":["http://CANARY/s"]}],"prerender":[{"source":"list","urls":["/other"]}]}</script>`,
	"workers":           `<script>const u=URL.createObjectURL(new Blob(['fetch("http://CANARY/w");try{new WebSocket("ws://CANARY/")}catch(e){};try{importScripts("http://CANARY/i.js")}catch(e){}']));new Worker(u);try{new SharedWorker(u)}catch(e){}</script>`,
	"service worker":    `<script>try{navigator.serviceWorker.register("/sw.js")}catch(e){}</script>`,
	"downloads":         `<script>for(let i=0;i<50;i++){const a=document.createElement("a");a.href=URL.createObjectURL(new Blob(["x"]));a.download="f"+i;document.documentElement.append(a);a.click()}</script>`,
	"dialogs":           `<script>delete window.alert;for(;;){alert(1);confirm(2);prompt(3);print();if(performance.now()>3000)break}onbeforeunload=e=>{e.preventDefault();return "x"}</script>`,
	"windows":           `<iframe id=f></iframe><script>for(let i=0;i<500;i++){open("http://CANARY/"+i);try{f.contentWindow.open("http://CANARY/"+i)}catch(e){}}</script><a id=a target=_blank href=http://CANARY/>x</a><script>for(let i=0;i<100;i++)a.click()</script>`,
	"script redirects":  `<script>setInterval(()=>{location="/r"+Math.random()},1);setInterval(()=>location.reload(),7)</script>`,
	"refresh":           `<meta http-equiv=refresh content="0;url=http://CANARY/"><p>x`,
	"endless script":    `<p>x<script>for(;;);</script>`,
	"endless microtask": `<p>x<script>(function f(){Promise.resolve().then(f)})()</script>`,
	"memory":            `<script>const a=[];setInterval(()=>{for(let i=0;i<20;i++)a.push(new Uint8Array(1<<24).fill(1))},1)</script>`,
	"huge DOM":          `<body><script>for(let i=0;i<300000;i++)document.body.append(document.createElement("i"),"word ")</script>`,
	"restless DOM":      `<body><script>setInterval(()=>document.body.append("x"),1)</script>`,
	"long title":        `<script>document.title="t".repeat(1<<25)</script>`,
	"many requests":     `<script>for(let i=0;i<5000;i++)fetch("/x"+i).catch(()=>0)</script>`,
	"routes":            `<script>for(let i=0;i<100000;i++)try{history.pushState(0,"","/"+i)}catch(e){break}</script>`,
	"changed builtins":  `<script>JSON.stringify=()=>{for(;;);};Document.prototype.querySelectorAll=()=>{throw 1};Array.prototype.push=()=>0</script>`,
}

// The browser is killed while it shows a page: the page has an error that says so, and the next one a new browser.
func TestBrowserKilled(t *testing.T) {
	p := newPool(t, Config{Timeout: patience})
	_, err := p.Render(t.Context(), htmlPage(`<script src=/a.js></script>`), fetcherFunc(func(ctx context.Context, _ Request) (Response, error) {
		p.mu.Lock()
		b := p.now
		p.mu.Unlock()
		_ = syscall.Kill(b.pid(), syscall.SIGKILL)
		<-ctx.Done()
		return Response{}, ctx.Err()
	}))
	if !errors.Is(err, ErrBrowser) {
		t.Errorf("the error is %v, want ErrBrowser", err)
	}
	warm(t, p)
	if s := p.Stats(); s.Restarts != 1 || s.Failed != 1 {
		t.Errorf("counted %+v, want one restart and one failed page", s)
	}
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
