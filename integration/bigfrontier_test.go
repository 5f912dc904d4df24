package integration

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"crawlnode/crawl"
	"crawlnode/frontier"
	placement "crawlnode/ring" // ring is what the API says of it
	"crawlnode/web/urlnorm"
)

// A measurement, not a test of every day: `make soak` runs it, or
//
//	go test ./integration -count=1 -timeout 60m -v -run '^TestBigFrontier$' -bigfrontier 5000000
var (
	bigFrontierURLs = flag.Int("bigfrontier", 0, "run TestBigFrontier with this many queued URLs, on a fiftieth as many hosts")
	bigFrontierDir  = flag.String("bigfrontier.dir", "", "keep the filled data directory here, and use it again when it is there")
)

// What is promised of a frontier of 5 million URLs on 100,000 hosts, with default
// settings, while it is crawled.
const (
	bigFrontierMemory  = 1 << 30
	bigFrontierRestart = 15 * time.Second
	bigFrontierCrawl   = 90 * time.Second
)

// TestBigFrontier fills a node's frontier, kills the node while it crawls, and
// measures the time to the first request after the restart, the most memory
// and the pages a second. The figures go to docs/results/frontier.md.
func TestBigFrontier(t *testing.T) {
	if *bigFrontierURLs == 0 {
		t.Skip("a measurement of many minutes; see make soak")
	}
	r := &bigRun{t: t, urls: *bigFrontierURLs, hosts: max(*bigFrontierURLs/50, 1)}
	dir := *bigFrontierDir
	if dir == "" {
		dir = t.TempDir()
	}
	r.web = startBigWeb(t, r.hosts, keptPort(t, dir))
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--dns", r.web.dns, "--scope", "any", "--log-level", "warn")
	c.dir = dir
	r.filled = filepath.Join(dir, "filled")
	if _, err := os.Stat(r.filled); err != nil {
		r.found(c)
		r.fill(filepath.Join(c.dir, "n1"))
	}
	r.crawlKillCrawl(c)
	r.report()
	if r.maxRSS > bigFrontierMemory {
		t.Errorf("%d MiB of anonymous memory, %d promised", r.maxRSS>>20, bigFrontierMemory>>20)
	}
	if r.restart > bigFrontierRestart {
		t.Errorf("%v from the start to the first request, %v promised", r.restart, bigFrontierRestart)
	}
}

