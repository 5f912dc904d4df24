package integration

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// The addresses of the hostile web. Only hostileNet may be crawled; every other listener is a
// canary, which must never get a connection.
const (
	hostileNet   = "127.77.0.0/16"
	hostileIP    = "127.77.0.1"
	hostileTLSIP = "127.77.0.2"
	hostileH2IP  = "127.77.0.3"
	hostileZone  = "bad.test"
)

// hostileCanaries are several, because a host that failed is not asked at once for
// its next page.
var hostileCanaries = [...]string{"127.88.0.1", "127.88.0.2", "127.88.0.3", "127.88.0.4"}

// talk answers one request on a connection as a hostile server does. A false
// return closes the connection.
type talk func(c net.Conn, r *http.Request) bool

// hostileWeb is a web server that gives each host name a behaviour of its own,
// the name server for those names, and the canaries.
type hostileWeb struct {
	t     *testing.T
	port  int
	dns   string
	talks map[string]talk // by host name without the zone, or with a path: name/path
	over  chan struct{}   // closed when the test ends: whoever waits gives up

	canary atomic.Int64 // connections to places outside hostileNet

	mu       sync.Mutex           // guards talks and all below
	requests map[string]int       // by "host/path"
	times    map[string]time.Time // of the first request, by "host/path"
	leaks    []string             // requests with a header that must not be there
	lookups  map[string]int
	points   map[string]string // addresses of names that have another one than hostileIP
}

// newHostileWeb opens all listeners on one port that is free at all addresses.
func newHostileWeb(t *testing.T) *hostileWeb {
	t.Helper()
	w := &hostileWeb{
		t:        t,
		talks:    map[string]talk{},
		over:     make(chan struct{}),
		requests: map[string]int{},
		times:    map[string]time.Time{},
		lookups:  map[string]int{},
		points:   map[string]string{},
	}
	w.port = freePort(t)
	w.listen(hostileIP, w.serve)
	for _, ip := range append(hostileCanaries[:], "127.0.0.1", "::1") {
		w.listen(ip, func(c net.Conn) { w.canary.Add(1); c.Close() })
	}
	w.names()
	t.Cleanup(func() { close(w.over) })
	return w
}

// listen accepts connections until the test ends. Only IPv6 may be missing.
func (w *hostileWeb) listen(ip string, handle func(net.Conn)) {
	w.t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(ip, fmt.Sprint(w.port)))
	if err != nil && strings.Contains(ip, ":") {
		w.t.Logf("no canary on %s: %v", ip, err)
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go handle(c)
		}
	}()
}

// serve reads requests from a connection and lets the host's talk answer them.
func (w *hostileWeb) serve(c net.Conn) {
	defer c.Close()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // a talk that waits for ever ends with the test
		select {
		case <-w.over:
			c.Close()
		case <-stop:
		}
	}()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if !w.talkOf(r)(c, r) {
			lastBytes(c)
			return
		}
	}
}

// lastBytes closes the sending side and waits for the client to go, so that
// bytes which it has not read yet are not lost to a reset.
func lastBytes(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		io.Copy(io.Discard, c)
	}
}

// talkOf notes a request and finds its handler. A host without a robots.txt of its own has none,
// and an unknown one is plain.
func (w *hostileWeb) talkOf(r *http.Request) talk {
	host, _, _ := strings.Cut(r.Host, ":")
	w.note(host, r)
	name := strings.TrimSuffix(host, "."+hostileZone)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range []string{name + r.URL.Path, name} {
		if f := w.talks[key]; f != nil &&
			(key != name || r.URL.Path != "/robots.txt" && r.URL.Path != "/sitemap.xml") {
			return f
		}
	}
	if r.URL.Path == "/robots.txt" || r.URL.Path == "/sitemap.xml" {
		return says("404 Not Found", "", "")
	}
	return says("200 OK", "Content-Type: text/html", "<title>plain</title>")
}

// behave gives a host its behaviour while the server runs.
func (w *hostileWeb) behave(name string, f talk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.talks[name] = f
}

// setsCookies reports whether a host redirects to itself with Set-Cookie.
func (w *hostileWeb) setsCookies(host string) bool {
	name, _, _ := strings.Cut(host, ".")
	return name == "self" || name == "loop" || name == "chain"
}

