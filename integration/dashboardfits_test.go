package integration

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"crawlnode/simweb"
)

// screens are the widths of a phone, a tablet and a desk, in CSS pixels.
var screens = []int64{360, 768, 1440}

// size is the width of what the browser shows; narrow screens are telephones.
func (b *tab) size(width int64) {
	b.t.Helper()
	metrics := emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 800, DeviceScaleFactor: 1, Mobile: width < 600}
	if _, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, metrics); err != nil {
		b.t.Fatal(err)
	}
}

var allScreens = flag.Bool("screens", false, "look at each page in both themes on each screen, as make nightly does, not in one of them")

// Every page fits every screen in both themes, with scripts and without: only a table in its own
// box scrolls sideways, and the keyboard reaches the boxes too.
func TestDashboardFitsScreens(t *testing.T) {
	needsProcesses(t)
	b, rules := openTab(t), axe(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{Seed: 17, Hosts: 12, PagesPerHost: 20, SeedHosts: 6}.Quirky())
	c := simCluster(t, srv, 20*time.Millisecond, "--partitions", "512")
	c.addReady(1)
	n := c.nodes[0]
	n.seed(web.Seeds()...)
	c.finished(time.Minute)
	seed, err := url.Parse(web.Seeds()[0])
	if err != nil {
		t.Fatal(err)
	}
	u := "http://" + n.http
	paths := []string{"/start", "/urls?view=page&url=" + url.QueryEscape(seed.String()), "/urls?view=headers&url=" + url.QueryEscape(seed.String()), "/pages?contains=" + longName, "/hosts/" + seed.Host, "/hosts/nobody.test", "/urls?url=" + url.QueryEscape(seed.String()+"?"+longName)}
	for _, p := range dashboardPages {
		paths = append(paths, p.path)
	}
	for i, width := range screens {
		b.size(width)
		for j, theme := range []string{"light", "dark"} {
			if !*allScreens && j != i%2 {
				continue
			}
			b.theme(theme)
			for _, path := range paths {
				b.open(u + path)
				where := fmt.Sprintf("%s, %d px, %s", path, width, theme)
				b.fits(where, width)
				b.accessible(where, rules)
			}
		}
	}
	b.theme("light")
	b.scripts(false)
	b.size(screens[0])
	for _, path := range paths {
		b.open(u + path)
		b.fits(path+" without scripts", screens[0])
	}
	b.scripts(true)
	b.keepsPlace(u)
}

// axe is the script of axe-core, which finds faults of accessibility; "" where it is not
// installed and need not be.
func axe(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("axe", "node_modules", "axe-core", "axe.min.js"))
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("this test needs axe-core (make deps), and CI is set: a missing dependency is a failure: %v", err)
	}
	if err != nil {
		t.Logf("nothing is checked with axe-core: make deps installs it: %v", err)
	}
	return string(script)
}

// accessible checks all rules of axe-core that are on by default.
func (b *tab) accessible(where, rules string) {
	b.t.Helper()
	if rules == "" {
		return
	}
	b.js(`(() => { if (!window.axe) { `+rules+` } axe.run().then((r) => { window.violations = r.violations.map((v) => v.id + ": " + v.help + " " + v.nodes.map((n) => n.html).join("; ").slice(0, 300)); }, (e) => { window.violations = ["axe-core failed: " + e]; }); })()`, nil)
	b.await(`window.violations !== undefined`)
	var found []string
	b.js(`window.violations`, &found)
	for _, v := range found {
		b.t.Errorf("%s: %s", where, v)
	}
}

// longName is a name without a place to break it.
const longName = "session=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// fits checks that a page is as wide as the screen, and nothing in it is cut off.
func (b *tab) fits(where string, width int64) {
	b.t.Helper()
	var page struct {
		Wide, Window, Text int64
		Outside            []string
		Unreachable        int
	}
	b.js(fmt.Sprintf(`({wide: document.documentElement.scrollWidth, window: innerWidth, text: document.body.innerText.length,
		outside: [...document.querySelectorAll("body *")].filter((e) => !e.closest(".scroll, .skip") && e.getBoundingClientRect().right > %d + 0.5).map((e) => e.outerHTML.slice(0, 80)),
		unreachable: [...document.querySelectorAll("*")].filter((e) => e.scrollWidth > e.clientWidth && ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.tabIndex < 0).length})`, width), &page)
	if page.Wide != width || page.Window != width || len(page.Outside) > 0 {
		b.t.Errorf("%s: the page is %d px wide in a window of %d; outside are %.5q", where, page.Wide, page.Window, page.Outside)
	}
	if page.Unreachable > 0 || page.Text < 100 {
		b.t.Errorf("%s: the keyboard cannot move %d boxes; the page has %d characters", where, page.Unreachable, page.Text)
	}
}

// keepsPlace checks that a table on a telephone stays where it was moved to, with the
// focus, while the page is kept fresh.
func (b *tab) keepsPlace(u string) {
	b.t.Helper()
	b.size(screens[0])
	b.open(u + "/nodes")
	b.js(`(() => { const box = document.querySelector("#nodes .scroll"); box.marked = true; box.focus(); box.scrollLeft = 150; })()`, nil)
	b.await(`!document.querySelector("#nodes .scroll").marked`) // the page was fetched anew
	var place struct {
		Left  int
		Focus string
	}
	b.js(`({left: document.querySelector("#nodes .scroll").scrollLeft, focus: document.activeElement.ariaLabel ?? ""})`, &place)
	if place.Left != 150 || place.Focus != "Nodes" {
		b.t.Errorf("after the page was kept fresh: %+v", place)
	}
}
