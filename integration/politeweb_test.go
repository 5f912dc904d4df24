package integration

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// politeWeb is a web whose hosts have tempers, on loopback addresses that they
// share. It keeps every request as it saw it.
type politeWeb struct {
	t     *testing.T
	hosts []*politeHost
	doors []*politeDoor
	dns   string // its name server
	// also answers names that are no host's; nil: there are none.
	also func(name string) (ip string)
}

// politeDoor is one address. It can be closed for a while.
type politeDoor struct {
	addr   string
	web    *politeWeb
	server *http.Server // nil while it is closed
	done   chan struct{}
}

// politeHost is one host. Its first page links to all others.
type politeHost struct {
	name   string
	door   int
	temper temper
	port   int

	mu    sync.Mutex // guards the rest
	seen  []politeRequest
	asked map[string]int // requests for a path
}

// politeRequest is one request, by the server's clock: from the handler's call to
// the moment before the last byte is written.
type politeRequest struct {
	host       *politeHost
	path       string
	method     string
	agent      string
	status     int // 0: the connection was reset
	start, end time.Time
	wait       time.Duration // of the answer, on purpose
	// hold is the instant before which the answer forbids a further request.
	hold time.Time
}

// temper is how a host behaves.
type temper struct {
	name       string
	pages      int           // beside the first
	crawlDelay time.Duration // of its robots.txt
	sitemap    bool          // robots.txt names one, with a page that nothing else links
	// moody, if any, may change an answer. n is how many requests the host has had
	// before, asked how many there were for the path.
	moody func(path string, n, asked int, a *politeAnswer)
}

// politeAnswer is what a host says.
type politeAnswer struct {
	status     int
	retryAfter string        // the header
	hold       time.Time     // what the header means
	wait       time.Duration // before anything is said
	reset      bool          // nothing is said, the connection is reset
	body       string
}

// refuse makes a an answer of 429 or 503; with a Retry-After of that many
// seconds, unless it is 0.
func (a *politeAnswer) refuse(status, seconds int) {
	a.status, a.body = status, "not now\n"
	if seconds > 0 {
		a.retryAfter, a.hold = strconv.Itoa(seconds), time.Now().Add(time.Duration(seconds)*time.Second)
	}
}

// refuseUntil is refuse with a date.
func (a *politeAnswer) refuseUntil(status int, after time.Duration) {
	a.status, a.body = status, "not now\n"
	a.hold = time.Now().Add(after).Truncate(time.Second)
	a.retryAfter = a.hold.UTC().Format(http.TimeFormat)
}

// startPoliteWeb serves hosts, whose tempers take turns, on addrs addresses
// 127.net.x.y.
func startPoliteWeb(t *testing.T, network byte, hosts, addrs int, tempers ...temper) *politeWeb {
	t.Helper()
	w := &politeWeb{t: t}
	port := freePort(t)
	for i := range addrs {
		d := &politeDoor{addr: fmt.Sprintf("127.%d.%d.%d:%d", network, i/200, 1+i%200, port), web: w}
		d.open()
		w.doors = append(w.doors, d)
	}
	for i := range hosts {
		h := &politeHost{
			name:   fmt.Sprintf("h%d.polite.test", i),
			door:   i % addrs,
			temper: tempers[i/addrs%len(tempers)],
			port:   port,
			asked:  map[string]int{},
		}
		w.hosts = append(w.hosts, h)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.dns = udp.LocalAddr().String()
	names := &dns.Server{PacketConn: udp, Handler: dns.HandlerFunc(w.resolve)}
	var wg sync.WaitGroup
	ready := make(chan struct{})
	names.NotifyStartedFunc = func() { close(ready) }
	wg.Go(func() { _ = names.ActivateAndServe() }) // ends with Shutdown
	<-ready
	t.Cleanup(func() {
		_ = names.Shutdown() // nothing of it is needed any more
		wg.Wait()
		for _, d := range w.doors {
			d.close()
		}
	})
	return w
}

// open begins to serve the address, again or for the first time.
func (d *politeDoor) open() {
	l, err := net.Listen("tcp", d.addr)
	if err != nil {
		d.web.t.Fatal(err)
	}
	d.server, d.done = &http.Server{Handler: d.web}, make(chan struct{})
	go func() {
		defer close(d.done)
		_ = d.server.Serve(l) // ends with Close
	}()
}

// close refuses connections, and ends those that stand.
func (d *politeDoor) close() {
	if d.server != nil {
		_ = d.server.Close() // what is open is cut off, that is meant
		<-d.done
		d.server = nil
	}
}

func (w *politeWeb) host(name string) *politeHost {
	number, ok := strings.CutSuffix(name, ".polite.test")
	i, err := strconv.Atoi(strings.TrimPrefix(number, "h"))
	if !ok || err != nil || i < 0 || i >= len(w.hosts) {
		return nil
	}
	return w.hosts[i]
}

func (w *politeWeb) resolve(rw dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(q)
	name := q.Question[0].Name
	h := w.host(strings.TrimSuffix(strings.ToLower(name), "."))
	other := ""
	if h == nil && w.also != nil && q.Question[0].Qtype == dns.TypeA {
		other = w.also(strings.TrimSuffix(strings.ToLower(name), "."))
	}
	switch {
	case other != "":
		m.Answer = []dns.RR{&dns.A{
			Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 0},
			A:   net.ParseIP(other),
		}}
	case h == nil:
		m.Rcode = dns.RcodeNameError
	case q.Question[0].Qtype == dns.TypeA:
		ip, _, _ := net.SplitHostPort(w.doors[h.door].addr)
		m.Answer = []dns.RR{&dns.A{
			Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 300},
			A:   net.ParseIP(ip),
		}}
	}
	_ = rw.WriteMsg(m) // whoever asked asks again
}

