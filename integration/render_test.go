package integration

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	render "crawlnode/render/browser"
)

// needsBrowser marks a test that shows pages to a real browser.
func needsBrowser(t *testing.T) {
	t.Helper()
	needsProcesses(t)
	if _, err := render.Find(""); err != nil {
		unable(t, "needs Chromium, which make deps installs: %v", err)
	}
}

// applicationPage is every page of an application: its scripts make links and text of what they
// load.
const applicationPage = `<a></a><!DOCTYPE html><title>Loading</title><div id=app></div><script src=/app.js></script><script src=/tools.js></script><img src=/picture.png>`

// applicationScript shows the page's text, and on the first page links to all others.
const applicationScript = `const tools = new Promise(r => window.ready = r);
Promise.all([tools, fetch("/data.json").then(r => r.json())]).then(([t, d]) => {
  let h = "<h1>Page " + location.pathname + "</h1><p>" + t + "</p>";
  if (location.pathname === "/") for (const p of d.pages) h += "<a href='" + p + "'>" + p + "</a> ";
  document.getElementById("app").innerHTML = h;
});
fetch("/private/secret.json").catch(() => {}); navigator.sendBeacon("/beacon"); new WebSocket("ws://" + location.host + "/socket");`

// application is a host whose pages only a browser can read.
func application(pages int) temper {
	var list []string
	for i := range pages {
		list = append(list, fmt.Sprintf(`"/p%d"`, i))
	}
	return temper{
		name:  "application",
		pages: pages,
		moody: func(path string, _, _ int, a *politeAnswer) {
			switch {
			case path == "/robots.txt":
				a.body = "User-agent: *\nDisallow: /private/\n"
			case path == "/app.js":
				a.status = http.StatusOK
				a.body = applicationScript
			case path == "/tools.js":
				a.status = http.StatusOK
				a.body = `ready("made by scripts")`
			case path == "/data.json":
				a.status = http.StatusOK
				a.body = `{"pages":[` + strings.Join(list, ",") + `]}`
			case path == "/" || strings.HasPrefix(path, "/p"):
				a.body = applicationPage
			}
		},
	}
}

// times is how often a path was asked for.
func (h *politeHost) times(path string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[path]
}

// shownIn counts the resource records of each URL in a folder of WARC files that have a text.
func shownIn(t *testing.T, dir, text string) map[string]int {
	t.Helper()
	shown := map[string]int{}
	files, err := filepath.Glob(filepath.Join(dir, "*.warc.gz*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		_, err := archive.Scan(file, func(record archive.Record) error {
			if record.Type != "resource" {
				return nil
			}
			if !strings.Contains(string(record.Payload), text) ||
				record.Fields.Get("WARC-Refers-To") == "" ||
				!strings.HasPrefix(record.Fields.Get("Content-Type"), "text/html") {
				t.Errorf("%s: the record of %s is %+v with %q", file, record.TargetURI, record.Fields,
					record.Payload)
			}
			shown[record.TargetURI]++
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	return shown
}

// TestRenderUnderKills crawls applications with three nodes that show every page to a browser, and
// kills one node and the browser of another. At the web server no host is asked twice at a time or
// too early, pages and scripts alike, and each page is found and shown.
func TestRenderUnderKills(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	const delay, pages = 100 * time.Millisecond, 6
	w := startPoliteWeb(t, 61, 6, 6, application(pages))
	c := newCluster(t, "--dns", w.dns, "--allow-net", "127.0.0.0/8", "--delay", delay.String(),
		"--partitions", "512", "--render", "all", "--renderers", "2", "--render-timeout", "2m")
	c.addReady(3)
	c.converged(time.Minute)
	began := time.Now()
	c.nodes[0].seed(w.seeds()...)
	until(t, slack(time.Minute), func() string {
		var s crawl.Status
		if err := c.nodes[0].decode("/status", &s); err != nil || s.Render.PagesTotal < 8 {
			return fmt.Sprintf("%+v, %v", s.Render, err)
		}
		return ""
	})
	c.nodes[1].signal(syscall.SIGKILL)
	<-c.nodes[1].done
	killBrowser(t, c.nodes[2])
	c.nodes[1].start()
	c.nodes[1].ready()
	c.finished(slack(2 * time.Minute))
	var s crawl.Status
	if err := c.nodes[0].decode("/status", &s); err != nil {
		t.Fatal(err)
	}
	if s.Render.Mode != "all" || s.Render.Browser == nil || s.Render.PagesTotal == 0 ||
		s.Render.RefusedRequestsTotal == 0 || s.Render.CacheHitsTotal == 0 || s.Render.Max != 6 ||
		s.Render.Seconds.P50 == nil {
		t.Errorf("render %+v", s.Render)
	}
	c.stop()
	for _, n := range c.nodes {
		if left := browsersOf(t, n); len(left) > 0 {
			t.Errorf("%s has left processes %v", n.name, left)
		}
	}

	f := w.judge(delay, 0)
	t.Logf("%v in %v; %+v", f, time.Since(began).Round(time.Second), s.Render)
	// what was in flight at the kill, and what a browser showed while its host moved back
	if f.violating > 0 || f.missing > 0 || f.repeated > 40 {
		t.Error(f)
	}
	shown := map[string]int{}
	for _, n := range c.nodes {
		for u, times := range shownIn(t, filepath.Join(n.dir, "warc"), "made by scripts") {
			shown[u] += times
		}
	}
	for _, h := range w.hosts {
		for _, path := range h.all() {
			if shown[h.url(path)] == 0 {
				t.Errorf("%s was not shown", h.url(path))
			}
		}
		for _, path := range []string{"/app.js", "/tools.js", "/data.json"} {
			if n := h.times(path); n == 0 || n > 3 { // once for each node that had the host
				t.Errorf("%s was fetched %d times", h.url(path), n)
			}
		}
		for _, path := range []string{"/private/secret.json", "/beacon", "/socket", "/picture.png"} {
			if n := h.times(path); n > 0 {
				t.Errorf("%s was fetched %d times", h.url(path), n)
			}
		}
	}
}

// browsersOf are the processes of a node's browser, by their profile.
func browsersOf(t *testing.T, n *node) (pids []int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(line), "--user-data-dir="+n.dir+"/") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(path, "/proc/%d/cmdline", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killBrowser kills the browser of a node, when it has one.
func killBrowser(t *testing.T, n *node) {
	t.Helper()
	for _, pid := range browsersOf(t, n) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}
