package integration

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A measurement, not a test of every day:
//
//	go test ./integration -count=1 -timeout 20m -v -run '^TestDashboardOfAMillion$' -dashboard.urls 1000000
var dashboardURLs = flag.Int("dashboard.urls", 0, "run TestDashboardOfAMillion with about this "+
	"many URLs on a node, and append the figures to docs/results/dashboard.md")

// What is promised of each page of the dashboard, and how often each is asked for.
const (
	dashboardTime = 200 * time.Millisecond
	dashboardAsks = 20
)

const dashboardHead = `# The dashboard of a node with many URLs

TestDashboardOfAMillion fills a node's frontier: a fifth of the URLs fetched before, the rest queued, a fifth on one host and the others on 1,000 hosts.
While the node crawls, each page is asked for 20 times, from the request to the last byte. Promised: each page below 200 ms. The first page of a search
reads for 50 ms and says how far it came; a person who asks to search on waits for up to a second.

| date | commit | URLs | page | median, ms | longest, ms |
|---|---|---|---|---|---|
`

// TestDashboardOfAMillion measures every page of a node with a million URLs, while it crawls.
func TestDashboardOfAMillion(t *testing.T) {
	onRequest(t, *dashboardURLs != 0, "a measurement of minutes")
	fifth := *dashboardURLs / 5
	r := &bigRun{t: t, urls: 3 * fifth, done: fifth, crowd: fifth, hosts: 1001}
	dir := t.TempDir()
	r.filled = filepath.Join(dir, "filled")
	r.web = startBigWeb(t, r.hosts, freePort(t))
	c := r.cluster(dir, "--delay", "1s")
	r.found(c)
	r.fill(filepath.Join(dir, "n1"))
	t.Logf("%d URLs in %v", r.total(), r.fillTime)
	n := c.place()
	n.start()
	before := r.web.pages.Load()
	until(t, time.Minute, func() string {
		if r.web.pages.Load() < before+100 {
			return "the node does not crawl yet"
		}
		return ""
	})
	crowd, small := r.web.url(0, 3), r.web.url(500, 3)
	name := func(raw string) string {
		_, rest, _ := strings.Cut(raw, "//")
		h, _, _ := strings.Cut(rest, "/")
		h, _, _ = strings.Cut(h, ":")
		return h
	}
	for _, p := range []struct{ title, path string }{
		{"overview", "/"}, {"start", "/start"}, {"URLs", "/pages"},
		{"URLs, fetched", "/pages?state=done"},
		{"URLs, of the large host", "/pages?host=" + name(crowd)},
		{"URLs, a part that one has", "/pages?contains=" + url.QueryEscape(small)},
		{"URLs, a part that none has", "/pages?contains=nothing-has-this"},
		{"URLs, none with 404", "/pages?status=404"},
		{"nodes", "/nodes"}, {"ring", "/ring"}, {"hosts", "/hosts"},
		{"a small host", "/hosts/" + name(small)}, {"the large host", "/hosts/" + name(crowd)},
		{"one URL", "/urls?url=" + url.QueryEscape(small)}, {"events", "/events"}, {"settings", "/settings"},
	} {
		var took []time.Duration
		for range dashboardAsks {
			began := time.Now()
			code, body, err := n.get(p.path)
			took = append(took, time.Since(began))
			if err != nil || code != http.StatusOK || len(body) < 1000 {
				t.Fatalf("%s: %d, %d bytes, %v", p.path, code, len(body), err)
			}
		}
		slices.Sort(took)
		longest := took[len(took)-1]
		appendResult(t, "dashboard.md", dashboardHead, fmt.Sprintf("%d | %s | %.1f | %.1f |", r.total(),
			p.title, took[len(took)/2].Seconds()*1e3, longest.Seconds()*1e3))
		if longest > dashboardTime {
			t.Errorf("%s took %v, %v promised", p.title, longest, dashboardTime)
		}
	}
	if r.web.pages.Load() < before+200 {
		t.Error("the node did not crawl while it was measured")
	}
}
