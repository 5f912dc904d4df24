package integration

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// dot is a picture of one red pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

// replayed starts the verb replay and returns its address.
func replayed(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"replay", "--listen", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("replay ends with %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "replay: ")
	if err != nil || !ok {
		t.Fatalf("replay says %q, %v", line, err)
	}
	return strings.TrimSuffix(address, "/")
}

// illustrated is a site with pictures, styles and two versions of its first page. It counts its
// requests.
func illustrated(t *testing.T) (site string, asked *atomic.Int64, version *atomic.Int64) {
	t.Helper()
	asked, version = new(atomic.Int64), new(atomic.Int64)
	version.Store(1)
	picture, err := base64.StdEncoding.DecodeString(dot)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Set-Cookie", "a=b")
		var body string
		kind := "text/html; charset=utf-8"
		switch r.URL.Path {
		case "/":
			body = fmt.Sprintf(
				`<!doctype html><title>v%d</title><link rel=stylesheet href="/style.css?a=1&amp;b=2"><p id=p>version %d</p><img id=i src="img/dot.png?x='y'&z=(1)"><a id=a href="/next#there">next</a>`+
					`<a href="/old">old</a><script>document.title="run"</script>`, version.Load(), version.Load())
		case "/next":
			body = `<p id=there>the next page</p>`
		case "/old":
			w.Header().Set("Location", "/next")
			w.WriteHeader(http.StatusMovedPermanently)
			return
		case "/style.css":
			kind, body = "text/css", `@import "more.css"; #p{color:rgb(1,2,3)}`
		case "/more.css":
			kind, body = "text/css", `body{background:url(img/dot.png?bg)}`
		case "/img/dot.png":
			kind, body = "image/png", string(picture)
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked, version
}

// TestReplay shows an archived site in a browser while the site counts its visitors: text, styles,
// pictures and links are there, from data directories, from single files and through a node; nobody
// visits. Memento clients find both versions.
func TestReplay(t *testing.T) {
	needsProcesses(t)
	b := openTab(t)
	t.Parallel()
	site, asked, version := illustrated(t)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "0s", "--assets", "same-host",
		"--warc-size", "1MiB")
	c.addReady(1)
	n := c.nodes[0]
	n.seed(site + "/")
	c.finished(time.Minute)
	version.Store(2)
	time.Sleep(1100 * time.Millisecond) // times in an index are whole seconds
	n.again(site + "/")
	until(t, 30*time.Second, func() string {
		var report struct{ Captures []struct{} }
		getJSON(t, n, "/api/v1/captures?url="+url.QueryEscape(site+"/"), &report)
		if len(report.Captures) < 2 {
			return fmt.Sprintf("%d captures", len(report.Captures))
		}
		return ""
	})
	byNode := replayed(t, "--addr", n.http)
	visits := asked.Load()
	b.showsSite(byNode, site)
	c.stop()
	files, err := filepath.Glob(filepath.Join(n.dir, "warc", "*.warc.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, args := range [][]string{{n.dir}, files} {
		b.showsSite(replayed(t, args...), site)
	}
	mementos(t, replayed(t, n.dir), site)
	if now := asked.Load(); now != visits {
		t.Errorf("the site had %d visits of replayed pages", now-visits)
	}
}

// showsSite opens the archived site and follows a link.
func (b *tab) showsSite(replay, site string) {
	b.t.Helper()
	b.open(replay + "/web/" + site + "/")
	b.await(`document.readyState === "complete"`)
	var seen struct {
		Title, Text, Color, Back, At string
		Width                        int
	}
	b.js(
		`({title: document.title, text: document.querySelector("#p").textContent, color: getComputedStyle(document.querySelector("#p")).color,
		back: getComputedStyle(document.body).backgroundImage, at: location.pathname, width: document.querySelector("#i").naturalWidth})`, &seen)
	if seen.Title != "v2" || seen.Text != "version 2" || seen.Color != "rgb(1, 2, 3)" ||
		!strings.Contains(seen.Back, "/web/") || seen.Width != 1 {
		b.t.Errorf("%s shows %+v", replay, seen)
	}
	var first string
	b.js(`document.querySelector("#a").href`, &first)
	b.open(first)
	if says := b.text("body"); !strings.Contains(says, "the next page") ||
		!strings.HasSuffix(first, "#there") {
		b.t.Errorf("the link %s shows %q", first, says)
	}
}

// mementos asks as clients of RFC 7089 do.
func mementos(t *testing.T, replay, site string) {
	t.Helper()
	stay := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	get := func(path, when string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, replay+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if when != "" {
			r.Header.Set("Accept-Datetime", when)
		}
		resp, err := stay.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body := new(strings.Builder)
		if _, err := bufio.NewReader(resp.Body).WriteTo(body); err != nil {
			t.Fatal(err)
		}
		return resp, body.String()
	}
	gate, _ := get("/web/"+site+"/", "Thu, 01 Jan 2015 00:00:00 GMT")
	if gate.StatusCode != http.StatusFound || gate.Header.Get("Vary") != "accept-datetime" ||
		!strings.Contains(gate.Header.Get("Link"), `rel="original"`) {
		t.Errorf("the time gate: %d %v", gate.StatusCode, gate.Header)
	}
	first, body := get(gate.Header.Get("Location"), "")
	if !strings.Contains(body, "version 1") || first.Header.Get("Memento-Datetime") == "" ||
		!strings.Contains(first.Header.Get("Link"), `rel="timegate"`) ||
		first.Header.Get("Set-Cookie") != "" ||
		!strings.Contains(first.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the first version: %v %s", first.Header, body)
	}
	timeMap, body := get("/timemap/link/"+site+"/", "")
	if timeMap.Header.Get("Content-Type") != "application/link-format" ||
		strings.Count(body, "memento\"; datetime") != 2 {
		t.Errorf("the time map: %s", body)
	}
	moved, _ := get(gate.Header.Get("Location")+"old", "")
	if moved.StatusCode != http.StatusFound && moved.StatusCode != http.StatusMovedPermanently {
		t.Errorf("a redirect: %d", moved.StatusCode)
	}
	for path, code := range map[string]int{
		"/web/" + site + "/none-such": 404,
		"/web/x y":                    400,
		"/else":                       404,
		"/":                           200,
		"/web/2026/":                  400,
	} {
		if resp, body := get(strings.ReplaceAll(path, " ", "%20"), ""); resp.StatusCode != code ||
			!strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	r, err := http.NewRequest(http.MethodGet, replay+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "rebound.example"
	if resp, err := stay.Do(r); err != nil || resp.StatusCode != http.StatusForbidden ||
		resp.Body.Close() != nil {
		t.Errorf("a rebound name: %v, %v", resp, err)
	}
}

// TestReplayedAttacks shows hostile pages: nothing runs, and the server that they name hears
// nothing.
func TestReplayedAttacks(t *testing.T) {
	needsProcesses(t)
	b := openTab(t)
	t.Parallel()
	c, evil, all := seedAttacks(t)
	c.finished(time.Minute)
	c.stop()
	replay := replayed(t, c.nodes[0].dir)
	_, _ = evil.heard()
	for i := range all {
		b.open(fmt.Sprintf("%s/web/%s/page/%d", replay, evil.origin, i))
		time.Sleep(150 * time.Millisecond) // nothing is awaited: what must not happen needs its time
		var now struct {
			Hit    int
			Origin string
		}
		b.js(`({hit: window.hit === undefined ? -1 : window.hit, origin: location.origin})`, &now)
		if requests, connections := evil.heard(); now.Hit != -1 || now.Origin != replay ||
			len(requests) > 0 || connections > 0 {
			t.Errorf("%s: %+v, the attacker heard %q over %d connections", all[i], now, requests,
				connections)
		}
	}
}
