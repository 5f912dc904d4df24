package integration

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
)

var renderKills = flag.Int("renderkills", 0,
	"kills of nodes and of browsers, in turn, in TestRenderKills; "+
		"appends to docs/results/renderkills.md")

const renderKillsHead = `# Kills while pages are in the browser

Three nodes show every page of some applications to their browsers. A node, then a browser, and so on, is killed with SIGKILL while a page is in a browser; a node starts again at once. Each kill has a new application of six pages. *lost*: pages that the web server never gave, or that no
archive has as they were shown. *in flight*: visits that were open in the cluster just before the kills, in all; from the second row on just before the kills of nodes, as a browser's kill may repeat no fetch. *twice*: pages that the server gave more often than once
(from then on each time around the kill of a node: before its partitions were back), and pages that the archives have more often (no more than visits that the killed nodes had). *orphans*: processes of a killed node's browser ten seconds after the
kill; *gone*: the longest time until the last had ended. Appended by

    go test ./integration -count=1 -v -run '^TestRenderKills$' -renderkills 50

| date | commit | kills of nodes | of browsers | pages | lost: fetched | shown | in flight | fetched twice | archived twice | orphans | gone, s | requests too early | seconds | load of the machine |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// killFigures is what the kills have done.
type killFigures struct {
	nodes, browsers, orphans int
	// visits before the kills of nodes: of the cluster, and of the killed ones
	inFlight, own int
	gone          time.Duration
	// from the kill of a node until all partitions were served by their owners again
	moves [][2]time.Time
}

// excuse reports whether a page may have been given at these two times: its visit was in flight in
// the killed node, or with a host that moved.
func (f *killFigures) excuse(first, second time.Time) bool {
	return slices.ContainsFunc(f.moves,
		func(m [2]time.Time) bool { return !first.After(m[1]) && !second.Before(m[0]) })
}

// unexcused lists the pages that were given again without a reason.
func (f *killFigures) unexcused(w *politeWeb) (list []string) {
	for _, h := range w.hosts {
		h.mu.Lock()
		last := map[string]time.Time{}
		for _, q := range h.seen {
			if before, given := last[q.path]; given && slices.Contains(h.all(), q.path) &&
				!f.excuse(before, q.start) {
				list = append(list, fmt.Sprintf("%s at %v and at %v", h.url(q.path), before, q.start))
			}
			if q.status == http.StatusOK {
				last[q.path] = q.end
			}
		}
		h.mu.Unlock()
	}
	return list
}

// TestRenderKills kills nodes and browsers while pages are shown: nothing is lost, nothing is done
// twice but for what was in flight, and no process is left.
func TestRenderKills(t *testing.T) {
	onRequest(t, *renderKills != 0, "minutes of three browsers: run it with -renderkills 50")
	needsBrowser(t)
	const delay, pages = 50 * time.Millisecond, 5
	w := startPoliteWeb(t, 63, *renderKills+3, *renderKills+3, application(pages))
	c := newCluster(t, "--dns", w.dns, "--allow-net", "127.0.0.0/8", "--delay", delay.String(),
		"--partitions", "512", "--render", "all", "--renderers", "2", "--render-timeout", "2m")
	c.addReady(3)
	c.converged(time.Minute)
	began, seeds := time.Now(), w.seeds()
	c.nodes[0].seed(seeds[:3]...)
	var f killFigures
	for k := range *renderKills {
		c.nodes[k%3].seed(seeds[3+k])
		c.killOnce(k, &f)
	}
	c.finished(slack(3 * time.Minute))
	took := time.Since(began)
	c.stop()

	judged, lost, twice := w.judge(delay, 0), 0, 0
	shown := map[string]int{}
	for _, n := range c.nodes {
		for u, times := range shownIn(t, filepath.Join(n.dir, "warc"), "made by scripts") {
			shown[u] += times
		}
	}
	all := 0
	for _, h := range w.hosts {
		for _, path := range h.all() {
			all++
			switch times := shown[h.url(path)]; {
			case times == 0:
				lost++
				t.Errorf("%s was not shown", h.url(path))
			case times > 1:
				twice++
			}
		}
	}
	again := f.unexcused(w)
	if judged.missing+judged.violating+f.orphans+len(again) > 0 || judged.repeated > f.inFlight ||
		twice > min(f.own, judged.repeated) {
		t.Errorf("%v; %d archived twice; given again without a reason: %q; %+v", judged, twice, again, f)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	appendResult(t, "renderkills.md", renderKillsHead, fmt.Sprintf(
		"%d | %d | %d | %d | %d | %d | %d | %d | %d | %.1f | %d | %.0f | %s |", f.nodes, f.browsers, all,
		judged.missing, lost, f.inFlight, judged.repeated, twice, f.orphans,
		f.gone.Seconds(), judged.violating, took.Seconds(), strings.Fields(string(load))[0]))
}

// killOnce kills a node or its browser as soon as that has a page, and waits until the cluster is
// whole again.
func (c *cluster) killOnce(k int, f *killFigures) {
	c.t.Helper()
	var victim *node
	until(c.t, time.Minute, func() string {
		var s crawl.Status
		if err := c.nodes[0].decode("/status", &s); err != nil || s.Render.Busy == 0 {
			return fmt.Sprintf("%+v, %v", s.Render, err)
		}
		victim = nil
		for i := range c.nodes { // another one first each time
			if n := c.nodes[(k/2+i)%len(c.nodes)]; len(groupsOf(c.t, n)) > 0 {
				victim = n
				break
			}
		}
		if victim == nil {
			return "no node has a browser"
		}
		if k%2 == 1 { // what is in a browser is shown again, and not fetched again
			return ""
		}
		f.inFlight += int(s.Frontier.InFlight)
		for i := range s.Nodes {
			if n := &s.Nodes[i]; n.Name == victim.name && n.Fetchers.Busy != nil {
				f.own += *n.Fetchers.Busy
			}
		}
		return ""
	})
	if k%2 == 1 {
		f.browsers++
		killBrowser(c.t, victim)
		return
	}
	f.nodes++
	groups, killed := groupsOf(c.t, victim), time.Now()
	victim.signal(syscall.SIGKILL)
	<-victim.done
	for len(inGroups(groups)) > 0 && time.Since(killed) < 10*time.Second {
		time.Sleep(20 * time.Millisecond)
	}
	f.orphans += len(inGroups(groups))
	f.gone = max(f.gone, time.Since(killed))
	victim.start()
	victim.ready()
	c.converged(time.Minute)
	f.moves = append(f.moves, [2]time.Time{killed, time.Now()})
}
