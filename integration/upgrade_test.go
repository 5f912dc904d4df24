package integration

import (
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
)

var upgradeFrom = flag.String("upgrade.from", "",
	"a crawlnode program: let it write testdata/upgrade anew")

// oldWeb are some hosts with a chain of pages each. It must stay as it is: data
// directories that were written with it are in testdata/upgrade.
type oldWeb struct {
	mu    sync.Mutex
	asked map[string]int // requests for each page
}

const (
	oldHosts = 12
	oldPages = 25
	oldDelay = 200 * time.Millisecond
)

func oldURL(host, page int) string { return fmt.Sprintf("http://h%d.old.test/%d", host, page) }

func oldURLs() (urls []string) {
	for host := range oldHosts {
		for page := range oldPages {
			urls = append(urls, oldURL(host, page))
		}
	}
	return urls
}

func (w *oldWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	host, _ := strconv.Atoi(strings.TrimPrefix(strings.Split(r.Host, ".")[0], "h")) // 0 for a stranger
	page, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil { // robots.txt
		http.NotFound(rw, r)
		return
	}
	w.mu.Lock()
	w.asked[oldURL(host, page)]++
	w.mu.Unlock()
	rw.Header().Set("Content-Type", "text/html")
	_, _ = fmt.Fprintf(rw, "<title>%d of %d</title>", page, host) // the crawler asks again
	if page+1 < oldPages {
		_, _ = fmt.Fprintf(rw, `<a href="%s">on</a> <a href="%s">over</a>`, oldURL(host, page+1),
			oldURL((host+1)%oldHosts, page/2))
	}
}

// urls are the pages that were asked for.
func (w *oldWeb) urls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.asked))
}

// serveOldWeb serves it on port 80 of some loopback address, so that no port stands in a
// URL, and returns the address of its name server.
func serveOldWeb(t *testing.T) (w *oldWeb, names string) {
	t.Helper()
	w = &oldWeb{asked: map[string]int{}}
	ip := freeAddress(t)
	l, err := net.Listen("tcp", ip+":80")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: w}
	ready := make(chan struct{})
	resolver := &dns.Server{
		PacketConn:        udp,
		NotifyStartedFunc: func() { close(ready) },
		Handler: dns.HandlerFunc(func(rw dns.ResponseWriter, q *dns.Msg) {
			m := new(dns.Msg)
			m.SetReply(q)
			if q.Question[0].Qtype == dns.TypeA {
				m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{
					Name:   q.Question[0].Name,
					Rrtype: dns.TypeA,
					Class:  dns.ClassINET,
					Ttl:    300,
				}, A: net.ParseIP(ip)}}
			}
			_ = rw.WriteMsg(m) // whoever asked asks again
		}),
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })             // ends with Close
	wg.Go(func() { _ = resolver.ActivateAndServe() }) // ends with Shutdown
	<-ready
	t.Cleanup(func() {
		_ = server.Close()
		_ = resolver.Shutdown()
		wg.Wait()
	})
	return w, udp.LocalAddr().String()
}

// upgrade is a cluster that an older program ran, and how it ended.
type upgrade struct {
	name    string
	nodes   int
	signal  syscall.Signal
	repeats int // most pages that are fetched again: what was not durable
}

var upgrades = []upgrade{
	{"stopped", 1, syscall.SIGTERM, 0},
	// what the last commits brought, and what was in flight
	{"killed", 2, syscall.SIGKILL, 3 * oldHosts},
}

func (u *upgrade) archive() string { return filepath.Join("testdata", "upgrade", u.name+".tar.gz") }

func (u *upgrade) cluster(t *testing.T, names string) *cluster {
	t.Helper()
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--dns", names, "--delay", oldDelay.String(),
		"--partitions", "512", "--drain-timeout", "30s")
	if *upgradeFrom != "" {
		// --allow-ports, which an older program may not know and a web on port 80 does not need
		c.flags = c.flags[2:]
	}
	for range u.nodes {
		c.place()
	}
	return c
}

// write lets the older program crawl half of the web, ends it, and packs what it left.
func (u *upgrade) write(t *testing.T) {
	w, names := serveOldWeb(t)
	c := u.cluster(t, names)
	for _, n := range c.nodes {
		n.program = *upgradeFrom
		n.start()
		n.ready()
	}
	c.converged(time.Minute)
	var seeds []string
	for host := range oldHosts {
		seeds = append(seeds, oldURL(host, 0))
	}
	c.nodes[0].seed(seeds...)
	until(t, time.Minute, func() string {
		if n := len(w.urls()); n < oldHosts*oldPages/2 {
			return fmt.Sprintf("%d pages are fetched", n)
		}
		return ""
	})
	for _, n := range c.nodes {
		n.signal(u.signal)
	}
	for _, n := range c.nodes {
		n.exit(t, time.Minute)
	}
	if err := os.WriteFile(filepath.Join(c.dir, askedFile), []byte(strings.Join(w.urls(), "\n")+
		"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := pack(c.dir, u.archive()); err != nil {
		t.Fatal(err)
	}
}

// askedFile stands beside the data directories: the pages that the web was asked for.
const askedFile = "asked"

// TestDataOfTheReleaseBefore opens data directories of an older program, one that was
// stopped and one of two nodes that were killed, and goes on: each page of that crawl is
// in the archive in the end, and what was done is not fetched again.
func TestDataOfTheReleaseBefore(t *testing.T) {
	needsProcesses(t)
	if *upgradeFrom == "" {
		t.Parallel()
	}
	for _, u := range upgrades {
		t.Run(u.name, func(t *testing.T) {
			if *upgradeFrom != "" {
				u.write(t)
				return
			}
			t.Parallel()
			w, names := serveOldWeb(t)
			c := u.cluster(t, names)
			if err := unpack(u.archive(), c.dir); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(filepath.Join(c.dir, askedFile))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range c.nodes { // neither serves without the other
				n.start()
			}
			for _, n := range c.nodes {
				n.ready()
			}
			c.finished(2 * time.Minute)
			c.stop()
			asked := w.urls()
			repeats := 0
			for _, url := range strings.Fields(string(before)) {
				if slices.Contains(asked, url) {
					repeats++
				}
			}
			if repeats > u.repeats {
				t.Errorf("%d of %d pages that the older program had fetched were fetched again, at most %d: %v",
					repeats, len(strings.Fields(string(before))), u.repeats, asked)
			}
			archived, _ := archivedPages(t, c, func(capture) bool { return true })
			sameSet(t, "archived", archived, oldURLs())
			t.Logf("%d pages by the older program, %d by this one, %d by both",
				len(strings.Fields(string(before))), len(asked), repeats)
		})
	}
}
