package integration

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// ruleWeb is a web server for any number of host names, over http and https, and their name server.
// It keeps every request as it saw it. Each name has an address of its own, from the first query
// on.
type ruleWeb struct {
	t           *testing.T
	plain       string // where http is served
	secure      string // where https is served; "": nowhere
	dns         string
	answer      http.HandlerFunc
	began       time.Time
	network     netip.Addr // the first address of names
	authority   *authority
	certificate sync.Map // by server name

	mu    sync.Mutex // guards the rest
	addrs map[string]netip.Addr
	seen  []ruleRequest
}

// ruleRequest is a request as the server saw it. Times are since the start of the web.
type ruleRequest struct {
	scheme, host, port, uri string
	proto                   string
	from                    string // the client's IP address
	header                  http.Header
	body                    string
	start, end              time.Duration
}

func (q *ruleRequest) url() string {
	if q.port != "" && q.port != "80" && q.port != "443" {
		return q.scheme + "://" + q.host + ":" + q.port + q.uri
	}
	return q.scheme + "://" + q.host + q.uri
}

// newRuleWeb serves names at addresses that count up from network. Those of loopback are served
// themselves, with local; other ones are reached through a ruleProxy only.
func newRuleWeb(t *testing.T, network string, answer http.HandlerFunc) *ruleWeb {
	t.Helper()
	w := &ruleWeb{t: t, answer: answer, began: time.Now(), network: netip.MustParseAddr(network),
		addrs: map[string]netip.Addr{}}
	w.plain = w.listen("127.0.0.1:0", nil)
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
	})
	return w
}

// overTLS serves https, too, with certificates of an authority.
func (w *ruleWeb) overTLS(a *authority) {
	w.authority = a
	w.secure = w.listen("127.0.0.1:0", &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			protocols := []string{"http/1.1"}
			if strings.HasPrefix(h.ServerName, "h2.") {
				protocols = []string{"h2", "http/1.1"}
			}
			return &tls.Config{Certificates: []tls.Certificate{w.certify(h.ServerName)},
				NextProtos: protocols}, nil
		},
		NextProtos: []string{"h2", "http/1.1"},
	})
}

// certify makes the certificate of a name; without one that of all addresses. Names that begin with
// wrong. get one for another name.
func (w *ruleWeb) certify(name string) tls.Certificate {
	made, _ := w.certificate.LoadOrStore(name, sync.OnceValue(func() tls.Certificate {
		c := &x509.Certificate{DNSNames: []string{strings.Replace(name, "wrong.", "other.", 1)}}
		if name == "" {
			c.DNSNames = nil
			w.mu.Lock()
			for _, a := range w.addrs {
				c.IPAddresses = append(c.IPAddresses, a.AsSlice())
			}
			w.mu.Unlock()
		}
		return w.authority.issue(c, w.authority)
	}))
	return made.(func() tls.Certificate)()
}

// listen serves an address until the test ends.
func (w *ruleWeb) listen(addr string, secure *tls.Config) string {
	w.t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		w.t.Fatal(err)
	}
	srv := &http.Server{Handler: w, TLSConfig: secure}
	if secure != nil {
		srv.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are to fail
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if secure != nil {
			_ = srv.ServeTLS(l, "", "") // ends with Close
		} else {
			_ = srv.Serve(l) // as above
		}
	})
	w.t.Cleanup(func() { _ = srv.Close(); wg.Wait() })
	return l.Addr().String()
}

// local serves names at their own addresses and one port, which it returns.
func (w *ruleWeb) local(names ...string) (port int) {
	w.t.Helper()
	port = freePort(w.t)
	for _, name := range names {
		w.listen(fmt.Sprintf("%s:%d", w.addr(name), port), nil)
	}
	return port
}

// addr is the address of a name.
func (w *ruleWeb) addr(name string) netip.Addr {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := w.addrs[name]
	if !ok {
		a = w.network
		for range len(w.addrs) {
			a = a.Next()
		}
		w.addrs[name] = a
	}
	return a
}

func (w *ruleWeb) resolve(rw dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(q)
	name := q.Question[0].Name
	if q.Question[0].Qtype == dns.TypeA {
		m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET,
			Ttl: 300},
			A: w.addr(strings.TrimSuffix(strings.ToLower(name), ".")).AsSlice()}}
	}
	_ = rw.WriteMsg(m) // whoever asked asks again
}

