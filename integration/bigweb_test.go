package integration

import (
	"bytes"
	"errors"
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
)

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
	pages       atomic.Int64   // requests but those for robots.txt
	byHost      []atomic.Int64 // the same for each host
	requests    chan struct{}  // capacity 1: there was one
	filler      []byte
}

// newHostCounts makes a counter for each host.
func newHostCounts(hosts int) []atomic.Int64 { return make([]atomic.Int64, hosts) }

// bigAddrs is how many loopback addresses share the hosts.
const bigAddrs = 16

func startBigWeb(t *testing.T, hosts, port int) *bigWeb {
	t.Helper()
	w := &bigWeb{
		hosts:    hosts,
		port:     port,
		byHost:   newHostCounts(hosts),
		requests: make(chan struct{}, 1),
		filler:   bigFiller(),
	}
	w.dns = serveBig(t, port, w)
	return w
}

// serveBig serves the hosts h<n>.big.test until the test ends, and returns the address
// of their name server.
func serveBig(t *testing.T, port int, web http.Handler) (names string) {
	t.Helper()
	server := &http.Server{Handler: web}
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
	resolver := &dns.Server{
		PacketConn: udp,
		Handler:    dns.HandlerFunc(func(rw dns.ResponseWriter, q *dns.Msg) { resolveBig(rw, q, 0) }),
	}
	ready := make(chan struct{})
	resolver.NotifyStartedFunc = func() { close(ready) }
	wg.Go(func() { _ = resolver.ActivateAndServe() }) // ends with Shutdown
	<-ready
	t.Cleanup(func() {
		_ = server.Close()
		_ = resolver.Shutdown()
		wg.Wait()
	})
	return udp.LocalAddr().String()
}

// url is the n-th page of a host.
func (w *bigWeb) url(host, n int) string {
	return fmt.Sprintf("http://h%d.big.test:%d/section-%d/a-page-with-a-name-%d.html", host, w.port,
		n%7, n)
}

// bigFiller makes a page as long as pages are.
func bigFiller() []byte {
	return bytes.Repeat(
		[]byte("<p>Some words of a page that is as long as pages are, more or less.</p>\n"), 100)
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
		m.Answer = []dns.RR{&dns.A{
			Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 300},
			A:   net.IPv4(127, 1, byte(network), byte(host%bigAddrs+1)),
		}}
	}
	_ = rw.WriteMsg(m) // whoever asked asks again
}

// ServeHTTP serves 8 KB with 20 links: 13 to pages of the host and 5 to pages of others, nearly all
// of them queued, and 2 to new pages.
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
	w.byHost[host%w.hosts].Add(1)
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

// keptPort is the port in the URLs of a kept frontier, or a new one.
func keptPort(t *testing.T, dir string) int {
	t.Helper()
	path := filepath.Join(dir, "port")
	if text, err := os.ReadFile(path); err == nil {
		if port, err := strconv.Atoi(string(text)); err == nil {
			return port
		}
	}
	port := freePort(t)
	if err := errorsOf(os.MkdirAll(dir, 0o755),
		os.WriteFile(path, []byte(strconv.Itoa(port)), 0o644)); err != nil {
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
		err := syscall.Stat(filepath.Join(dir, f.Name()), &st)
		if errors.Is(err, syscall.ENOENT) { // a store at work deletes tables
			continue
		}
		if err != nil {
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
