package integration

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A measurement, not a test of every day: `make soak` runs it, or
//
//	go test ./integration -count=1 -timeout 60m -v -run '^TestBigFrontier$' -bigfrontier 5000000
//
// With -bigfrontier.done as well it also compares the speed with that of a new
// frontier and looks at the seen test; `.ci/bench` does that.
var (
	bigFrontierURLs = flag.Int("bigfrontier", 0,
		"run TestBigFrontier with this many queued URLs, on a fiftieth as many hosts")
	bigFrontierDone = flag.Int("bigfrontier.done", 0, "and with this many that were fetched before")
	bigFrontierDir  = flag.String("bigfrontier.dir", "",
		"keep the filled data directory here, and use it again when it is there")
	bigFrontierTime = flag.Duration("bigfrontier.time", 90*time.Second,
		"how long each speed is measured")
)

// What is promised of a frontier of 5 million queued URLs on 100,000 hosts, with
// default settings, while it is crawled.
const (
	bigFrontierMemory  = 1 << 30
	bigFrontierRestart = 15 * time.Second
	bigFrontierDisk    = 150  // bytes for each URL beyond its text
	bigFrontierSpeed   = 0.8  // of that with a new frontier
	bigFrontierSeen    = 1e-3 // seconds, all but 1 %
)

// TestBigFrontier fills a node's frontier, kills the node while it crawls, and
// measures the time to the first request after the restart, the most memory
// and the pages a second. The figures go to docs/results/frontier.md.
func TestBigFrontier(t *testing.T) {
	onRequest(t, *bigFrontierURLs != 0, "a measurement of many minutes; see make soak")
	r := &bigRun{
		t:     t,
		urls:  *bigFrontierURLs,
		done:  *bigFrontierDone,
		hosts: max(*bigFrontierURLs/50, 1),
	}
	dir := *bigFrontierDir
	if dir == "" {
		dir = t.TempDir()
	}
	r.web = startBigWeb(t, r.hosts, keptPort(t, dir))
	c := r.cluster(dir)
	r.filled = filepath.Join(dir, "filled")
	if _, err := os.Stat(r.filled); err != nil {
		r.found(c)
		r.fill(filepath.Join(c.dir, "n1"))
	}
	if r.done > 0 {
		r.crawlNew()
	}
	r.crawlKillCrawl(c)
	r.report()
	if r.done > 0 {
		r.compare(filepath.Join(c.dir, "n1"))
	}
	r.judge()
}

// judge compares the figures with what is promised.
func (r *bigRun) judge() {
	if r.maxRSS > bigFrontierMemory {
		r.t.Errorf("%d MiB of anonymous memory, %d promised", r.maxRSS>>20, bigFrontierMemory>>20)
	}
	if r.restart > bigFrontierRestart {
		r.t.Errorf("%v from the start to the first request, %v promised", r.restart, bigFrontierRestart)
	}
	if beyond := r.diskBeyondText(); beyond > bigFrontierDisk {
		r.t.Errorf("%d bytes on disk for each URL beyond its text, %d promised", beyond, bigFrontierDisk)
	}
}

// compare measures what a big frontier costs compared with a new one, and judges it.
func (r *bigRun) compare(dir string) {
	share := r.pagesPerSecond / r.newPagesPerSecond
	p50, p99 := r.seenTest(dir)
	benchRow(r.t, "d: 10 million URLs seen, 5 million queued: 80 % of the speed of a new frontier, "+
		"seen test below 1 ms, RssAnon below 1 GiB, 150 bytes a URL beyond its text, restart within 15 s",
		"%d seen, %d queued: %.0f pages/s, new %.0f, share %.2f; seen test median %.0f us, "+
			"p99 %.0f us; RssAnon at most %d MiB; %d bytes on disk for each URL beyond its text of %d; "+
			"first request %.1f s after SIGKILL and start",
		r.total(), r.urls, r.pagesPerSecond, r.newPagesPerSecond, share, p50.Seconds()*1e6,
		p99.Seconds()*1e6, r.maxRSS>>20, r.diskBeyondText(), r.textBytes()/int64(r.total()),
		r.restart.Seconds())
	if share < bigFrontierSpeed {
		r.t.Errorf("%.2f of the speed with a new frontier, %.2f promised", share, bigFrontierSpeed)
	}
	if p99.Seconds() > bigFrontierSeen {
		r.t.Errorf("the seen test took %v at the 99th percentile, %v s promised", p99, bigFrontierSeen)
	}
}

// diskBeyondText is in bytes for each URL.
func (r *bigRun) diskBeyondText() int64 { return (r.diskBytes - r.textBytes()) / int64(r.total()) }

