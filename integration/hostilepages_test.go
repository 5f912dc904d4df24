package integration

import (
	"flag"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
)

var withHostilePages = flag.Bool("hostilepages", false, "show hostile pages to the browsers of "+
	"two nodes, kill one node, and append the figures to docs/results/hostilepages.md "+
	"(TestHostilePages)")

const hostilePagesHead = `# Hostile pages in the browser

Hostile pages (` + "`render/browser/testdata/hostile.txt`" +
	`) are shown to the browsers of two nodes, of which one is killed and started again; plain pages are crawled before, and again beside them. *cut*: taken as they were fetched, because the browser could not be read
any more. *connections*: at the canary, which nothing may reach, and requests at the web server that are not the crawler's. *left*: processes and profiles after the stop. Appended by

    go test ./integration -count=1 -v -run '^TestHostilePages$' -hostilepages

| date | commit | pages | shown whole | at the time limit | cut | longest, s (limit 10 + 5) | requests refused | connections | memory of a browser at most, MiB (limit 512) | orphans gone after kill -9, s | plain pages/s before | beside | left | load of the machine |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// canary is an address outside of --allow-net that counts what reaches it.
type canary struct {
	addr, udp string
	reached   atomic.Int64
}

func startCanary(t *testing.T, ip string) *canary {
	t.Helper()
	l, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	packets, err := net.ListenPacket("udp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	c := &canary{addr: l.Addr().String(), udp: packets.LocalAddr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			c.reached.Add(1)
			_ = conn.Close() // that it came is all
		}
	})
	wg.Go(func() {
		for {
			if _, _, err := packets.ReadFrom(make([]byte, 1)); err != nil {
				return
			}
			c.reached.Add(1)
		}
	})
	t.Cleanup(func() { _, _ = l.Close(), packets.Close(); wg.Wait() })
	return c
}

// hostilePages reads the pages that package render/browser is tested with, for a canary and a name
// that changes.
func hostilePages(t *testing.T, c *canary, rebind string) (names, bodies []string) {
	t.Helper()
	text, err := os.ReadFile("../render/browser/testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(c.addr)
	number := uint64(0) // the address as one number
	for _, b := range at.Addr().AsSlice() {
		number = number<<8 | uint64(b)
	}
	words := strings.NewReplacer("CANARY", c.addr, "UDP", c.udp, "HOST", at.Addr().String(), "PORT",
		strconv.Itoa(int(at.Port())),
		"NUMBER", strconv.FormatUint(number, 10), "REBIND", rebind)
	for line := range strings.Lines(string(text)) {
		if name, body, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && line[0] != '#' {
			names, bodies = append(names, name), append(bodies,
				"<a></a><!DOCTYPE html><title>x</title>"+words.Replace(body))
		}
	}
	return names, bodies
}

// hostileHosts is how many hosts share the hostile pages; two plain ones follow.
const hostileHosts, plainPages = 6, 120

// TestHostilePages shows hostile pages to the browsers of two nodes, and kills one of them and its
// browser's parent with it. Each page has a fate in time; nothing reaches the canary; the web
// server is asked by the crawler alone, as politely as ever; and nothing is left.
func TestHostilePages(t *testing.T) {
	onRequest(t, *withHostilePages,
		"two browsers are kept busy for minutes: run it with -hostilepages")
	needsBrowser(t)
	const delay, timeout = 100 * time.Millisecond, 10 * time.Second
	trap := startCanary(t, "127.72.0.1")
	w, names := startHostilePages(t, trap)
	c := newCluster(t, "--dns", w.dns, "--allow-net", "127.71.0.0/16", "--delay", delay.String(),
		"--ip-delay", "0", "--partitions", "512", "--assets", "any", "--max-depth", "1",
		"--render", "all", "--render-match", "regex:^http://h[0-5]\\.", "--renderers", "2",
		"--render-timeout", timeout.String(), "--render-memory", "512MiB")
	c.addReady(2)
	c.converged(time.Minute)
	first, second := w.hosts[hostileHosts], w.hosts[hostileHosts+1]

	c.nodes[0].seed(first.url("/"))
	until(t, slack(time.Minute), func() string { return first.lacks(plainPages) })
	memory := watchGroups(t, c)
	var seeds []string
	for _, h := range w.hosts[:hostileHosts] {
		seeds = append(seeds, h.url("/"))
	}
	c.nodes[0].seed(append(seeds, second.url("/"))...)
	until(t, slack(2*time.Minute), func() string { return second.lacks(plainPages / 2) })
	gone := killWithBrowser(t, c.nodes[1])
	killed := time.Now()
	c.nodes[1].start()
	c.nodes[1].ready()
	c.finished(slack(4 * time.Minute))

	var s crawl.Status
	if err := c.nodes[0].decode("/status", &s); err != nil {
		t.Fatal(err)
	}
	fates := judgeFates(t, c.nodes[0], w.hosts[:hostileHosts], names, timeout)
	most := memory()
	c.stop()
	left := 0
	for _, n := range c.nodes {
		profiles, _ := filepath.Glob(filepath.Join(n.dir, "browser", "*")) // the pattern is a good one
		if left += len(profiles) + len(browsersOf(t, n)); left > 0 {
			t.Errorf("%s has left %q and processes %v", n.name, profiles, browsersOf(t, n))
		}
	}
	strange := w.strangers()
	f := w.judge(delay, 0)
	if f.violating > 0 || f.missing > 0 || strange > 0 || trap.reached.Load() > 0 {
		t.Errorf("%v; %d requests by others, %d connections at the canary", f, strange,
			trap.reached.Load())
	}
	if gone > 10*time.Second || most > 3*512<<20 {
		t.Errorf("after kill -9 the processes were there for %v; a browser had %d MiB", gone, most>>20)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	appendResult(t, "hostilepages.md", hostilePagesHead, fmt.Sprintf(
		"%d | %d | %d | %d | %.1f | %d | %d | %d | %.1f | %.1f | %.1f | %d | %s |", len(names),
		fates.whole, fates.late, fates.cut, fates.longest.Seconds(), s.Render.RefusedRequestsTotal,
		int(trap.reached.Load())+strange, most>>20, gone.Seconds(), first.rate(killed),
		second.rate(killed), left, strings.Fields(string(load))[0]))
}

// startHostilePages serves the hostile pages on some hosts, in turn, and plain pages on two more.
// rebind.test is an address of the web first, and the canary's then.
func startHostilePages(t *testing.T, trap *canary) (*politeWeb, []string) {
	t.Helper()
	var tempers []temper
	port := 0 // of the web
	names, bodies := hostilePages(t, trap, "rebind.test:PORT")
	for k := range hostileHosts {
		var own []string
		for i := k; i < len(bodies); i += hostileHosts {
			own = append(own, bodies[i])
		}
		tempers = append(tempers,
			temper{name: "hostile", pages: len(own), moody: func(path string, _, _ int, a *politeAnswer) {
				number, ok := strings.CutPrefix(path, "/p")
				if i, err := strconv.Atoi(number); ok && err == nil && i < len(own) {
					a.body = strings.ReplaceAll(own[i], "rebind.test:PORT", fmt.Sprint("rebind.test:", port))
				}
			}})
	}
	plain := temper{name: "plain", pages: plainPages}
	tempers = append(tempers, plain, plain)
	w := startPoliteWeb(t, 71, hostileHosts+2, 1, tempers...)
	port = w.hosts[0].port
	var asked atomic.Int64
	w.also = func(name string) string {
		addr := trap.addr
		switch {
		case name != "rebind.test":
			return ""
		case asked.Add(1) == 1:
			addr = w.doors[0].addr
		}
		ip, _, _ := net.SplitHostPort(addr)
		return ip
	}
	return w, names
}

// lacks says that fewer than some pages were fetched.
func (h *politeHost) lacks(pages int) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seen) > pages {
		return ""
	}
	return fmt.Sprintf("%s had %d requests", h.name, len(h.seen))
}

// rate is requests in a second, from the first to the last before some time.
func (h *politeHost) rate(until time.Time) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := slices.DeleteFunc(slices.SortedFunc(slices.Values(h.seen), byStart),
		func(q politeRequest) bool { return q.start.After(until) })
	return float64(len(seen)-1) / seen[len(seen)-1].start.Sub(seen[0].start).Seconds()
}

// strangers counts the requests that are not the crawler's: with the browser's name, or no GET.
func (w *politeWeb) strangers() (count int) {
	for _, h := range w.hosts {
		h.mu.Lock()
		for _, q := range h.seen {
			if q.method != "GET" || !strings.Contains(q.agent, "crawlnode") {
				count++
				w.t.Errorf("%s %s%s by %q", q.method, h.name, q.path, q.agent)
			}
		}
		h.mu.Unlock()
	}
	return count
}

// fates counts what became of pages.
type fates struct {
	whole, late, cut int
	longest          time.Duration
}

// judgeFates asks about each page: it was fetched, and shown or not, in time.
func judgeFates(
	t *testing.T,
	n *node,
	hosts []*politeHost,
	names []string,
	timeout time.Duration,
) (f fates) {
	t.Helper()
	for i, name := range names {
		u := hosts[i%len(hosts)].url(fmt.Sprint("/p", i/len(hosts)))
		var r crawl.URLReport
		if err := n.decode("/api/v1/urls?url="+url.QueryEscape(u), &r); err != nil || r.Render == nil ||
			len(r.History) == 0 {
			t.Errorf("%s, %s: %+v, %v", name, u, r, err)
			continue
		}
		took := time.Duration(r.Render.Milliseconds) * time.Millisecond
		t.Logf("%-24s %-8s %6.1f s, %d requests: %s", name, r.Render.Decided, took.Seconds(),
			r.Render.Requests, r.Render.Reason)
		switch f.longest = max(f.longest, took); {
		case r.Render.Decided != crawl.RenderedPage:
			f.cut++
		case took >= timeout:
			f.late++
		default:
			f.whole++
		}
	}
	if limit := timeout + 5*time.Second; f.longest > slack(limit) {
		t.Errorf("a page took %v, want %v at most", f.longest, limit)
	}
	return f
}

// killWithBrowser kills a node and returns how long processes of its browser were there after that.
func killWithBrowser(t *testing.T, n *node) time.Duration {
	t.Helper()
	var groups map[int]bool
	until(t, slack(time.Minute), func() string { // it may be between two browsers
		if groups = groupsOf(t, n); len(inGroups(groups)) == 0 {
			return n.name + " has no browser"
		}
		n.signal(syscall.SIGKILL)
		return ""
	})
	<-n.done
	killed := time.Now()
	until(t, slack(10*time.Second), func() string {
		if left := inGroups(groups); len(left) > 0 {
			return fmt.Sprintf("%s has left processes %v", n.name, left)
		}
		return ""
	})
	return time.Since(killed)
}

// groupsOf are the process groups of a node's browser. Not each process of it names its profile.
func groupsOf(t *testing.T, n *node) map[int]bool {
	t.Helper()
	groups := map[int]bool{}
	for _, pid := range browsersOf(t, n) {
		if group, err := syscall.Getpgid(pid); err == nil {
			groups[group] = true
		}
	}
	return groups
}

// inGroups are the processes of some groups that have not ended.
func inGroups(groups map[int]bool) (pids []int) {
	if len(groups) == 0 {
		return nil
	}
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is a good one
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		stat, _ := os.ReadFile(dir + "/stat")
		if group, err := syscall.Getpgid(pid); err == nil && groups[group] &&
			!strings.Contains(string(stat), ") Z ") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// watchGroups looks at the memory of the nodes' browsers until its result is called, which returns
// the most that one had.
func watchGroups(t *testing.T, c *cluster) func() int64 {
	t.Helper()
	var most int64
	stop := often(t, func() {
		for _, n := range c.nodes {
			var sum int64
			for _, pid := range inGroups(groupsOf(t, n)) {
				sum += rssAnon(pid)
			}
			most = max(most, sum)
		}
	})
	return func() int64 { stop(); return most }
}

// often calls do five times a second until its result is called, and once more then.
func often(t *testing.T, do func()) (stop func()) {
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				do()
				return
			case <-tick.C:
				do()
			}
		}
	})
	stop = sync.OnceFunc(func() { close(ended); watching.Wait() })
	t.Cleanup(stop)
	return stop
}
