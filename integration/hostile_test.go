package integration

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"
)

var hostileRuns = flag.Int("hostile", 0, "judge hostile servers to the end of their crawl, "+
	"measure tarpits this many times, and append the figures to docs/results/hostile.md")

// visitLine is the line of one visit in a node's log (--log-level debug).
type visitLine struct {
	Msg, URL, Kind, Category, Skip, Reason string
	Status                                 int
	Truncated                              string
}

// outcome is the line in the words of hostileCase.want.
func (l *visitLine) outcome() string {
	switch {
	case l.Kind == "refused":
		return "refused " + l.Skip
	case l.Kind != "fetched":
		return l.Category
	case l.Truncated != "":
		return fmt.Sprint(l.Status, " cut")
	}
	return fmt.Sprint(l.Status)
}

// visits reads the node's log and returns the first visit of each URL that was
// more than its host's robots.txt, or a request that was lost with a kept connection.
func (n *node) visits() map[string]visitLine {
	n.c.t.Helper()
	f, err := os.Open(n.log)
	if err != nil {
		n.c.t.Fatal(err)
	}
	defer f.Close()
	found := map[string]visitLine{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l visitLine
		if json.Unmarshal(lines.Bytes(), &l) != nil || l.Msg != "visit completed" ||
			l.Kind == "robots_fetched" || l.Kind == "lost" {
			continue
		}
		if _, known := found[l.URL]; !known {
			found[l.URL] = l
		}
	}
	if err := lines.Err(); err != nil {
		n.c.t.Fatal(err)
	}
	return found
}

// TestHostileWeb lets one node with its default limits crawl a web in which
// nearly every host is hostile, one host for each trick. The web's side says what
// was asked for, a canary whether anything outside --allow-net was connected to,
// the node's log what became of each URL. The rows:
//
//	S1   addresses that are not public, in every spelling: by seeds, links, redirects, robots.txt, sitemaps
//	S2   names with good and bad addresses, names that change
//	S3   redirects to what is no web page
//	S4   cookies, credentials, referrers: none is ever sent
//	S5   payloads that never end, or become large
//	S6   servers that are slow or silent
//	S7   redirects without end
//	S8   broken and oversized heads and chunks
//	S9   TLS, see TestHostileTLS
//	S10  hostile robots.txt
//	S12  hostile HTML
//	S13  hostile URLs
//	S15  forged archive records
//	S21  hostile XML
func TestHostileWeb(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	w := newHostileWeb(t)
	cases := w.hostileCases()
	c := newCluster(t, "--dns", w.dns, "--allow-net", hostileNet, "--delay", "20ms", "--scope", "any",
		"--log-level", "debug", "--log-format", "json")
	c.addReady(1)
	n := c.nodes[0]
	good := w.plainHosts("good", 10, 10)
	var seeds []string
	for _, hc := range cases {
		seeds = append(seeds, hc.url(w))
	}
	n.seed(append(seeds, good...)...)

	until(t, 90*time.Second, func() string {
		select {
		case <-n.done:
			t.Fatalf("a page stopped the node: %v", n.err)
		default:
		}
		return missingCase(w, cases, n.visits())
	})
	w.judgeCases(cases, n.visits())
	w.judgePlain(n, 10, 10)
	if s, err := n.status(); err != nil || s.Crawl.State != "running" {
		t.Errorf("the node after all this: %+v, %v", s.Crawl, err)
	}
	if *hostileRuns > 0 {
		c.finished(20 * time.Minute) // every URL was tried as often as it ever is
	}
	n.signal(syscall.SIGTERM)
	if code := n.exit(t, leaveTime); code != 0 {
		t.Errorf("exit code %d", code)
	}
	w.judgeArchive(n, cases)
	if got := w.canary.Load(); got != 0 {
		t.Errorf("%d connections to places outside --allow-net", got)
	}
	w.figures(cases)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.leaks) > 0 {
		t.Errorf("headers that must never be sent: %q", w.leaks)
	}
}

// url is the seed of a case, as the node writes it.
func (hc *hostileCase) url(w *hostileWeb) string {
	if hc.seed != "" {
		return hc.seed
	}
	return w.url(hc.name, "/")
}

