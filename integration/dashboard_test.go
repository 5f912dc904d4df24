package integration

import (
	"flag"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/simweb"
)

// pictures is where TestDashboard leaves its pictures.
var pictures = flag.String("pictures", "",
	"folder for pictures of the dashboard; default: one that goes with the test")

// runUp is how long the crawl runs before pictures that are to be kept are taken.
var runUp = flag.Duration("runup", 0, "with -pictures: how long the crawl runs before")

// dashboardPages are the pages of the navigation with their headings.
var dashboardPages = []struct{ path, name, heading string }{
	{"/", "overview", ""}, {"/pages", "urls", "URLs"}, {"/nodes", "nodes", "Nodes"},
	{"/ring", "ring", "Ring"}, {"/hosts", "hosts", "Hosts"}, {"/freshness", "freshness", "Freshness"},
	{"/urls", "url", "Why is a URL"}, {"/events", "events", "Events"},
	{"/settings", "settings", "Settings"}, {"/sites", "sites", "Rules for sites"},
}

// TestDashboard uses the dashboard of one node as a person does while three crawl: every page and
// every control, with scripts and without. Then a node is killed, and the dashboard shows it.
func TestDashboard(t *testing.T) {
	needsProcesses(t)
	b := openTab(t)
	t.Parallel()
	// No host has all of its pages fetched within the test: one without work leaves the list of hosts.
	web, srv := serveSimweb(t,
		simweb.Config{Seed: 31, Hosts: 40, PagesPerHost: 5000, SeedHosts: 25}.Quirky())
	c := simCluster(t, srv, 400*time.Millisecond, "--partitions", "512")
	c.addReady(3)
	c.converged(time.Minute)
	first := c.nodes[0]
	begun := time.Now()
	dir := *pictures
	if dir == "" {
		dir = t.TempDir()
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	u := "http://" + first.http
	b.open(u + "/")
	b.await(`document.querySelector("h1").innerText === "idle"`)
	b.write("#urls", strings.Join(web.Seeds(), "\n")+"\nftp://nothing.test/\n")
	b.click(".start .primary")
	if says := b.text(".message"); !strings.Contains(says,
		fmt.Sprintf("%d accepted", len(web.Seeds()))) ||
		!strings.Contains(says, "ftp://nothing.test/") {
		t.Errorf("after adding seeds: %q", says)
	}
	b.await(
		`document.querySelector("h1").innerText === "Crawling" && document.querySelectorAll("canvas").length === 3`)
	b.stays(first, "seeds")

	b.pauseAndResume(first)
	b.lookAround(u, web.Seeds()[0])
	b.silent("looking around")
	b.open(u + "/")
	// by itself
	b.await(`Number(document.querySelectorAll("#tiles .big")[2].innerText.replace(/,/g, "")) > 300`)
	t.Logf("%v: looked around", time.Since(begun))
	if *pictures != "" {
		time.Sleep(*runUp) // for curves that are worth a picture; no test waits for it
	}
	b.photograph(u, dir, web.Seeds()[0])
	b.silent("photographs")
	t.Logf("%v: photographed", time.Since(begun))
	b.watchDeath(u, dir, c)
	t.Logf("%v: saw a node die", time.Since(begun))
	b.withoutScripts(u, first)
	b.silent("without scripts")
}

// stays checks that what the page shows is what the API says.
func (b *tab) stays(n *node, after string) {
	b.t.Helper()
	s, err := n.status()
	if err != nil || s.Crawl.State != "running" {
		b.t.Fatalf("after %s: %+v, %v", after, s.Crawl, err)
	}
}

// pauseAndResume uses the two buttons, the second by the keyboard.
func (b *tab) pauseAndResume(n *node) {
	b.t.Helper()
	b.click("#pause")
	b.await(
		`document.querySelector(".message").innerText.includes("paused") && document.querySelector("#pause").disabled`)
	if s, err := n.status(); err != nil || s.Crawl.State != "paused" {
		b.t.Fatalf("after the button: %+v, %v", s.Crawl, err)
	}
	b.js(`document.querySelector("#resume").focus()`, nil)
	b.key("\r")
	b.await(
		`document.querySelector(".message")?.innerText.includes("running") && !document.querySelector("#pause").disabled`)
	b.stays(n, "resume")
}

// lookAround follows every link of the navigation, sorts, and looks at one host and
// one URL.
func (b *tab) lookAround(u, seed string) {
	b.t.Helper()
	for _, p := range dashboardPages {
		b.click(fmt.Sprintf(`nav a[href=%q]`, p.path))
		if head := b.text("h1"); !strings.HasPrefix(head, p.heading) ||
			b.text("nav a[aria-current]") == "" {
			b.t.Errorf("%s: %q", p.path, head)
		}
	}
	b.open(u + "/hosts")
	b.click(`th a[href="/hosts?sort=fetched"]`)
	var pages []int
	b.js(
		`[...document.querySelectorAll("#hosts tbody tr")].map((r) => Number(r.cells[3].innerText.replace(/,/g, "")))`,
		&pages)
	if len(pages) < 10 || !slices.IsSortedFunc(pages, func(x, y int) int { return y - x }) {
		b.t.Errorf("hosts by pages: %v", pages)
	}
	b.click("#hosts tbody th a") // or the next row's: the hosts change places while they are crawled
	var host string
	b.js(`decodeURIComponent(location.pathname.replace("/hosts/", ""))`, &host)
	until(b.t, time.Minute, func() string { // its holder may be too busy to answer at once
		if head := b.text("h1"); host == "" || head != host || b.text("#host-robots tbody tr") == "" {
			said := b.text("main")
			b.js("location.reload()", nil)
			return fmt.Sprintf("host %q: %s", host, said)
		}
		return ""
	})
	until(b.t, time.Minute, func() string { // or to have fetched the page
		b.open(u + "/urls")
		b.write("#url", seed)
		b.click(".ask button")
		if said := b.text("main"); !strings.Contains(said, "admitted") ||
			!strings.Contains(said, "seed") || !strings.Contains(said, "warc") {
			return fmt.Sprintf("about %s: %s", seed, said)
		}
		return ""
	})
	b.open(u + "/")
	b.key("\t")
	if on := b.focus(); on != "Skip to the content" {
		b.t.Errorf("the first key reaches %q", on)
	}
}

// photograph takes pictures of all pages in both themes; the dark one is chosen with
// the button once, and is the system's otherwise.
func (b *tab) photograph(u, dir, seed string) {
	b.t.Helper()
	all := *allScreens || *pictures != ""
	for i, theme := range []string{"light", "dark"} {
		b.theme(theme)
		for j, width := range screens {
			if !all && (i != 1 || j != 0) { // TestDashboardFitsScreens looks at each screen
				continue
			}
			b.size(width)
			b.photographAll(u, seed,
				func(name string) { b.picture(dir, fmt.Sprintf("%s-%d-%s", name, width, theme)) })
		}
	}
	b.theme("light")
	b.click(`.theme button[value="dark"]`)
	var dark string
	b.js(
		`getComputedStyle(document.body).colorScheme + getComputedStyle(document.body).backgroundColor`,
		&dark)
	b.click(`.theme button[value="system"]`)
	var light string
	b.js(
		`getComputedStyle(document.body).colorScheme + getComputedStyle(document.body).backgroundColor`,
		&light)
	if !strings.HasPrefix(dark, "darkrgb(") || !strings.HasPrefix(light, "light dark") ||
		dark[4:] == light[10:] {
		b.t.Errorf("themes %q and %q", dark, light)
	}
}

// photographAll opens every page, and calls take with its name.
func (b *tab) photographAll(u, seed string, take func(name string)) {
	b.t.Helper()
	for _, p := range dashboardPages {
		path := p.path
		if p.name == "url" {
			path += "?view=page&url=" + url.QueryEscape(seed)
		}
		b.open(u + path)
		if p.name == "overview" {
			b.await(`document.querySelectorAll("canvas").length === 3`)
		}
		take(p.name)
	}
	b.click(`nav a[href="/hosts"]`)
	b.click("#hosts tbody th a")
	take("host")
}

// watchDeath kills a node while the ring is shown: its letter goes, by itself.
func (b *tab) watchDeath(u, dir string, c *cluster) {
	b.t.Helper()
	b.open(u + "/ring")
	b.await(
		`[...document.querySelectorAll(".cells i")].filter((i) => i.innerText === "C").length > 50`)
	c.whole(2 * time.Minute)
	c.nodes[2].signal(syscall.SIGKILL)
	<-c.nodes[2].done
	gone :=
		`[...document.querySelectorAll(".cells i")].every((i) => i.innerText === "A" || i.innerText === "B")`
	// What is in between may be over before the page is looked at again.
	b.await(`document.querySelectorAll(".cells .moving, .cells .away, .cells .short").length > 0 || ` +
		gone)
	b.picture(dir, "ring-moving-light")
	b.await(gone)
	b.open(u + "/nodes")
	b.await(
		`[...document.querySelectorAll("tr.gone")].some((r) => r.innerText.includes("failed") && r.innerText.includes("n3"))`)
	b.picture(dir, "nodes-failed-light")
	b.press(`tr.gone summary`)
	b.await(`document.querySelector("tr.gone details").open`)
	b.open(u + "/")
	b.await(`document.querySelector("#alerts").innerText.includes("n3")`)
	b.picture(dir, "overview-failed-light")
	b.open(u + "/events")
	b.await(`document.querySelector("#events").innerText.includes("node failed")`)
	b.silent("a node's death")
}

// atRest waits until nothing is under way in a paused crawl: no fetch, no link between
// nodes, no partition, and no figure of another node, which may be 2 s old.
func (b *tab) atRest(n *node) {
	b.t.Helper()
	var last string
	var since time.Time
	until(b.t, time.Minute, func() string {
		s, err := n.status()
		if err != nil || s.Frontier.InFlight > 0 || s.Frontier.Outbox > 0 || s.Ring.UnderReplicated > 0 ||
			s.Crawl.State != "paused" {
			since = time.Time{}
			return fmt.Sprintf("%+v %v", s, err)
		}
		if now := fmt.Sprint(s.Frontier, s.Throughput); since.IsZero() || now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < 3*time.Second {
			return "the figures still change"
		}
		return ""
	})
}

// withoutScripts compares what does not change while the crawl is paused, and uses the forms.
func (b *tab) withoutScripts(u string, n *node) {
	b.t.Helper()
	b.scripts(false)
	b.open(u + "/")
	b.await(
		`!document.querySelector("canvas") && document.querySelectorAll("svg.chart polyline").length > 2`)
	b.click("#pause")
	if says := b.text(".message"); !strings.Contains(says, "paused") {
		b.t.Errorf("paused without scripts: %q", says)
	}
	b.atRest(n)
	var told [2]map[string]string
	for i, on := range []bool{false, true} {
		b.scripts(on)
		told[i] = map[string]string{}
		for _, p := range dashboardPages {
			b.open(u + p.path)
			var facts string
			b.js(
				`[...document.querySelectorAll("h1, h2, dt, thead th, #bands td, #errors td, #answers td, #skipped td, #holders td, #holders th, #events td, #hosts tbody th, nav a, button:disabled")]
				.filter((e) => !e.closest(".plot, #found")).map((e) => e.innerText).join("|")`, &facts) // #found: what a moment's reading has found
			told[i][p.path] = facts
		}
	}
	for path, facts := range told[0] {
		if facts == "" || facts != told[1][path] {
			b.t.Errorf("%s without scripts:\n%s\nwith scripts:\n%s", path, facts, told[1][path])
		}
	}
}

// payloads are texts by which attackers try to get a script into a page.
func payloads() []string {
	shapes := []string{
		`<script>window.hit=%d</script>`, `"><img src=x onerror="window.hit=%d">`,
		`'><svg onload=window.hit=%d>`, `</title><script>window.hit=%d</script>`,
		`javascript:window.hit=%d`, `" onfocus=window.hit=%d autofocus="`,
		`{{constructor.constructor('window.hit=%d')()}}`,
		`<iframe srcdoc="<script>parent.hit=%d</script>">`,
		`</bdi></table><script>window.hit=%d</script>`,
		"\u2028<a href=\"javascript:window.hit=%d\">x</a>",
	}
	var all []string
	for i := range 100 {
		all = append(all, fmt.Sprintf(shapes[i%len(shapes)], i))
	}
	return all
}

// serveEvil serves pages with payloads in their URLs, titles, headers and texts, and
// in the rules of robots.txt.
func serveEvil(t *testing.T) (origin string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	evil := payloads()
	srv := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				fmt.Fprint(w, "User-agent: *\n")
				for i, p := range evil[:10] {
					fmt.Fprintf(w, "Disallow: /closed%d%s\n", i, p)
				}
				fmt.Fprint(w, "Disallow: /closed\n")
				return
			}
			p := evil[len(r.URL.Path)%len(evil)]
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("X-Evil", strings.ReplaceAll(p, "\u2028", ""))
			w.Header().Set("Etag", `"`+url.QueryEscape(p)+`"`)
			if r.URL.Path == "/moved" {
				w.Header()["Location"] = []string{"/to?" + p}
				w.WriteHeader(http.StatusFound)
			}
			fmt.Fprintf(w, "<title>%s</title><meta name=description content=%q>", p, p)
			for i, q := range evil {
				fmt.Fprintf(w, "<a href=\"/%d?%s#x\" title=%q>%s</a>\n", i, html.EscapeString(q), q, q)
			}
		}),
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return "http://" + ln.Addr().String()
}