func (h *politeHost) url(path string) string {
	return fmt.Sprintf("http://%s:%d%s", h.name, h.port, path)
}

// seeds are the first pages of all hosts.
func (w *politeWeb) seeds() (urls []string) {
	for _, h := range w.hosts {
		urls = append(urls, h.url("/"))
	}
	return urls
}

// all are the paths of a host's pages.
func (h *politeHost) all() []string {
	paths := []string{"/"}
	for i := range h.temper.pages {
		paths = append(paths, fmt.Sprint("/p", i))
	}
	if h.temper.sitemap {
		paths = append(paths, "/hidden")
	}
	return paths
}

func (w *politeWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	q := politeRequest{path: r.URL.Path, method: r.Method, agent: r.UserAgent(), start: time.Now()}
	name, _, _ := strings.Cut(r.Host, ":")
	if q.host = w.host(name); q.host == nil {
		http.NotFound(rw, r)
		return
	}
	a := q.host.answer(q.path)
	time.Sleep(a.wait)
	q.status, q.hold, q.wait = a.status, a.hold, a.wait
	if a.reset {
		q.status = 0
		if c, _, err := http.NewResponseController(rw).Hijack(); err == nil {
			_ = c.(*net.TCPConn).SetLinger(0) // so that Close resets
			q.end = time.Now()
			_ = c.Close()
		}
		q.host.note(q)
		return
	}
	if a.retryAfter != "" {
		rw.Header().Set("Retry-After", a.retryAfter)
	}
	rw.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	if strings.HasPrefix(a.body, "<a") {
		rw.Header().Set("Content-Type", "text/html")
	}
	rw.WriteHeader(a.status)
	q.end = time.Now()
	q.host.note(q) // before the last byte: nobody can be faster
	_, _ = rw.Write([]byte(a.body))
}

func (h *politeHost) note(q politeRequest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, q)
}

// answer decides what to say.
func (h *politeHost) answer(path string) politeAnswer {
	h.mu.Lock()
	n, asked := 0, h.asked[path]
	for _, times := range h.asked {
		n += times
	}
	h.asked[path]++
	h.mu.Unlock()
	a := politeAnswer{status: http.StatusOK}
	switch {
	case path == "/robots.txt":
		a.body = "User-agent: *\nDisallow: /no\n"
		if h.temper.crawlDelay > 0 {
			a.body += fmt.Sprintf("Crawl-delay: %.3f\n", h.temper.crawlDelay.Seconds())
		}
		if h.temper.sitemap {
			a.body += "Sitemap: " + h.url("/map.xml") + "\n"
		}
	case path == "/map.xml" && h.temper.sitemap:
		a.body =
			`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>` +
				h.url("/hidden") + "</loc></url></urlset>"
	case slices.Contains(h.all(), path):
		for i := range h.temper.pages {
			a.body += fmt.Sprintf("<a href=/p%d>page</a>\n", i)
		}
	default:
		a.status = http.StatusNotFound
	}
	if h.temper.moody != nil {
		h.temper.moody(path, n, asked, &a)
	}
	return a
}
