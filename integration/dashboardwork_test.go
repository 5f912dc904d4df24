package integration

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"crawlnode/simweb"
)

// hand is a way to use a page.
type hand struct {
	b *tab
	// reach puts the focus on an element; press follows it when it has the focus.
	reach func(selector string)
	press func(selector string)
}

// mouse clicks on everything.
func mouse(b *tab) hand {
	return hand{b, b.press, b.press}
}

// keyboard goes from element to element with the tab key.
func keyboard(b *tab) hand {
	reach := func(selector string) {
		b.t.Helper()
		for range 300 {
			var there bool
			if b.js(fmt.Sprintf(`document.activeElement.matches(%q)`, selector), &there); there {
				return
			}
			b.key("\t")
		}
		b.t.Fatalf("the tab key does not reach %s", selector)
	}
	return hand{b, reach, func(selector string) { b.t.Helper(); reach(selector); b.key("\r") }}
}

// follow presses something that leads to another page.
func (h hand) follow(selector string) {
	h.b.t.Helper()
	h.b.leads(func() { h.press(selector) })
}

// fill types a text into a field, in the place of what it had.
func (h hand) fill(selector, text string) {
	h.b.t.Helper()
	h.reach(selector)
	// as a double click or a key does
	h.b.js(fmt.Sprintf(`document.querySelector(%q).select()`, selector), nil)
	h.b.do(chromedp.KeyEvent(text))
	var is string
	if h.b.js(fmt.Sprintf(`document.querySelector(%q).value`, selector), &is); is != text {
		h.b.t.Fatalf("%s has %q after %q was typed", selector, is, text)
	}
}

// A person starts a crawl, pauses it, changes a setting, resumes it and reads a page of it: with
// the mouse, with nothing but the keyboard, and without scripts.
func TestDashboardDoesEverything(t *testing.T) {
	needsProcesses(t)
	b := openTab(t)
	t.Parallel()
	for name, way := range map[string]struct {
		hand    hand
		scripts bool
		width   int64
	}{
		"mouse":                           {mouse(b), true, 1440},
		"keyboard":                        {keyboard(b), true, 768},
		"without scripts, on a telephone": {mouse(b), false, 360},
	} {
		web, srv := serveSimweb(t, simweb.Config{Seed: 41, Hosts: 3, PagesPerHost: 2000, SeedHosts: 3})
		c := simCluster(t, srv, 100*time.Millisecond, "--partitions", "512")
		c.addReady(1)
		b.size(way.width)
		b.scripts(way.scripts)
		t.Log(name)
		b.works(way.hand, "http://"+c.nodes[0].http, c.nodes[0], web.Seeds())
		b.silentBut(name, "status of 400") // the refused forms
		c.nodes[0].signal(syscall.SIGKILL) // the next way has a cluster of its own
	}
}

// silentBut fails when the browser has complained of anything but what is expected.
func (b *tab) silentBut(where, expected string) {
	b.t.Helper()
	b.mu.Lock()
	b.complaints = slices.DeleteFunc(b.complaints,
		func(c string) bool { return strings.Contains(c, expected) })
	b.mu.Unlock()
	b.silent(where)
}

// works is that person's way through the dashboard of an idle node.
func (b *tab) works(h hand, u string, n *node, seeds []string) {
	b.t.Helper()
	until(b.t, time.Minute, func() string { // a cluster that was just founded may still make copies
		b.open(u + "/")
		if says := b.text("#verdict"); !strings.HasPrefix(says, "All is well") ||
			!strings.Contains(says, "nothing to crawl yet") {
			return fmt.Sprintf("of an idle crawl: %q", says)
		}
		return ""
	})
	h.fill("#urls", seeds[0])
	h.fill("#delay", "soon")
	h.follow(".start .primary")
	if says := b.text("#delay-problem"); !strings.Contains(says, "not a duration") {
		b.t.Errorf("beside a wrong delay: %q; the page: %s", says, b.text("main"))
	}
	h.fill("#delay", "90ms")
	h.follow(".start .primary")
	if says := b.text(".message"); !strings.Contains(says, "1 accepted") ||
		!strings.Contains(says, "delay") {
		b.t.Fatalf("after the start: %q", says)
	}
	b.stays(n, "the start")
	h.follow("#pause")
	limit := int64(20) // and what was fetched before the pause
	until(b.t, time.Minute, func() string {
		s, err := n.status()
		if err != nil || s.Crawl.State != "paused" || s.Frontier.InFlight > 0 {
			return fmt.Sprintf("paused: %+v, %d in flight, %v", s.Crawl, s.Frontier.InFlight, err)
		}
		limit = s.Throughput.PagesTotal + 20
		return ""
	})
	h.follow(`nav a[href="/settings"]`)
	h.fill("#max_pages", "many")
	h.follow(".save .primary")
	if says := b.text("#max_pages-problem"); says == "" {
		b.t.Errorf("beside a wrong limit: nothing; the page: %s", b.text("main"))
	}
	h.fill("#max_pages", fmt.Sprint(limit))
	h.follow(".save .primary")
	if says := b.text(".message"); !strings.Contains(says, "Changed on all nodes: max-pages") {
		b.t.Errorf("after a change: %q", says)
	}
	h.follow(`nav a[href="/"]`)
	h.follow("#resume")
	until(b.t, time.Minute, func() string {
		s, err := n.status()
		if err != nil || s.Crawl.State != "finished" || s.Throughput.PagesTotal != limit {
			return fmt.Sprintf("%+v, %d pages, %v", s.Crawl, s.Throughput.PagesTotal, err)
		}
		return ""
	})
	b.reads(h, seeds[0], int(limit))
}