// Text from web servers runs no script in an operator's browser (S17).
func TestDashboardRunsNoForeignScript(t *testing.T) {
	needsProcesses(t)
	b := openTab(t)
	t.Parallel()
	origin := serveEvil(t)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "0s", "--partitions", "512")
	c.addReady(1)
	n := c.nodes[0]
	n.seed(origin+"/", origin+"/moved")
	c.finished(time.Minute)
	u := "http://" + n.http
	pages := []string{"/", "/nodes", "/ring", "/hosts", "/events", "/hosts/127.0.0.1",
		"/urls?url=" + url.QueryEscape(origin+"/moved")}
	// a page costs a browser more than a payload
	for i, group := range slices.Collect(slices.Chunk(payloads(), 4)) {
		q := origin + fmt.Sprintf("/%d%s?%s&%s&%s", i, group[0], group[1], group[2], group[3])
		switch i % 4 {
		case 1:
			q = origin + fmt.Sprintf("/closed%d%s?%s&%s&%s", i%10, group[0], group[1], group[2], group[3])
		case 2:
			q = strings.Join(group, " ")
		}
		pages = append(pages, "/urls?url="+url.QueryEscape(q))
	}
	for i, path := range pages {
		b.open(u + path)
		var found struct {
			Hit, Foreign int
			Title        string
		}
		b.js(
			`({hit: window.hit === undefined ? -1 : window.hit, title: document.title, foreign: document.querySelectorAll("main img, main iframe, main script, [onload], [onerror], [onfocus], a[href^='javascript:']").length})`,
			&found)
		if found.Hit != -1 || found.Foreign != 0 || !strings.HasSuffix(found.Title, "crawlnode") {
			b.t.Errorf("%s: %+v", path, found)
		}
		if i > 6 && b.text("#answer") == "" {
			b.t.Errorf("%s: nothing is said", path)
		}
	}
	b.silent("hostile pages")
	b.refusesOtherSites(u, n)
}

// refusesOtherSites posts a form from a page of another site, as a browser does.
func (b *tab) refusesOtherSites(u string, n *node) {
	b.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		b.t.Fatal(err)
	}
	srv := &http.Server{ReadHeaderTimeout: 10 *
		time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w,
			`<form method="post" action="%s/control/crawl"><button name="action" value="stop">win a prize</button></form>`,
			u)
	})}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	defer func() { _ = srv.Close(); <-done }()
	b.open("http://" + ln.Addr().String() + "/")
	b.click("button")
	if said := b.text("body"); !strings.Contains(said, "from another site") {
		b.t.Errorf("a form of another site: %s", said)
	}
	if s, err := n.status(); err != nil || s.Crawl.FinishReason == nil ||
		*s.Crawl.FinishReason == "stopped" {
		b.t.Errorf("a form of another site has stopped the crawl: %+v, %v", s.Crawl, err)
	}
}