// canonical are seeds that the node writes differently.
var canonical = strings.NewReplacer("0x7f.1", "127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]")

// wanted are the outcomes of all URLs of a case.
func (hc *hostileCase) wanted(w *hostileWeb) map[string]string {
	all := map[string]string{canonical.Replace(hc.url(w)): hc.want}
	for u, want := range hc.then {
		all[u] = want
	}
	return all
}

// missingCase lists the URLs without an outcome yet.
func missingCase(w *hostileWeb, cases []hostileCase, seen map[string]visitLine) string {
	var missing []string
	for _, hc := range cases {
		for u, want := range hc.wanted(w) {
			if _, ok := seen[u]; !ok && want != "" {
				missing = append(missing, u)
			}
		}
	}
	sort.Strings(missing)
	if len(missing) > 0 {
		return fmt.Sprintf("%d URLs were not visited: %v", len(missing), missing[:min(len(missing), 10)])
	}
	return ""
}

// judgeCases compares what became of each URL, and what each server saw, with
// the table.
func (w *hostileWeb) judgeCases(cases []hostileCase, seen map[string]visitLine) {
	w.t.Helper()
	for _, hc := range cases {
		for u, want := range hc.wanted(w) {
			got := seen[u]
			if want != "" && got.outcome() != want ||
				u == hc.url(w) && !strings.Contains(got.Reason, hc.says) {
				w.t.Errorf("%s: %s: %s (%s), want %s (%s)", hc.row, u, got.outcome(), got.Reason, want, hc.says)
			}
		}
		for path, most := range hc.most {
			if got := w.asked(hc.name+"."+hostileZone, path); got > most {
				w.t.Errorf("%s: %s%s was requested %d times, at most %d", hc.row, hc.name, path, got, most)
			}
		}
	}
}

// plainHosts adds well-behaved hosts, and returns their first pages: each host
// is a chain, page i leads to page i+1.
func (w *hostileWeb) plainHosts(prefix string, hosts, pages int) (seeds []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for h := range hosts {
		name := fmt.Sprint(prefix, h)
		for p := range pages {
			w.talks[fmt.Sprint(name, "/", p)] = says("200 OK", "Content-Type: text/html",
				fmt.Sprintf("<title>%d</title><a href=/%d>next</a>", p, (p+1)%pages))
		}
		seeds = append(seeds, w.url(name, "/0"))
	}
	return seeds
}

// judgePlain checks that each page of a well-behaved host was asked for once.
func (w *hostileWeb) judgePlain(n *node, hosts, pages int) {
	w.t.Helper()
	for h := range hosts {
		for p := range pages {
			if got := w.asked(fmt.Sprintf("good%d.%s", h, hostileZone), fmt.Sprint("/", p)); got != 1 {
				w.t.Errorf("page %d of good%d was requested %d times", p, h, got)
			}
		}
	}
}

// judgeArchive reads the archive back, and checks that it has every answer and
// nothing that was forged.
func (w *hostileWeb) judgeArchive(n *node, cases []hostileCase) {
	w.t.Helper()
	statuses := map[string]string{}
	for _, c := range readWARC(w.t, n.dir) {
		if c.url == "" {
			w.t.Errorf("a capture without a URL: %+v", c)
		}
		statuses[c.url] = fmt.Sprint(c.status)
	}
	for _, hc := range cases {
		for u, want := range hc.wanted(w) {
			if status, _, _ := strings.Cut(want, " "); want != "" && status[0] >= '0' && status[0] <= '9' &&
				statuses[u] != status {
				w.t.Errorf("%s: the archive has %q of %s, want %s", hc.row, statuses[u], u, status)
			}
		}
	}
}

// figures writes a line for each row into the results of long runs.
func (w *hostileWeb) figures(cases []hostileCase) {
	rows := map[string]int{}
	for _, hc := range cases {
		rows[hc.row] += len(hc.wanted(w))
	}
	outcome := "as the table says"
	if w.t.Failed() {
		outcome = "FAILED"
	}
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		appendHostile(w.t, row,
			fmt.Sprintf("%d URLs; %d connections to the canaries", rows[row], w.canary.Load()), outcome)
	}
}
