package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"crawlnode/simweb"
)

// The search page fits every screen in both themes and keeps the rules of axe-core, with results,
// without any, and when it corrects a word; on a telephone without scripts, a person asks, turns
// the page and opens an archived copy.
func TestSearchPageFitsScreens(t *testing.T) {
	needsProcesses(t)
	b, rules := openTab(t), axe(t)
	t.Parallel()
	web, srv := serveSimweb(t,
		simweb.Config{Seed: 75, Hosts: 6, PagesPerHost: 10, Skew: -1, LinksPerPage: 10, PageBytes: 6000})
	c := simCluster(t, srv, 0, "--index", "on", "--partitions", "512")
	c.addReady(1)
	n := c.nodes[0]
	n.seed(web.Seeds()...)
	c.finished(time.Minute)
	c.searchable(time.Minute, c.documents())
	u := "http://" + n.http
	paths := []string{"/search", "/search?query=" + allPages, "/search?query=synthetik",
		"/search?query=" + strings.Repeat("nothing", 30)}
	for _, width := range screens {
		b.size(width)
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			for _, path := range paths {
				b.open(u + path)
				where := fmt.Sprintf("%.40s, %d px, %s", path, width, theme)
				b.fits(where, width)
				b.accessible(where, rules, width)
				if path == paths[1] && *pictures != "" {
					b.picture(*pictures, fmt.Sprintf("search-%d-%s", width, theme))
				}
			}
		}
	}
	b.theme("light")
	b.size(screens[0])
	b.scripts(false)
	for _, path := range paths {
		b.open(u + path)
		b.fits(path+" without scripts", screens[0])
	}
	h := mouse(b)
	b.open(u + "/search")
	h.fill(`#query`, allPages)
	h.follow(`form.ask button`)
	if says := b.text("main"); !strings.Contains(says, "archived copy") {
		t.Errorf("after a question: %q", says)
	}
	b.silent("the search page")
	c.stop()
}
