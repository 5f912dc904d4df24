package integration

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"crawlnode/simweb"
)

// screens are the widths of phones, tablets and desks, in CSS pixels.
var screens = []int64{360, 390, 768, 1024, 1440, 1920}

// size is the width of what the browser shows; narrow screens are telephones.
func (b *tab) size(width int64) {
	b.t.Helper()
	metrics := emulation.SetDeviceMetricsOverrideParams{
		Width:             width,
		Height:            800,
		DeviceScaleFactor: 1,
		Mobile:            width < 600,
	}
	if _, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, metrics); err != nil {
		b.t.Fatal(err)
	}
}

var allScreens = flag.Bool("screens", false,
	"look at each page in both themes on each screen, as make nightly does, not in one of them")

// setSites sets rules for sites.
func (n *node) setSites(text string) {
	n.c.t.Helper()
	req, err := n.request(http.MethodPut, "/api/v1/sites", strings.NewReader(text))
	if err != nil {
		n.c.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		n.c.t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		n.c.t.Fatalf("PUT /api/v1/sites: %d, %v", resp.StatusCode, err)
	}
}

// Every page fits every screen in both themes, with scripts and without: only a table in its own
// box scrolls sideways, and the keyboard reaches the boxes too.
func TestDashboardFitsScreens(t *testing.T) {
	needsProcesses(t)
	b, rules := openTab(t), axe(t)
	t.Parallel()
	web, srv := serveSimweb(t,
		simweb.Config{Seed: 17, Hosts: 12, PagesPerHost: 20, SeedHosts: 6}.Quirky())
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
	n.setSites("- match: host:" + seed.Hostname() + "\n  delay: 1s\n  headers: {X-Long: " + longName +
		"}\n")
	paths := []string{"/start", "/sites?rule=0&url=" + url.QueryEscape(seed.String()),
		"/urls?view=page&url=" + url.QueryEscape(seed.String()),
		"/urls?view=headers&url=" + url.QueryEscape(seed.String()), "/pages?contains=" + longName,
		"/hosts/" + seed.Host, "/hosts/nobody.test",
		"/urls?url=" + url.QueryEscape(seed.String()+"?"+longName)}
	for _, p := range dashboardPages {
		paths = append(paths, p.path)
	}
	for i, width := range screens {
		b.size(width)
		for j, theme := range []string{"light", "dark"} {
			if !*allScreens && j != i/2%2 {
				continue
			}
			b.theme(theme)
			for _, path := range paths {
				b.open(u + path)
				where := fmt.Sprintf("%s, %d px, %s", path, width, theme)
				b.fits(where, width)
				if i%2 == 0 || *allScreens { // a look takes longer than all else
					b.accessible(where, rules, width)
				}
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
		t.Fatalf(
			"this test needs axe-core (make deps), and CI is set: a missing dependency is a failure: %v",
			err)
	}
	if err != nil {
		t.Logf("nothing is checked with axe-core: make deps installs it: %v", err)
	}
	return string(script)
}

// accessible checks all rules of axe-core that are on by default, and on a phone that a finger
// finds what it can press (WCAG 2.2, 2.5.8).
func (b *tab) accessible(where, rules string, width int64) {
	b.t.Helper()
	if rules == "" {
		return
	}
	targets := strconv.FormatBool(width < 600)
	b.js(`(() => { if (!window.axe) { `+rules+` } axe.run({ rules: { "target-size": { enabled: `+
		targets+
		` } } }).then((r) => { window.violations = r.violations.map((v) => v.id + ": " + v.help + " " + v.nodes.map((n) => n.html).join("; ").slice(0, 300)); }, (e) => { window.violations = ["axe-core failed: " + e]; }); })()`, nil)
	b.await(`window.violations !== undefined`)
	var found []string
	b.js(`window.violations`, &found)
	for _, v := range found {
		b.t.Errorf("%s: %s", where, v)
	}
}

// longName is a name without a place to break it.
const longName = "session=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// fitsScript lists what of a page is not as it should be on a screen of some width. What stands in
// a box that scrolls can be reached; so can what a field or a frame holds. A hidden thing (a closed
// box, what is for readers of screens) has no place at all.
const fitsScript = `(width) => {
	const wrong = [];
	const say = (what, e, more) =>
		wrong.push(what + ": " + e.outerHTML.replace(/\s+/g, " ").slice(0, 90) + " " + (more ?? ""));
	const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".skip");
	const style = (e) => getComputedStyle(e);
	const scrolls = (e) => ["auto", "scroll"].includes(style(e).overflowX);
	const field = (e) => ["INPUT", "SELECT", "TEXTAREA", "IFRAME", "OPTION"].includes(e.tagName);
	const page = document.documentElement;
	if (page.scrollWidth !== width || innerWidth !== width)
		say("the page is wider", page, page.scrollWidth + ", " + innerWidth);
	if (document.body.innerText.length < 100) say("the page says nothing", document.body);
	for (const e of document.querySelectorAll("body, body *")) {
		if (!shown(e) || e.closest("svg") && e.tagName !== "svg" && e.tagName !== "text") continue;
		const box = e.getBoundingClientRect();
		if (box.width === 0 || box.height === 0) continue;
		if (!e.closest(".scroll") && (box.right > width + 0.5 || box.left < -0.5))
			say("outside", e, box.left + " to " + box.right);
		const more = e.scrollWidth > e.clientWidth;
		if (more && scrolls(e) && e.tabIndex < 0) say("the keyboard cannot move", e);
		const clips = !scrolls(e) && style(e).overflowX !== "visible" && !field(e);
		if (clips && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1)
			say("cut off", e, e.scrollWidth + " in " + e.clientWidth);
		const size = parseFloat(style(e).fontSize) * (e.tagName === "text" ? e.getScreenCTM().a : 1);
		if (size < 9 && e.textContent.trim()) say("too small to read", e, size + " px");
	}
	// Texts: each line within the box that has it, and no figure in two lines.
	const boxes = "td, th, dd, dt, li, .tile, .panel, figure, header, main, footer, body";
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let text; (text = walk.nextNode());) {
		const e = text.parentElement;
		const words = text.data.trim();
		if (!words || !shown(e) || field(e) || e.closest("script, svg, .u-legend")) continue;
		const range = document.createRange();
		range.selectNodeContents(text);
		const lines = [...range.getClientRects()].filter((r) => r.width > 0);
		const holder = e.closest(boxes).getBoundingClientRect();
		const out = lines.find((r) => r.right > holder.right + 1 || r.left < holder.left - 1);
		if (out) say("runs out of its box", e, out.left + " to " + out.right);
		if (/^[\d,.]+$/.test(words) && new Set(lines.map((r) => Math.round(r.top))).size > 1)
			say("a figure in two lines", e, words);
	}
	// On a desk a table of few columns has room.
	if (width >= 1024) for (const box of document.querySelectorAll(".scroll")) {
		const columns = box.querySelectorAll("thead th").length;
		if (columns < 6 && box.scrollWidth > box.clientWidth + 1)
			say("a table without room", box, box.scrollWidth + " in " + box.clientWidth);
	}
	for (const canvas of document.querySelectorAll("canvas")) {
		const outer = canvas.closest(".plot").getBoundingClientRect().right;
		const inner = canvas.getBoundingClientRect().right;
		if (inner > outer + 1) say("curves wider than their place", canvas, inner + " in " + outer);
	}
	return wrong;
}`

// fits checks that a page is as wide as the screen, and that all of it can be seen and read.
func (b *tab) fits(where string, width int64) {
	b.t.Helper()
	var wrong []string
	b.js(fmt.Sprintf("(%s)(%d)", fitsScript, width), &wrong)
	for i, w := range wrong {
		if i == 5 {
			b.t.Errorf("%s: and %d more", where, len(wrong)-i)
			break
		}
		b.t.Errorf("%s: %s", where, w)
	}
}

// keepsPlace checks that a table on a telephone stays where it was moved to, with the
// focus, while the page is kept fresh.
func (b *tab) keepsPlace(u string) {
	b.t.Helper()
	b.size(screens[0])
	b.open(u + "/nodes")
	b.js(
		`(() => { const box = document.querySelector("#nodes .scroll"); box.marked = true; box.focus(); box.scrollLeft = 150; })()`,
		nil)
	b.await(`!document.querySelector("#nodes .scroll").marked`) // the page was fetched anew
	var place struct {
		Left  int
		Focus string
	}
	b.js(
		`({left: document.querySelector("#nodes .scroll").scrollLeft, focus: document.activeElement.ariaLabel ?? ""})`,
		&place)
	if place.Left != 150 || place.Focus != "Nodes" {
		b.t.Errorf("after the page was kept fresh: %+v", place)
	}
}
