package integration

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const namesHead = `# Name look-ups

A node crawls many host names through a real name server (dnsmasq), which is stopped (SIGSTOP) in the middle for the time named
*outage* while half of the names are still unknown, and then continued. *periods*: how many lifetimes of its address, begun ones
included, each host was being crawled for, summed over the hosts. *queries*: those in the server's log, the ones that
piled up while it was stopped included; crawlnode asks for AAAA only where there is no A. *sent*: by the node's own count,
with those that a stopped server's full socket never took. *in the outage*: requests that the hosts with known
addresses had meanwhile. Appended by

    go test ./integration -count=1 -timeout 60m -v -run '^TestNames$' -outage 60s

| date | commit | hosts | TTL, s | outage, s | seconds | periods | queries A | AAAA | queries a period | sent | requests | in the outage | pages missing | fetched twice |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// nameServer is a dnsmasq that knows the hosts of a politeWeb.
type nameServer struct {
	*process
	addr string
}

// startNames starts one whose answers are valid for ttl.
func startNames(t *testing.T, w *politeWeb, ttl time.Duration) *nameServer {
	t.Helper()
	needsPrograms(t, "dnsmasq")
	dir := t.TempDir()
	hosts := filepath.Join(dir, "hosts")
	var lines strings.Builder
	for _, h := range w.hosts {
		ip, _, _ := net.SplitHostPort(w.doors[h.door].addr)
		fmt.Fprintln(&lines, ip, h.name)
	}
	if err := os.WriteFile(hosts, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	s := &nameServer{addr: fmt.Sprint("127.0.0.1:", port)}
	s.process = spawn(t, "dnsmasq", filepath.Join(dir, "dnsmasq.log"), "dnsmasq",
		"--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv",
		"--no-hosts", "--user=", "--pid-file=", "--listen-address=127.0.0.1", "--bind-interfaces",
		fmt.Sprint("--port=", port),
		"--local=/polite.test/", "--addn-hosts="+hosts, fmt.Sprintf("--local-ttl=%.0f", ttl.Seconds()),
		"--log-queries", "--log-facility=-")
	until(t, 10*time.Second, func() string {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			return fmt.Sprintf("dnsmasq: %v\n%s", err, tail(s.log, 10))
		}
		_ = c.Close() // it was there, that is all
		return ""
	})
	return s
}

// queries counts the queries in the log, by type.
func (s *nameServer) queries(t *testing.T) map[string]int {
	t.Helper()
	f, err := os.Open(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	counts := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), "query["); ok {
			kind, _, _ := strings.Cut(rest, "]")
			counts[kind]++
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return counts
}

// lookupsAtOnce is how many names a node asks for at the same time.
const lookupsAtOnce = 64

// A thousand names (300 under the race detector), and a name server that stops for a while in the
// middle. Hosts with known addresses continue, no page is lost, and the server gets one query for
// each name and lifetime of its address, and a few more in the outage.
func TestNames(t *testing.T) {
	needsProcesses(t)
	const ttl = 30 * time.Second // the least that crawlnode believes
	hosts, pages, delay, outage := 1000, 4, 500*time.Millisecond, 3*time.Second
	if *politeOutage > 0 {
		pages, delay, outage = 24, 4*time.Second, *politeOutage
	} else {
		t.Parallel()
		if raceDetector {
			hosts = 300 // it makes pages several times as dear
		}
	}
	w := startPoliteWeb(t, 11, hosts, 8, temper{pages: pages})
	names := startNames(t, w, ttl)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--dns", names.addr, "--delay", delay.String())
	c.addReady(1)
	start := time.Now()
	seeds := w.seeds()
	c.nodes[0].seed(seeds[:hosts/2]...)
	until(t, time.Minute, func() string {
		if n := w.asked(time.Time{}); n < hosts/2 {
			return fmt.Sprintf("the first %d hosts have had %d requests", hosts/2, n)
		}
		return ""
	})
	names.signal(syscall.SIGSTOP)
	stopped := time.Now()
	c.nodes[0].seed(seeds[hosts/2:]...)
	time.Sleep(time.Until(stopped.Add(outage)))
	during := 0
	until(t, time.Minute, func() string { // at once, but on a machine that is busy with other things
		if during = w.asked(stopped); during < hosts/4 {
			return fmt.Sprintf(
				"%d requests came in the outage, want the hosts with known addresses to go on", during)
		}
		return ""
	})
	// An outage is known, and not taken for a slow answer, after both rounds of queries and a
	// probe: 8 s.
	if s, err := c.nodes[0].status(); outage >= 30*time.Second &&
		(err != nil || !s.explains("dns_down")) {
		t.Errorf("the status does not say dns_down: %+v, %v", s.Cluster.Health, err)
	}
	names.signal(syscall.SIGCONT)
	c.finished(20 * time.Minute)
	took := time.Since(start)
	sent := c.nodes[0].metric("crawlnode_dns_queries_total")
	c.stop()

	f := w.judge(delay, 0)
	f.want(t, took)
	periods, counts := w.periods(ttl), names.queries(t)
	ratio := float64(counts["A"]+counts["AAAA"]) / float64(periods)
	t.Logf("%d periods of %v, queries %v, %.3f a period, %.0f sent; %d requests in the %v without a "+
		"name server",
		periods, ttl, counts, ratio, sent, during, outage)
	// Each of the lookups under way when the server stops may repeat its question
	// twice: in a crawl of seconds that is a large share.
	repeats := 0
	if *politeOutage == 0 {
		repeats = 2 * lookupsAtOnce
	}
	if queries := counts["A"] + counts["AAAA"]; float64(queries-repeats) > 1.2*float64(periods) {
		t.Errorf(
			"%.3f queries for each name and lifetime of its address, want 1.2 at the most, and %d repeats",
			ratio, repeats)
	}
	if *politeOutage > 0 {
		appendResult(t, "dns.md", namesHead, fmt.Sprintf(
			"%d | %.0f | %.0f | %.0f | %d | %d | %d | %.3f | %.0f | %d | %d | %d | %d |", hosts,
			ttl.Seconds(), outage.Seconds(),
			took.Seconds(), periods, counts["A"], counts["AAAA"], ratio, sent, f.requests, during, f.missing,
			f.repeated))
	}
}

// asked counts the requests that began after an instant.
func (w *politeWeb) asked(since time.Time) (n int) {
	for _, h := range w.hosts {
		h.mu.Lock()
		for i := len(h.seen) - 1; i >= 0 && h.seen[i].start.After(since); i-- {
			n++
		}
		h.mu.Unlock()
	}
	return n
}

// periods sums over the hosts into how many spans of length ttl the time from its
// first request to its last falls.
func (w *politeWeb) periods(ttl time.Duration) (n int) {
	for _, h := range w.hosts {
		if last := len(h.seen) - 1; last >= 0 {
			n += 1 + int(h.seen[last].start.Sub(h.seen[0].start)/ttl)
		}
	}
	return n
}

// metric returns the value of a metric without labels, or -1.
func (n *node) metric(name string) float64 {
	n.c.t.Helper()
	_, body, err := n.get("/metrics")
	if err != nil {
		n.c.t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		var v float64
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			if _, err := fmt.Sscan(rest, &v); err == nil {
				return v
			}
		}
	}
	return -1
}
