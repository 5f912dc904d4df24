package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// leavingPage tries to leave something for the next page of its origin, and shows what the page
// before has left.
const leavingPage = `<p id=out></p><script>
const found = [];
const note = (name, there) => { if (there) found.push(name) };
note("name", window.name); note("local", localStorage.length); note("session", sessionStorage.length); note("cookie", document.cookie);
note("history", history.length > 2); note("state", history.state);
window.name = "left"; document.cookie = "left=1"; document.cookie = "wide=1; domain=site.test"; localStorage.left = 1; sessionStorage.left = 1; history.replaceState({left: 1}, "");
addEventListener("pagehide", () => { localStorage.late = 1; sessionStorage.late = 1; document.cookie = "late=1"; window.name = "late" });
setInterval(() => { localStorage.again = 1 }, 1);
(async () => {
  note("caches", (await caches.keys()).length); await caches.open("left");
  note("databases", (await indexedDB.databases()).length);
  await new Promise(done => { const r = indexedDB.open("left"); r.onsuccess = r.onerror = r.onupgradeneeded = done });
  const root = await navigator.storage.getDirectory();
  for await (const name of root.keys()) note("files", name);
  await root.getFileHandle("left", {create: true});
  let worker = false;
  try { new SharedWorker("data:text/javascript,onconnect = e => e.ports[0].postMessage(1)", {name: "left", extendedLifetime: true}).port.onmessage = () => note("worker", true) } catch (e) {}
  await new Promise(done => setTimeout(done, 200));
  document.getElementById("out").textContent = "found: " + found.join(" ") + ".";
})().catch(e => { document.getElementById("out").textContent = "failed: " + e });
</script>`

// Pages of one origin are shown in one tab, and none of them sees what one before it has left. A
// busy machine may be too slow to clear the tab: then the next page has a new one.
func tabIsCleared(t *testing.T, p *Pool) {
	most := 0
	for i, end := 0, time.Now().Add(patience); i < 3 || most < 2 && time.Now().Before(end); i++ {
		page := htmlPage(leavingPage)
		page.URL = fmt.Sprint("https://site.test/", i)
		r, err := p.Render(t.Context(), page, &site{})
		if err != nil || !strings.Contains(r.Text, "found: .") {
			t.Errorf("page %d: %v, %q; a page finds what another has left", i, err, r.Text)
		}
		for _, tab := range p.idle(t) {
			most = max(most, tab.shown)
		}
	}
	if most < 2 {
		t.Error("no tab has shown two pages")
	}
}

// idle waits until no slot is in use, and returns the idle tabs.
func (p *Pool) idle(t *testing.T) []*tab {
	t.Helper()
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	defer func() {
		for range cap(p.slots) {
			<-p.slots
		}
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil {
		return nil
	}
	return append([]*tab(nil), p.now.idle...)
}

// A page of another origin has another tab, and no more tabs are idle than pages may be shown at a
// time.
func tabsAreOfOneOrigin(t *testing.T, p *Pool) {
	for _, origin := range []string{"https://a.test", "http://a.test", "https://a.test:8443",
		"https://a.test"} {
		r, err := p.Render(t.Context(), Page{URL: origin + "/x", Response: Response{
			Status: 200,
			Header: http.Header{"Content-Type": {"text/html"}},
			Body:   []byte(`<p>words`),
		}}, &site{})
		if err != nil || r.Text != "words" {
			t.Errorf("%s: %v, %q", origin, err, r.Text)
		}
		p.idle(t)
	}
	tabs := p.idle(t)
	for _, tab := range tabs {
		if tab.shown != 1 { // that of the first page was the oldest when the third came
			t.Errorf("a tab of %s has shown %d pages", tab.origin, tab.shown)
		}
	}
	if len(tabs) > 2 || len(tabs) == 2 && tabs[0].origin == tabs[1].origin {
		t.Errorf("%d tabs are idle", len(tabs))
	}
}