// reads finds a page in the list and reads it.
func (b *tab) reads(h hand, seed string, limit int) {
	b.t.Helper()
	h.follow(`nav a[href="/pages"]`)
	host, err := url.Parse(seed)
	if err != nil {
		b.t.Fatal(err)
	}
	h.fill("#contains", host.Host+"/")
	h.fill("#status", "200")
	h.follow(".filter button")
	link := fmt.Sprintf("#found tbody a[href=%q]", "/urls?url="+url.PathEscape(seed))
	var links int
	for b.js(`document.querySelectorAll("#found tbody a").length`, &links); links == 0 &&
		b.text("#found .more a[rel=next]") != ""; {
		// a page reads for a moment only, which may find nothing on a busy machine
		h.follow("#found .more a[rel=next]")
		b.js(`document.querySelectorAll("#found tbody a").length`, &links)
	}
	if links == 0 || links > limit {
		b.t.Fatalf("%d links to pages; the page: %s", links, b.text("main"))
	}
	if b.text(link) == "" {
		link = "#found tbody a"
	}
	h.follow(link)
	if says := b.text("#archived pre"); len(says) < 20 {
		b.t.Errorf("the text of the page: %q; the page: %s", says, b.text("main"))
	}
	h.follow(`#archived .spans a[href*="headers"]`)
	if says := b.text("#archived pre"); !strings.HasPrefix(says, "HTTP/1.1 200") {
		b.t.Errorf("its head: %q", says)
	}
	h.follow(`#archived .spans a[href*="view=page"]`)
	var frame struct {
		Sandbox, Address string
		Foreign          bool
	}
	b.js(
		`(() => { const f = document.querySelector("#archived iframe"); return {sandbox: f.getAttribute("sandbox") ?? "none", address: f.src, foreign: f.contentDocument === null}; })()`,
		&frame)
	if frame.Sandbox != "" || !frame.Foreign {
		b.t.Errorf("the frame: %+v", frame)
	}
	resp, err := http.Get(frame.Address)
	if err != nil {
		b.t.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK || len(page) < 100 {
		b.t.Errorf("in the frame: %d %v %s", resp.StatusCode, err, page)
	}
}

// What the page of settings says of a wrong value is what crawl-config set says.
func TestDashboardRefusesAsTheCommandDoes(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	c := newCluster(t, "--partitions", "512")
	c.addReady(1)
	n := c.nodes[0]
	for _, wrong := range [][2]string{{"delay", "soon"}, {"delay", "-1s"}, {"max_pages", "-5"},
		{"scope", "planet"}, {"include", "regex:("}, {"allow_net", "10.0.0.0/99"}, {"max_body", "huge"},
		{"robots", "maybe"}} {
		code, _, errs := run(t, "", "crawl-config", "set", wrong[0]+"="+wrong[1], "--addr", n.http)
		resp, err := http.PostForm("http://"+n.http+"/control/settings", url.Values{wrong[0]: {wrong[1]}})
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut,
			"http://"+n.http+"/api/v1/crawl",
			strings.NewReader(fmt.Sprintf(`{"settings":{%q:%q}}`, wrong[0], wrong[1])))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var problem struct{ Errors []struct{ Detail string } }
		err = json.NewDecoder(answer.Body).Decode(&problem)
		_ = answer.Body.Close()
		if err != nil || len(problem.Errors) != 1 {
			t.Fatalf("%v: %+v, %v", wrong, problem, err)
		}
		detail := problem.Errors[0].Detail
		beside := fmt.Sprintf(`id="%s-problem">`, wrong[0])
		_, shown, _ := strings.Cut(string(page), beside)
		shown, _, _ = strings.Cut(shown, "</p>")
		if code == 0 || !strings.Contains(errs, detail) || resp.StatusCode != http.StatusBadRequest ||
			html.UnescapeString(shown) != detail {
			t.Errorf("%v: the command says %q, the page (%d) %q, the API %q", wrong, errs, resp.StatusCode,
				shown, detail)
		}
	}
}