// bigRun is one run and what it found.
type bigRun struct {
	t           *testing.T
	urls, hosts int
	web         *bigWeb
	filled      string // a file that says so

	fillTime, first, restart time.Duration
	diskBytes                int64
	startRSS, maxRSS         int64 // at the first request; the most
	pagesPerSecond           float64
	cpuPerPage               time.Duration
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

// fill adds the URLs, each batch to as many hosts as it has URLs, so that a
// host's URLs lie as far apart as a crawl would find them.
func (r *bigRun) fill(dir string) {
	t := r.t
	began := time.Now()
	kv, err := frontier.OpenBadger(filepath.Join(dir, "frontier"), frontier.BadgerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := frontier.New(kv, frontier.Options{BloomDir: filepath.Join(dir, "bloom")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	over := make(chan error, 1)
	go func() { over <- f.Run(ctx) }()
	partitions := len(f.Metas())
	const batch = 1000
	for from := 0; from < r.urls; from += batch {
		links := make([]crawl.Routed, 0, batch)
		for i := from; i < min(from+batch, r.urls); i++ {
			u, err := urlnorm.Parse(r.web.url(i%r.hosts, i/r.hosts))
			if err != nil {
				t.Fatal(err)
			}
			depth := 1 + i/r.hosts%3
			links = append(links, crawl.Routed{Partition: placement.PartitionOf(crawl.Host(u.Host()), partitions),
				Target: crawl.Target{URL: u, Depth: depth, Band: crawl.Band(depth), Via: crawl.ViaLink}})
		}
		if _, err := f.Add(ctx, links); err != nil {
			t.Fatal(err)
		}
	}
	if totals := f.Totals(); totals.QueuedTotal() < int64(r.urls)*99/100 {
		t.Fatalf("%d URLs are queued of %d", totals.QueuedTotal(), r.urls)
	}
	stop()
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r.fillTime = time.Since(began)
	if err := os.WriteFile(r.filled, []byte(r.fillTime.String()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// crawlKillCrawl starts the node, kills it at work and starts it again; the
// second life is measured.
func (r *bigRun) crawlKillCrawl(c *cluster) {
	t := r.t
	n := &node{c: c, name: "n1", dir: filepath.Join(c.dir, "n1")}
	r.diskBytes = allocated(t, filepath.Join(n.dir, "frontier"))
	for _, addr := range []*string{&n.http, &n.gossip, &n.rpc} {
		*addr = fmt.Sprint("127.0.0.1:", freePort(t))
	}
	c.nodes = []*node{n}
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
	for time.Since(at) < bigFrontierCrawl {
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
	appendResult(r.t, "frontier.md", bigFrontierHead, fmt.Sprintf("%d | %d | %s | %d | %.1f | %.1f | %d | %d | %.0f | %d |",
		r.urls, r.hosts, fill, r.diskBytes/int64(r.urls),
		r.first.Seconds(), r.restart.Seconds(), r.startRSS>>20, r.maxRSS>>20, r.pagesPerSecond, r.cpuPerPage.Microseconds()))
}

const bigFrontierHead = `# A frontier of many URLs

A node with default settings (` + "`--delay 1s`" + ` among them) whose frontier was filled is killed with SIGKILL while it crawls, and
started again. Promised: less than 1 GiB of anonymous memory while crawling, less than 15 s from the start to the first
request. Appended by

    go test ./integration -count=1 -timeout 60m -v -run '^TestBigFrontier$' -bigfrontier 5000000

| date | commit | URLs | hosts | fill | disk bytes/URL | first start, s | after SIGKILL, s | RssAnon then, MiB | RssAnon at most, MiB | pages/s | CPU us/page |
|---|---|---|---|---|---|---|---|---|---|---|---|
`

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// bigWeb is a web server and a name server for the hosts h<n>.big.test.
type bigWeb struct {
	hosts, port int
	dns         string
	pages       atomic.Int64  // requests but those for robots.txt
	requests    chan struct{} // capacity 1: there was one
	filler      []byte
}

// bigAddrs is how many loopback addresses share the hosts.
const bigAddrs = 16

func startBigWeb(t *testing.T, hosts, port int) *bigWeb {
	t.Helper()
	w := &bigWeb{hosts: hosts, port: port, requests: make(chan struct{}, 1), filler: bigFiller()}
	server := &http.Server{Handler: w}
	var wg sync.WaitGroup
	for i := range bigAddrs {
		l, err := net.Listen("tcp", fmt.Sprintf("127.1.0.%d:%d", i+1, port))
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { _ = server.Serve(l) }) // ends with Close
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.dns = udp.LocalAddr().String()
	names := &dns.Server{PacketConn: udp, Handler: dns.HandlerFunc(func(rw dns.ResponseWriter, q *dns.Msg) { resolveBig(rw, q, 0) })}
	ready := make(chan struct{})
	names.NotifyStartedFunc = func() { close(ready) }
	wg.Go(func() { _ = names.ActivateAndServe() }) // ends with Shutdown
	<-ready
	t.Cleanup(func() {
		_ = server.Close()
		_ = names.Shutdown()
		wg.Wait()
	})
	return w
}

// url is the n-th page of a host.
func (w *bigWeb) url(host, n int) string {
	return fmt.Sprintf("http://h%d.big.test:%d/section-%d/a-page-with-a-name-%d.html", host, w.port, n%7, n)
}

// bigFiller makes a page as long as pages are.
func bigFiller() []byte {
	return bytes.Repeat([]byte("<p>Some words of a page that is as long as pages are, more or less.</p>\n"), 100)
}

// resolveBig answers for all hosts, with the addresses 127.1.network.x.
func resolveBig(rw dns.ResponseWriter, q *dns.Msg, network int) {
	m := new(dns.Msg)
	m.SetReply(q)
	name := q.Question[0].Name
	label, _, _ := strings.Cut(name, ".")
	host, err := strconv.Atoi(strings.TrimPrefix(label, "h"))
	switch {
	case err != nil:
		m.Rcode = dns.RcodeNameError
	case q.Question[0].Qtype == dns.TypeA:
		m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 300},
			A: net.IPv4(127, 1, byte(network), byte(host%bigAddrs+1))}}
	}
	_ = rw.WriteMsg(m) // whoever asked asks again
}

// ServeHTTP serves 8 KB with 20 links: 13 to pages of the host and 5 to pages
// of others, nearly all of them queued, and 2 that nobody has seen.
func (w *bigWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	select {
	case w.requests <- struct{}{}:
	default:
	}
	if r.URL.Path == "/robots.txt" {
		http.NotFound(rw, r)
		return
	}
	n := int(w.pages.Add(1))
	label, _, _ := strings.Cut(r.Host, ".")
	host, _ := strconv.Atoi(strings.TrimPrefix(label, "h")) // 0 for a stranger
	b := make([]byte, 0, 16<<10)
	b = append(b, "<!doctype html><title>A page</title>\n"...)
	for i := range 20 {
		to, page := host, (n*31+i*7)%50
		switch {
		case i >= 18:
			page = 1000 + n*2 + i
		case i >= 13:
			to = (host*7919 + n*104729 + i*1299709) % w.hosts
		}
		b = fmt.Appendf(b, "<a href=\"%s\">link</a>\n", w.url(to, page))
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = rw.Write(append(b, w.filler...)) // the judge is the crawler's side
}

// waitRequest waits for the first request from now on.
func (w *bigWeb) waitRequest(t *testing.T, n *node) time.Time {
	t.Helper()
	select {
	case <-w.requests: // one of an earlier life, whose connections are gone by now
	default:
	}
	select {
	case <-w.requests:
	case <-n.done:
		t.Fatalf("the node ended: %v\n%s", n.err, tail(n.log, 20))
	case <-time.After(10 * time.Minute):
		t.Fatal("no request within 10 minutes")
	}
	return time.Now()
}

// keptPort is the port that stands in the URLs of a kept frontier, or a new one.
func keptPort(t *testing.T, dir string) int {
	t.Helper()
	path := filepath.Join(dir, "port")
	if text, err := os.ReadFile(path); err == nil {
		if port, err := strconv.Atoi(string(text)); err == nil {
			return port
		}
	}
	port := freePort(t)
	if err := errorsOf(os.MkdirAll(dir, 0o755), os.WriteFile(path, []byte(strconv.Itoa(port)), 0o644)); err != nil {
		t.Fatal(err)
	}
	return port
}

// allocated is what the files below a folder take on disk: Badger makes some of
// them larger than what is in them.
func allocated(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		var st syscall.Stat_t
		if err := syscall.Stat(filepath.Join(dir, f.Name()), &st); err != nil {
			t.Fatal(err)
		}
		bytes += st.Blocks * 512
	}
	return bytes
}

// rssAnon is a process's anonymous memory in bytes; page cache is not ours.
func rssAnon(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // empty when it has ended
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(fields[0], 10, 64) // the kernel writes a number
	return kib << 10
}

// cpuTime is the processor time that a process has used.
func cpuTime(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // empty when it has ended
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)   // field 14 of proc(5): ticks of 10 ms
	system, _ := strconv.ParseInt(fields[12], 10, 64) // field 15
	return time.Duration(user+system) * 10 * time.Millisecond
}