func (w *ruleWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	q := ruleRequest{scheme: "http", uri: r.RequestURI, proto: r.Proto, header: r.Header.Clone(),
		start: time.Since(w.began)}
	if r.TLS != nil {
		q.scheme = "https"
	}
	q.host, q.port, _ = strings.Cut(r.Host, ":")
	q.from, _, _ = net.SplitHostPort(r.RemoteAddr)
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<16)) // what there is of it is judged
	q.body = string(body)
	w.mu.Lock()
	at := len(w.seen)
	w.seen = append(w.seen, q)
	w.mu.Unlock()
	w.answer(rw, r)
	w.mu.Lock()
	w.seen[at].end = time.Since(w.began)
	w.mu.Unlock()
}

// requests are those that have come so far.
func (w *ruleWeb) requests() []ruleRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// now is the time since the web's start.
func (w *ruleWeb) now() time.Duration { return time.Since(w.began) }

// showPage writes a page of HTML.
func showPage(rw http.ResponseWriter, html string) {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(rw, html) // a client that has gone is judged elsewhere
}

// ruleProxy is a proxy that speaks SOCKS5 and HTTP, both CONNECT and absolute form, at one address.
// It is as small as can be: how nodes get on with real ones is tested elsewhere.
type ruleProxy struct {
	t     *testing.T
	addr  string
	login string // "user:password"; "": none is asked for
	// route is where a connection for a target leads; "": it is refused.
	route func(target string) string
	from  net.IP // the address that the web sees

	mu    sync.Mutex // guards the rest
	heads []string   // what clients said to the proxy itself
	told  []string   // user:password, as they came
	l     net.Listener
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

// newRuleProxy opens a proxy that ends with the test.
func newRuleProxy(t *testing.T, login string, route func(target string) string) *ruleProxy {
	t.Helper()
	p := &ruleProxy{t: t, addr: fmt.Sprint("127.0.0.1:", freePort(t)), login: login, route: route,
		from: net.IPv4(127, 0, 0, 1), conns: map[net.Conn]bool{}}
	p.open()
	t.Cleanup(p.close)
	return p
}

// open serves, again or for the first time.
func (p *ruleProxy) open() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.l = l
	p.mu.Unlock()
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if !p.keep(l, c) {
				continue
			}
			p.wg.Go(func() {
				defer p.drop(c)
				p.serve(c)
			})
		}
	})
}

// keep notes a connection, so that close ends it.
func (p *ruleProxy) keep(l net.Listener, c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.l != l {
		_ = c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *ruleProxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}

// close ends the proxy and its connections. Without an open one nothing happens.
func (p *ruleProxy) close() {
	p.mu.Lock()
	if p.l != nil {
		_ = p.l.Close()
	}
	p.l = nil
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *ruleProxy) serve(c net.Conn) {
	in := bufio.NewReader(c)
	first, err := in.Peek(1)
	switch {
	case err != nil:
	case first[0] == 5:
		p.socks(c, in)
	default:
		p.http(c, in)
	}
}

// dial connects to the place of a target.
func (p *ruleProxy) dial(target string) (net.Conn, error) {
	to := p.route(target)
	if to == "" {
		return nil, fmt.Errorf("%s is refused", target)
	}
	d := net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: p.from}}
	return d.Dial("tcp", to)
}

// socks serves a connection as RFC 1928 and RFC 1929 say.
func (p *ruleProxy) socks(c net.Conn, in *bufio.Reader) {
	field := func() []byte { // a length and as many bytes
		n, err := in.ReadByte()
		b := make([]byte, n)
		if _, more := io.ReadFull(in, b); err != nil || more != nil {
			return nil
		}
		return b
	}
	_, _ = in.ReadByte() // the version; what is missing shows below
	methods, method := field(), byte(0)
	if p.login != "" {
		method = 2
	}
	if !slices.Contains(methods, method) {
		_, _ = c.Write([]byte{5, 255})
		return
	}
	_, _ = c.Write([]byte{5, method})
	if method == 2 {
		_, _ = in.ReadByte()
		user, password := field(), field()
		if user == nil || password == nil {
			return // the client has gone
		}
		login := string(user) + ":" + string(password)
		p.note("", login)
		if login != p.login {
			_, _ = c.Write([]byte{1, 1})
			return
		}
		_, _ = c.Write([]byte{1, 0})
	}
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return
	}
	var host string
	switch head[3] {
	case 1, 4:
		ip := make(net.IP, map[byte]int{1: 4, 4: 16}[head[3]])
		_, _ = io.ReadFull(in, ip)
		host = ip.String()
	case 3:
		host = string(field())
	}
	var port [2]byte
	if _, err := io.ReadFull(in, port[:]); err != nil {
		return
	}
	target := net.JoinHostPort(host, strconv.Itoa(int(port[0])<<8|int(port[1])))
	to, err := p.dial(target)
	if err != nil {
		_, _ = c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	p.join(c, in, to)
}

