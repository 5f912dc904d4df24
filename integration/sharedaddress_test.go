package integration

import (
	"flag"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// The size of the test of addresses that all nodes share. CI runs it small;
//
//	go test ./integration -count=1 -timeout 60m -v -run '^TestSharedAddresses$' -shared 3000
//
// runs it in full and appends the figures to docs/results/sharedaddresses.md.
var sharedHosts = flag.Int("shared", 0,
	"run TestSharedAddresses with this many hosts, on three addresses")

const sharedHead = `# Addresses that many hosts share

Five nodes crawl hosts on three addresses. One node is killed and its data deleted, one joins, one is stopped for 2 s and one for
20 s. Judged at the web server's side. *too early*: requests that began less than --ip-delay after the end of the one before at their
address. *smallest gap*: as a share of --ip-delay. *possible*: requests as a share of those that --ip-delay allows, from the first
request to the last. Appended by

    go test ./integration -count=1 -timeout 60m -v -run '^TestSharedAddresses$' -shared 3000

| date | commit | hosts | --ip-delay | requests | seconds | possible | too early | smallest gap | pages missing | fetched twice |
|---|---|---|---|---|---|---|---|---|---|---|
`

// Thousands of hosts on three addresses, spread over five nodes: no two requests to one address are
// nearer than --ip-delay, whichever nodes they are from, while nodes are killed, join and stand
// still.
func TestSharedAddresses(t *testing.T) {
	needsProcesses(t)
	if *sharedHosts == 0 { // else the pace is judged
		t.Parallel()
	}
	const addrs = 3
	hosts, delay, ipDelay := 48, 100*time.Millisecond, 100*time.Millisecond
	if *sharedHosts > 0 {
		hosts, delay, ipDelay = *sharedHosts, time.Second, 200*time.Millisecond
	}
	w := startPoliteWeb(t, 24, hosts, addrs, temper{name: "plain", pages: 2})
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--dns", w.dns, "--delay", delay.String(),
		"--ip-delay", ipDelay.String())
	c.addReady(5)
	c.converged(time.Minute)
	start := time.Now()
	c.nodes[0].seed(w.seeds()...)
	all := hosts * 4 // with robots.txt
	w.requested(all / 8)
	stop(c.nodes[1], 2*time.Second)
	w.requested(all / 4)
	c.nodes[4].signal(syscall.SIGKILL)
	c.nodes[4].exit(t, time.Minute)
	w.requested(all / 3)
	c.addReady(1)
	if *sharedHosts > 0 {
		w.requested(all / 2)
		stop(c.nodes[2], 20*time.Second)
	}
	c.finished(40 * time.Minute)
	took := time.Since(start)
	c.stop()
	f := w.judge(delay, ipDelay)
	possible := w.possible(ipDelay)
	t.Logf("%s in %v; %.3f of the possible requests", f, took.Round(time.Millisecond), possible)
	if f.violating+f.crowding+f.missing > 0 {
		t.Errorf("want no violation, and every page: %s", f)
	}
	if f.repeated > all/20 {
		t.Errorf("%d pages were fetched twice", f.repeated)
	}
	if *sharedHosts > 0 {
		appendResult(t, "sharedaddresses.md", sharedHead,
			fmt.Sprintf("%d | %v | %d | %.0f | %.3f | %d | %.3f | %d | %d |",
				hosts, ipDelay, f.requests, took.Seconds(), possible, f.crowding, f.tightAddr, f.missing,
				f.repeated))
	}
}

// stop lets a process stand still.
func stop(n *node, d time.Duration) {
	n.signal(syscall.SIGSTOP)
	time.Sleep(d)
	n.signal(syscall.SIGCONT)
}

// requested waits until the web had that many requests.
func (w *politeWeb) requested(least int) {
	w.t.Helper()
	until(w.t, 20*time.Minute, func() string {
		if n := len(w.requests()); n < least {
			return fmt.Sprintf("%d requests of %d", n, least)
		}
		return ""
	})
}

// requests are all, in no order.
func (w *politeWeb) requests() (all []politeRequest) {
	for _, h := range w.hosts {
		h.mu.Lock()
		all = append(all, h.seen...)
		h.mu.Unlock()
	}
	return all
}

// possible is the share of the requests that a gap allowed.
func (w *politeWeb) possible(gap time.Duration) float64 {
	all := w.requests()
	first, last := all[0].start, all[0].start
	for _, q := range all {
		if q.start.Before(first) {
			first = q.start
		}
		if q.start.After(last) {
			last = q.start
		}
	}
	return float64(len(all)) / (float64(len(w.doors)) * float64(last.Sub(first)) / float64(gap))
}
