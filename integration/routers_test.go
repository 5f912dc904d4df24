package integration

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
)

var withRouters = flag.Bool("routers", false,
	"crawl two applications, with routes in the fragment and in the path, "+
		"in a real browser (TestRouters)")

// routerPages is how many pages an application has beside its first one.
const routerPages = 4

// hashRouter is an application whose pages have addresses that differ in the fragment alone. Page 0
// links to half of the pages, each other one to the next, and all to anchors within them.
const hashRouter = `<!DOCTYPE html><title>Loading</title><div id=app></div><script>
async function show() {
  const at = location.hash.replace(/^#\/?/, "") || "p0", n = Number(at.slice(1));
  const d = await (await fetch("/data/" + at + ".json")).json();
  let h = "<h1>" + at + "</h1><p>" + d.text + "</p><a href='#top'>top</a> <a href='#/'>home</a> ";
  for (let i = n + 1; i <= (n ? Math.min(n + 1, d.last) : d.last / 2); i++) h += "<a href='#/p" + i + "'>" + i + "</a> ";
  document.title = at; document.getElementById("app").innerHTML = h;
}
addEventListener("hashchange", show); show();
</script>`

// historyRouter is one whose pages have paths, and whose list of pages grows when a reader scrolls.
const historyRouter = `<!DOCTYPE html><title>Loading</title><div id=app></div><script>
(async () => {
  const at = location.pathname.slice(1) || "p0", list = document.getElementById("app");
  const d = await (await fetch("/data/" + at + ".json")).json();
  list.innerHTML = "<h1>" + at + "</h1><p>" + d.text + "</p>"; document.title = at;
  if (at !== "p0") return;
  const add = (from, to) => { for (let i = from; i <= to; i++) {
    const a = document.createElement("a"); a.href = "/p" + i; a.textContent = "page " + i; a.style.cssText = "display:block;height:600px";
    a.onclick = e => { e.preventDefault(); history.pushState({}, "", a.href) }; list.append(a);
  } };
  add(1, d.last / 2);
  addEventListener("scroll", () => add(d.last / 2 + 1, d.last), { once: true });
})();
</script>`

// router serves an application and counts what it is asked for.
type router struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
}

func startRouter(t *testing.T, page string) *router {
	r := &router{asked: map[string]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.asked[q.URL.Path]++
		r.mu.Unlock()
		switch name, data := strings.CutPrefix(q.URL.Path, "/data/"); {
		case data:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"last":%d,"text":"the words of %s"}`, routerPages,
				strings.TrimSuffix(name, ".json"))
		case q.URL.Path == "/robots.txt":
			http.NotFound(w, q)
		default:
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(page))
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *router) times(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[path]
}

// TestRouters crawls two applications that are one file each: one shows its pages by the fragment,
// the other by the path, and lists half of them only to who scrolls. Every page is found, shown and
// archived once, with its own text.
func TestRouters(t *testing.T) {
	onRequest(t, *withRouters,
		"needs a browser and a quiet machine: run it with -routers, as make nightly does")
	needsBrowser(t)
	t.Parallel()
	byHash, byPath := startRouter(t, hashRouter), startRouter(t, historyRouter)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "0s", "--ip-delay", "0",
		"--partitions", "512", "--render", "auto", "--renderers", "4", "--render-timeout", "2m")
	c.addReady(1)
	n := c.nodes[0]
	want := map[string]string{byHash.URL + "/": "p0", byPath.URL + "/": "p0"}
	for i := 1; i <= routerPages; i++ {
		want[fmt.Sprintf("%s/#/p%d", byHash.URL, i)] = fmt.Sprint("p", i)
		want[fmt.Sprintf("%s/p%d", byPath.URL, i)] = fmt.Sprint("p", i)
	}
	n.seed(byHash.URL+"/", byPath.URL+"/")
	c.finished(slack(time.Minute))
	for u := range want {
		var r crawl.URLReport
		if err := n.decode("/api/v1/urls?url="+url.QueryEscape(u), &r); err != nil || r.URL == nil ||
			*r.URL != u || r.Render == nil || r.Render.Decided != "rendered" {
			t.Errorf("%s: %+v, %v", u, r, err)
		}
	}
	var s status
	if err := n.decode("/status", &s); err != nil {
		t.Error(err)
	}
	c.stop()

	shown := shownIn(t, filepath.Join(n.dir, "warc"), "the words of")
	for u, name := range want {
		if shown[u] != 1 {
			t.Errorf("%s was archived as it was shown %d times", u, shown[u])
		}
		if record := c.newestCaptures()[u]; record.TargetURI != u {
			t.Errorf("%s (%s): no capture", u, name)
		}
	}
	for u, times := range shown {
		if want[u] == "" {
			t.Errorf("%s was shown %d times and is no page", u, times)
		}
	}
	for i := range routerPages + 1 {
		for _, r := range []*router{byHash, byPath} {
			if times := r.times(fmt.Sprintf("/data/p%d.json", i)); times != 1 {
				t.Errorf("%s: the data of page %d was fetched %d times", r.URL, i, times)
			}
		}
	}
}