// http serves requests as a proxy of RFC 9110 and RFC 9112 does; after one in absolute form it
// closes.
func (p *ruleProxy) http(c net.Conn, in *bufio.Reader) {
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	head, _ := httputil.DumpRequest(r, false) // it has been read already
	given := strings.TrimPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
	login, _ := base64.StdEncoding.DecodeString(given)
	p.note(string(head), string(login))
	if string(login) != p.login {
		_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\n"+
			"Proxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		return
	}
	target := r.Host
	if r.Method != http.MethodConnect && !strings.Contains(target, ":") {
		target += ":80"
	}
	to, err := p.dial(target)
	if err != nil {
		_, _ = io.WriteString(c,
			"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		return
	}
	if r.Method == http.MethodConnect {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		p.join(c, in, to)
		return
	}
	if !p.keepOnly(to) {
		return
	}
	defer p.drop(to)
	r.Header.Del("Proxy-Authorization")
	if r.Write(to) != nil {
		return
	}
	resp, err := http.ReadResponse(bufio.NewReader(to), r)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	resp.Close = true
	_ = resp.Write(c) // the client sees what is missing
}

// keepOnly notes a connection unless the proxy has been closed.
func (p *ruleProxy) keepOnly(c net.Conn) bool {
	p.mu.Lock()
	l := p.l
	p.mu.Unlock()
	return l != nil && p.keep(l, c)
}

// join copies both ways until one end has closed.
func (p *ruleProxy) join(c net.Conn, in io.Reader, to net.Conn) {
	if !p.keepOnly(to) {
		return
	}
	defer p.drop(to)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(to, in) // an end is the end of both
		_ = to.Close()
		_ = c.Close()
	})
	_, _ = io.Copy(c, to)
	_ = to.Close()
	_ = c.Close()
	wg.Wait()
}

func (p *ruleProxy) note(head, login string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if head != "" {
		p.heads = append(p.heads, head)
	}
	p.told = append(p.told, login)
}

// secretFile writes a file that only its owner can read.
func secretFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// putSites sets the rules for sites at a node, as a person would: again, while members that live
// did not confirm them in time.
func (n *node) putSites(rules string) {
	n.c.t.Helper()
	until(n.c.t, time.Minute, func() string {
		req, err := n.request(http.MethodPut, "/api/v1/sites", strings.NewReader(rules))
		if err != nil {
			n.c.t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/yaml")
		var report struct{ Untold []string }
		if err := decodeReply(n.c.client(), req, &report); err != nil {
			return err.Error()
		}
		for _, m := range n.c.living() {
			if slices.Contains(report.Untold, m.name) {
				return fmt.Sprintf("PUT /api/v1/sites: not confirmed by %v", report.Untold)
			}
		}
		return ""
	})
}

// reasonOf waits until a node's health has a reason whose text has all of some words.
func (n *node) reasonOf(code string, words ...string) {
	n.c.t.Helper()
	until(n.c.t, time.Minute, func() string {
		s, err := n.status()
		if err != nil {
			return err.Error()
		}
		for _, r := range s.Cluster.Health.Reasons {
			if r.Code == code && !slices.ContainsFunc(words,
				func(w string) bool { return !strings.Contains(r.Message, w) }) {
				return ""
			}
		}
		return fmt.Sprintf("no %s with %q in %+v", code, words, s.Cluster.Health)
	})
}

// holderOf is the name of the node that has a host.
func (n *node) holderOf(host string) string {
	n.c.t.Helper()
	var h struct{ Holder struct{ Name string } }
	if err := n.decode("/api/v1/hosts/"+host, &h); err != nil {
		n.c.t.Fatal(err)
	}
	return h.Holder.Name
}

// story lists the requests, with their times.
func (w *ruleWeb) story() string {
	var text strings.Builder
	for _, q := range w.requests() {
		fmt.Fprintf(&text, "%v %s, cookie %q\n", q.start.Round(time.Millisecond), q.url(),
			q.header.Get("Cookie"))
	}
	return text.String()
}