// bigRun is one run and what it found.
type bigRun struct {
	t           *testing.T
	urls, hosts int
	done        int // URLs that were fetched before, beside urls
	crowd       int // URLs that wait on the first host alone, beside urls
	web         *bigWeb
	filled      string // a file that says so

	fillTime, first, restart time.Duration
	diskBytes                int64
	startRSS, maxRSS         int64 // at the first request; the most
	pagesPerSecond           float64
	newPagesPerSecond        float64 // with a frontier that was empty
	cpuPerPage               time.Duration
}

// cluster is that of one node, in a folder.
func (r *bigRun) cluster(dir string, flags ...string) *cluster {
	c := newCluster(r.t, append([]string{"--allow-net", "127.0.0.0/8", "--dns", r.web.dns, "--scope",
		"any", "--log-level", "warn"}, flags...)...)
	c.dir = dir
	return c
}

// bigSeeds is how many hosts a new frontier begins with: enough for full speed.
const bigSeeds = 5000

// crawlNew measures the speed with a frontier that was empty a moment ago.
func (r *bigRun) crawlNew() {
	c := r.cluster(r.t.TempDir())
	n := c.add()
	n.ready()
	var seeds []string
	for host := range min(r.hosts, bigSeeds) {
		seeds = append(seeds, r.web.url(host, 0))
	}
	n.seed(seeds...)
	time.Sleep(10 * time.Second) // to full speed; no event marks that
	pages, began := r.web.pages.Load(), time.Now()
	time.Sleep(*bigFrontierTime) // what is measured
	r.newPagesPerSecond = float64(r.web.pages.Load()-pages) / time.Since(began).Seconds()
	n.signal(syscall.SIGTERM)
	n.exit(r.t, time.Minute)
}

// found lets a node found its cluster and begin its crawl.
func (r *bigRun) found(c *cluster) {
	n := c.add("--seed", r.web.url(0, 0))
	n.ready()
	until(r.t, time.Minute, func() string {
		if r.web.pages.Load() == 0 {
			return "the node has not fetched its seed"
		}
		return ""
	})
	n.signal(syscall.SIGKILL)
	<-n.done
	c.nodes = nil
}

// crawlKillCrawl starts the node, kills it at work and starts it again; the second process is
// measured.
func (r *bigRun) crawlKillCrawl(c *cluster) {
	t := r.t
	n := c.place()
	r.diskBytes = allocated(t, filepath.Join(n.dir, "frontier"))
	began := time.Now()
	n.start()
	r.first = r.web.waitRequest(t, n).Sub(began)
	time.Sleep(10 * time.Second) // let it have much in flight and in memory; no event marks that
	n.signal(syscall.SIGKILL)
	<-n.done

	began = time.Now()
	n.start()
	at := r.web.waitRequest(t, n)
	r.restart, r.startRSS = at.Sub(began), rssAnon(n.cmd.Process.Pid)
	pages := r.web.pages.Load()
	cpu := cpuTime(n.cmd.Process.Pid)
	for time.Since(at) < *bigFrontierTime {
		r.maxRSS = max(r.maxRSS, rssAnon(n.cmd.Process.Pid))
		time.Sleep(100 * time.Millisecond) // a sampling interval
	}
	fetched := r.web.pages.Load() - pages
	r.pagesPerSecond = float64(fetched) / time.Since(at).Seconds()
	r.cpuPerPage = (cpuTime(n.cmd.Process.Pid) - cpu) / time.Duration(max(fetched, 1))
	if fetched == 0 {
		t.Error("nothing was fetched after the restart")
	}
	n.signal(syscall.SIGTERM)
	n.exit(t, time.Minute)
}

// report prints the figures and appends them to the results.
func (r *bigRun) report() {
	fill := "used again"
	if r.fillTime > 0 {
		fill = r.fillTime.Round(time.Second).String()
	}
	appendResult(r.t, "frontier.md", bigFrontierHead,
		fmt.Sprintf("%d | %d | %s | %d | %.1f | %.1f | %d | %d | %.0f | %d |",
			r.total(), r.hosts, fill, r.diskBytes/int64(r.total()),
			r.first.Seconds(), r.restart.Seconds(), r.startRSS>>20, r.maxRSS>>20, r.pagesPerSecond,
			r.cpuPerPage.Microseconds()))
}

const bigFrontierHead = `# A frontier of many URLs

A node with default settings (` + "`--delay 1s`" +
	` among them) whose frontier was filled is killed with SIGKILL while it crawls, and
started again. Promised: less than 1 GiB of anonymous memory while crawling, less than 15 s from the start to the first
request. Appended by

    go test ./integration -count=1 -timeout 60m -v -run '^TestBigFrontier$' -bigfrontier 5000000

| date | commit | URLs | hosts | fill | disk bytes/URL | first start, s | after SIGKILL, s | RssAnon then, MiB | RssAnon at most, MiB | pages/s | CPU us/page |
|---|---|---|---|---|---|---|---|---|---|---|---|
`
