package integration

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	tarpitHosts = 20
	tarpitPages = 40
	tarpitDelay = 50 * time.Millisecond
)

// TestTarpit is S6 as other hosts see it: the time in which well-behaved hosts are
// crawled, without a tarpit and beside three, each of which has pages without end,
// a byte a second. With -hostile it is measured so many times, and judged.
func TestTarpit(t *testing.T) {
	needsProcesses(t)
	if *hostileRuns == 0 {
		t.Parallel()
	}
	var ratios []float64
	for range max(*hostileRuns, 1) {
		w := newHostileWeb(t)
		c := newCluster(t, "--dns", w.dns, "--allow-net", hostileNet, "--delay", tarpitDelay.String())
		c.addReady(1)
		n := c.nodes[0]
		w.crawlPlain(n, "warm", 5, 5)
		without := w.crawlPlain(n, "before", tarpitHosts, tarpitPages)
		var pits []string
		for i := range 3 {
			name := fmt.Sprint("pit", i)
			w.behave(name, tarpit)
			pits = append(pits, w.url(name, "/"))
		}
		n.seed(pits...)
		until(t, 30*time.Second, func() string {
			for i := range pits {
				if w.asked(fmt.Sprintf("pit%d.%s", i, hostileZone), "/") == 0 {
					return pits[i] + " was not asked for"
				}
			}
			return ""
		})
		with := w.crawlPlain(n, "beside", tarpitHosts, tarpitPages)
		ratios = append(ratios, float64(with)/float64(without))
		t.Logf("%d pages of %d hosts in %v without, in %v beside three tarpits: %.3f",
			tarpitHosts*tarpitPages, tarpitHosts, without, with, ratios[len(ratios)-1])
		n.signal(9)
		<-n.done
	}
	slices.Sort(ratios)
	median := ratios[len(ratios)/2]
	if *hostileRuns == 0 {
		// they would take a minute each if the tarpits held all fetchers; a loaded machine says no more
		if median > 15 && !raceDetector {
			t.Errorf("beside three tarpits the other hosts took %.2f times as long", median)
		}
		return
	}
	appendHostile(t, "S6", "three tarpits beside 20 hosts: time of the others, median of the runs",
		fmt.Sprintf("%.3f times", median))
	if median > 1/0.95 {
		t.Errorf("three tarpits cost the others %.1f %% of their throughput, at most 5 %% are promised",
			100*(1-1/median))
	}
}

// crawlPlain has well-behaved hosts crawled and returns the time from the first
// request to the last, at the server.
func (w *hostileWeb) crawlPlain(n *node, name string, hosts, pages int) time.Duration {
	w.t.Helper()
	n.seed(w.plainHosts(name, hosts, pages)...)
	last := fmt.Sprint("/", pages-1)
	until(w.t, 2*time.Minute, func() string {
		for h := range hosts {
			if host := fmt.Sprintf("%s%d.%s", name, h, hostileZone); w.asked(host, last) == 0 {
				return host + last + " was not asked for"
			}
		}
		return ""
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	var first, end time.Time
	for key, at := range w.times {
		if strings.HasPrefix(key, name) && (first.IsZero() || at.Before(first)) {
			first = at
		}
		if strings.HasPrefix(key, name) && at.After(end) {
			end = at
		}
	}
	return end.Sub(first)
}

// tarpit is a page with a thousand links to more of its kind, at once, and then a
// byte a second.
func tarpit(c net.Conn, r *http.Request) bool {
	var links strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&links, "<a href=%s%d/>", r.URL.Path, i)
	}
	return endless(okHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(links.String()), chunk("x"),
		time.Second)(c, r)
}

const hostileHead = `# Hostile servers

What one node with its default limits makes of hostile servers: the rows are those of integration/hostile_test.go. Appended by ` + "`make soak`" +
	`, or

    go test ./integration -count=1 -timeout 60m -v -run '^Test(Hostile.*|Bombs|Tarpit|Shares.*)$' -hostile 7

| date | commit | row | what | figure |
|---|---|---|---|---|
`

// appendHostile writes one line of docs/results/hostile.md, in long runs only.
func appendHostile(t *testing.T, row, what, figure string) {
	t.Helper()
	if *hostileRuns == 0 {
		return
	}
	appendResult(t, "hostile.md", hostileHead, fmt.Sprintf("%s | %s | %s |", row, what, figure))
}
