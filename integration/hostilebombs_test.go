package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bombGrowth is how much anonymous memory a node may need beyond what it had, for
// one payload of any size and shape.
const bombGrowth = 32 << 20

// hostileBombs are the largest payloads of each kind.
func (w *hostileWeb) hostileBombs() []hostileCase {
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	html := "Content-Type: text/html\r\n"
	cases := []hostileCase{
		{row: "S5", name: "endless", talk: endless(okHead+"\r\n", strings.Repeat("x", 64<<10), 0), want: "200 cut"},
		{row: "S5", name: "noise", talk: endless(okHead+"\r\n", string(noise), 0), want: "200 cut"},
		{row: "S5", name: "endlesstext", talk: endless(okHead+"\r\n", strings.Repeat("word ", 10_000), 0), want: "200 cut"},
		{row: "S5", name: "twice", talk: says("200 OK", html+"Content-Encoding: gzip, gzip",
			squeezed(w.t, squeezed(w.t, strings.Repeat("x", 40<<20)))), want: "200 cut"},
		{row: "S8", name: "hugeline", talk: raw("HTTP/1.1 200 OK\r\nA: ", strings.Repeat("x", 10<<20), "\r\n\r\n"), want: "protocol"},
		{row: "S10", name: "robotsendless", want: "200"},
		{row: "S12", name: "links", talk: endless(okHead+"\r\n", strings.Repeat("<a href=/>", 6000), 0), want: "200 cut"},
		{row: "S12", name: "onetag", talk: endless(okHead+"\r\n<a ", strings.Repeat("x", 64<<10), 0), want: "200 cut"},
		{row: "S12", name: "attributes", talk: says("200 OK", html, "<p "+attributes(1_000_000)+">"), want: "200"},
		{row: "S12", name: "nesting", talk: endless(okHead+"\r\n", strings.Repeat("<div>", 10_000), 0), want: "200 cut"},
		{row: "S21", name: "sitemap", want: "200", then: map[string]string{w.url("sitemap", "/bomb.xml.gz"): "200"}},
	}
	for _, coding := range []string{"br", "deflate", "gzip", "zstd"} {
		cases = append(cases, hostileCase{
			row:  "S5",
			name: "bomb" + coding,
			talk: says("200 OK", html+"Content-Encoding: "+coding, bomb(w.t, coding)),
			want: "200 cut",
		})
	}
	w.talks["robotsendless/robots.txt"] = endless("HTTP/1.1 200 OK\r\n\r\n",
		strings.Repeat("Disallow: /x\n", 5000), 0)
	w.talks["sitemap/robots.txt"] = says("200 OK", "", "Sitemap: "+w.url("sitemap", "/bomb.xml.gz"))
	w.talks["sitemap/bomb.xml.gz"] = says("200 OK", "Content-Type: application/gzip",
		squeezed(w.t, strings.Repeat("<url><loc>http://x/</loc></url>", 2<<20)))
	for _, c := range cases {
		if c.talk != nil {
			w.talks[c.name] = c.talk
		}
	}
	return cases
}

// TestBombs gives one bomb after another to a node with its default limits, and
// looks at the node's anonymous memory meanwhile.
func TestBombs(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	w := newHostileWeb(t)
	cases := w.hostileBombs()
	c := newCluster(t, "--dns", w.dns, "--allow-net", hostileNet, "--delay", "0s", "--log-level",
		"debug", "--log-format", "json")
	c.addReady(1)
	n := c.nodes[0]
	// What a node needs for any page it has after these.
	n.seed(w.plainHosts("good", 5, 20)...)
	until(t, 60*time.Second,
		func() string { return unvisited(n, w.url("good0", "/19"), w.url("good4", "/19")) })

	if raceDetector { // memory is not judged, and parsing takes minutes
		cases = slices.DeleteFunc(cases,
			func(hc hostileCase) bool { return !strings.HasPrefix(hc.name, "bomb") })
	}
	for _, hc := range cases {
		m := watchMemory(t, n)
		n.seed(hc.url(w))
		for u := range hc.wanted(w) {
			until(t, 60*time.Second, func() string { return unvisited(n, u) })
		}
		growth := m.growth()
		t.Logf("%s: %s: %.1f MiB", hc.row, hc.name, float64(growth)/(1<<20))
		appendHostile(t, hc.row, "anonymous memory beyond what there was: "+hc.name,
			fmt.Sprintf("%.1f MiB", float64(growth)/(1<<20)))
		// When garbage is collected depends on what else runs, so a check allows twice as
		// much. The race detector's own memory is several times the program's.
		most := int64(bombGrowth)
		if *hostileRuns == 0 {
			most *= 2
		}
		if growth > most && !raceDetector {
			t.Errorf("%s: %s: anonymous memory grew by %.1f MiB", hc.row, hc.name, float64(growth)/(1<<20))
		}
	}
	w.judgeCases(cases, n.visits())
	c.stop()
	readWARC(t, n.dir)
}

// unvisited lists the URLs without an outcome yet.
func unvisited(n *node, urls ...string) string {
	select {
	case <-n.done:
		n.c.t.Fatalf("a page stopped the node: %v", n.err)
	default:
	}
	seen := n.visits()
	for _, u := range urls {
		if _, ok := seen[u]; !ok {
			return u + " was not visited"
		}
	}
	return ""
}

// memoryWatch reads a process's anonymous memory every few milliseconds.
type memoryWatch struct {
	before, most int64
	stop, done   chan struct{}
}

func watchMemory(t *testing.T, n *node) *memoryWatch {
	t.Helper()
	pid := n.cmd.Process.Pid
	before := anonymous(pid)
	if before == 0 {
		t.Fatal("no figure of the node's memory in /proc")
	}
	m := &memoryWatch{
		before: before,
		most:   before,
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	go func() {
		defer close(m.done)
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				m.most = max(m.most, anonymous(pid))
			case <-m.stop:
				return
			}
		}
	}()
	return m
}

// growth ends the watch and returns by how many bytes memory grew at most.
func (m *memoryWatch) growth() int64 {
	close(m.stop)
	<-m.done
	return m.most - m.before
}

// anonymous is RssAnon of a process in bytes, 0 when there is none.
func anonymous(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "RssAnon:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err == nil {
				return kb << 10
			}
		}
	}
	return 0
}