func (w *hostileWeb) note(host string, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := host + r.URL.Path
	w.requests[key]++
	if _, known := w.times[key]; !known {
		w.times[key] = time.Now()
	}
	for _, h := range []string{"Cookie", "Authorization", "Referer", "Proxy-Authorization"} {
		if h == "Cookie" && w.setsCookies(host) {
			continue // its own, on the way through its redirects
		}
		if v := r.Header.Get(h); v != "" {
			w.leaks = append(w.leaks, fmt.Sprintf("%s %s: %s", key, h, v))
		}
	}
}

// asked is how often a path of a host was requested.
func (w *hostileWeb) asked(host, path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests[host+path]
}

// url is a page of a hostile host.
func (w *hostileWeb) url(name, path string) string {
	return fmt.Sprintf("http://%s.%s:%d%s", name, hostileZone, w.port, path)
}

// says returns a handler that answers with a whole page and keeps the connection.
func says(status, header, body string) talk {
	return func(c net.Conn, _ *http.Request) bool {
		if header != "" {
			header = strings.TrimSuffix(header, "\r\n") + "\r\n"
		}
		_, err := fmt.Fprintf(c, "HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, header,
			len(body), body)
		return err == nil
	}
}

// raw answers with bytes as they are, and closes the connection.
func raw(parts ...string) talk {
	return func(c net.Conn, _ *http.Request) bool {
		for _, p := range parts {
			if _, err := io.WriteString(c, p); err != nil {
				break
			}
		}
		return false
	}
}

// endless sends something once and then something else for ever, with a pause after each.
func endless(head, again string, pause time.Duration) talk {
	return func(c net.Conn, _ *http.Request) bool {
		_, err := io.WriteString(c, head)
		for err == nil {
			if _, err = io.WriteString(c, again); err == nil && pause > 0 {
				time.Sleep(pause)
			}
		}
		return false
	}
}

// silent sends something and then nothing more, without closing.
func silent(head string) talk {
	return func(c net.Conn, _ *http.Request) bool {
		io.WriteString(c, head)
		io.Copy(io.Discard, c)
		return false
	}
}

// names serves DNS: every name of the zone is the hostile server, but for those
// that point elsewhere.
func (w *hostileWeb) names() {
	w.dns = fmt.Sprint("127.0.0.1:", freePort(w.t))
	srv := &dns.Server{Addr: w.dns, Net: "udp", Handler: dns.HandlerFunc(w.answer)}
	up := make(chan struct{})
	srv.NotifyStartedFunc = func() { close(up) }
	failed := make(chan error, 1)
	go func() { failed <- srv.ListenAndServe() }()
	select {
	case <-up:
		w.t.Cleanup(func() { srv.Shutdown() })
	case err := <-failed:
		w.t.Fatal(err)
	}
}

func (w *hostileWeb) answer(rw dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(q)
	name := strings.TrimSuffix(q.Question[0].Name, ".")
	a, aaaa := w.addresses(strings.TrimSuffix(name, "."+hostileZone))
	for _, ip := range a {
		if q.Question[0].Qtype == dns.TypeA {
			m.Answer = append(m.Answer, &dns.A{
				Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET},
				A:   net.ParseIP(ip),
			})
		}
	}
	if aaaa != "" && q.Question[0].Qtype == dns.TypeAAAA {
		m.Answer = append(m.Answer, &dns.AAAA{
			Hdr:  dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeAAAA, Class: dns.ClassINET},
			AAAA: net.ParseIP(aaaa),
		})
	}
	_ = rw.WriteMsg(m) // who asked has gone
}

// addresses are those of a name. The TTL is always 0: the answers may change at
// any time, and "rebind" does so at once.
func (w *hostileWeb) addresses(name string) (a []string, aaaa string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups[name]++
	if at := w.points[name]; strings.Contains(at, ":") {
		return nil, at
	} else if at != "" {
		return []string{at}, ""
	}
	switch name {
	case "inside":
		return []string{hostileCanaries[0]}, ""
	case "mixed":
		return []string{hostileCanaries[0], hostileIP, hostileCanaries[1]}, ""
	case "rebind":
		if w.lookups[name] > 1 {
			return []string{hostileCanaries[0]}, ""
		}
	case "six":
		return nil, "::1"
	case "mapped":
		return nil, "::ffff:" + hostileCanaries[0]
	case "tls", "expired", "selfsigned", "wronghost", "old", "manynames", "alpnlie":
		return []string{hostileTLSIP}, ""
	case "h2":
		return []string{hostileH2IP}, ""
	}
	return []string{hostileIP}, ""
}
