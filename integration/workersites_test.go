package integration

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
	placement "crawlnode/ring"
)

var workerSites = flag.Bool("workersites", false, "TestWorkersCrawlRealSites: "+
	"crawl three real sites by workers in Python and JavaScript, "+
	"and append the figures to docs/results/workersites.md")

// TestWorkersCrawlRealSites has the examples in Python and JavaScript crawl three real sites, each
// on an address of its own, from three nodes that fetch no page. A worker with a leased URL is
// killed, and the node that holds the largest site. By the web server's log each page was asked for
// once, but for what the killed worker had, and no host by two at a time or too soon.
func TestWorkersCrawlRealSites(t *testing.T) {
	onRequest(t, *workerSites, "takes minutes; run with -workersites")
	needsProcesses(t)
	const delay, lease = 50 * time.Millisecond, 90 * time.Second
	s, seeds, want := sitesForWorkers(t)
	c := newCluster(t, "--dns", s.dns, "--allow-net", "127.0.0.0/8", "--delay", delay.String(),
		"--fetch", "off", "--lease", lease.String(), "--store", "none")
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(seeds...)
	doomed, others := c.holderOf(s.all[0].host())
	survivors := []*exampleWorker{startWorker(t, "python3", "worker.py", "python", others[0]),
		startWorker(t, "node", "worker.mjs", "node", others[1])}
	victim := startWorker(t, "python3", "worker.py", "victim", others[1])

	start, load := time.Now(), loadAverage()
	s.atArrival(t, len(want)/5)
	stopped := stopWithLease(t, victim, others)
	if err := victim.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-victim.done
	s.atArrival(t, len(want)/2)
	doomed.signal(syscall.SIGKILL)
	<-doomed.done
	c.finished(20 * time.Minute)
	took := time.Since(start)
	for _, w := range survivors {
		select {
		case <-w.done:
			if w.err != nil {
				t.Errorf("%s: %v", w.cmd.Args, w.err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s has not ended with the crawl", w.cmd.Args)
		}
	}
	arrivals := s.arrivals(t)
	smallest := judgePoliteness(t, arrivals, delay)
	again := judgeWorkersArrivals(t, s, arrivals, want, stopped)
	ended := expiredLeases(t, others[0])
	if t.Failed() {
		return
	}
	appendResult(t, "workersites.md", workerSitesHead, fmt.Sprintf(
		"%d | %d | %d | %v of %v | %d | %.0f s | %s, %s |", len(want), len(arrivals), again, smallest,
		delay, ended, took.Seconds(), load, loadAverage()))
}

const workerSitesHead = `# Real sites, fetched by workers

Three sites from packages of Debian (sqlite3-doc, debian-policy, gnuplot-doc), each on a loopback address of its own, served by nginx, whose log is judged. Three nodes
with ` + "`--fetch off`" +
	` lease to the examples of workers in Python (two) and JavaScript. A Python worker is killed while URLs are leased, and then the node that holds the largest
site. Each page was answered once, but for what the killed worker had; no host was asked by two at a time. Requests are pages, other files, links that lead nowhere, and
robots.txt, which each holder of a host reads. Appended by

    go test ./integration -count=1 -v -timeout 40m -run '^TestWorkersCrawlRealSites$' -workersites

| date | commit | pages | requests | fetched again after the worker was killed | smallest gap | leases of living nodes that ended without all their results | time | load before, after |
|---|---|---|---|---|---|---|---|---|
`

// sitesForWorkers serves three real sites, the largest first, each on its own address.
func sitesForWorkers(t *testing.T) (s *sites, seeds, want []string) {
	t.Helper()
	var all []site
	for _, site := range readManifest(t) {
		if site.Name != "postgres" { // it is the largest
			site.ip = freeAddress(t)
			all = append(all, site)
		}
	}
	s = serveSites(t, all)
	for i := range s.all {
		seeds = append(seeds, s.all[i].start())
		want = append(want, s.expected(t, &s.all[i])...)
	}
	return s, seeds, want
}

// holderOf is the node that holds a host, and the others.
func (c *cluster) holderOf(host string) (holder *node, others []*node) {
	c.t.Helper()
	var r ring
	if err := c.nodes[0].decode("/api/v1/ring", &r); err != nil {
		c.t.Fatal(err)
	}
	s, err := c.nodes[0].status()
	if err != nil {
		c.t.Fatal(err)
	}
	id, name := r.Partitions[placement.PartitionOf(crawl.Host(host), len(r.Partitions))].Holder, ""
	for _, known := range s.Nodes {
		if known.ID == id {
			name = known.Name
		}
	}
	for _, n := range c.nodes {
		if n.name == name {
			holder = n
		} else {
			others = append(others, n)
		}
	}
	if holder == nil {
		c.t.Fatalf("no node has the ID %s, the holder of %s", id, host)
	}
	return holder, others
}

// atArrival waits until the web server has answered so many requests.
func (s *sites) atArrival(t *testing.T, count int) {
	t.Helper()
	until(t, 5*time.Minute, func() string {
		if n := len(s.arrivals(t)); n < count {
			return fmt.Sprintf("%d requests of %d", n, count)
		}
		return ""
	})
}

// stopWithLease stops a worker's process, and says when. It goes on until a URL is leased in each
// of many looks at the figures, which is so if the worker has one: nobody settles it.
func stopWithLease(t *testing.T, w *exampleWorker, nodes []*node) (at time.Time) {
	t.Helper()
	until(t, time.Minute, func() string {
		if err := w.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		at = time.Now()
		for range 100 {
			s, err := workersOf(nodes[0])
			if err != nil || s.LeasedURLs == 0 {
				if err := w.cmd.Process.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
				return fmt.Sprintf("no URL is leased: %v", err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		return ""
	})
	return at
}

// judgeWorkersArrivals checks that the web server answered each page once, or twice if the worker
// had it that was killed, and that all else it answered is no page. It returns how often the server
// was asked for something again.
func judgeWorkersArrivals(
	t *testing.T,
	s *sites,
	all []arrival,
	want []string,
	stopped time.Time,
) (again int) {
	t.Helper()
	answered := map[string][]arrival{}
	for _, a := range all {
		u := "http://" + a.host + a.uri
		answered[u] = append(answered[u], a)
	}
	pages := map[string]bool{}
	for _, u := range want {
		pages[u] = true
		if len(answered[u]) == 0 {
			t.Errorf("%s was not asked for", u)
		}
	}
	at := time.Duration(stopped.UnixNano())
	for u, visits := range answered {
		if strings.HasSuffix(u, "/robots.txt") {
			continue
		}
		if n := len(visits); n > 2 ||
			n == 2 && (visits[0].start > at+time.Second || visits[1].start < at) {
			t.Errorf("%s was asked for %d times: first %v after the worker was stopped, then %v", u, n,
				visits[0].start-at, visits[1].start-at)
		}
		again += len(visits) - 1
		if !pages[u] && visits[0].status == http.StatusOK && s.isPage(t, u) {
			t.Errorf("%s is a page that no walk over the sites finds", u)
		}
	}
	return again
}

// isPage says whether the web server calls it HTML.
func (s *sites) isPage(t *testing.T, raw string) bool {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	req := &http.Request{
		Method: http.MethodGet,
		Host:   u.Host,
		URL:    u,
		Header: http.Header{"User-Agent": {walker}},
	}
	for i := range s.all {
		if s.all[i].host() == u.Host {
			u.Host = s.all[i].ip
		}
	}
	resp, err := s.httpClient().Do(req.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
}

// expiredLeases waits until no URL is leased, and counts the leases that have ended without all
// their results.
func expiredLeases(t *testing.T, n *node) (expired int64) {
	t.Helper()
	until(t, 30*time.Second, func() string {
		w, err := workersOf(n)
		if expired = w.ExpiredTotal; err != nil || w.Active+w.Leases+w.LeasedURLs != 0 {
			return fmt.Sprintf("%+v, %v after the crawl", w, err)
		}
		return ""
	})
	return expired
}
