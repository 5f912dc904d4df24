package fetcher

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/local/closedport"
	"crawlnode/web/botauth"
	"crawlnode/web/proxy"
)

// fakeProxy answers CONNECT and requests with a whole URL by answer, or as a real one if that
// returns "".
type fakeProxy struct {
	*rawServer
	answer func(r *http.Request) string
	seen   chan *http.Request // nil: nobody looks
}

func newFakeProxy(t testing.TB, answer func(r *http.Request) string) *fakeProxy {
	p := &fakeProxy{answer: answer, seen: make(chan *http.Request, 100)}
	p.rawServer = newRawServer(t, p.talk)
	return p
}

func (p *fakeProxy) talk(s *rawServer, c net.Conn, r *bufio.Reader) {
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if req.Method == http.MethodOptions { // which a proxy answers itself
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			continue
		}
		s.requests.Add(1)
		p.seen <- req
		if text := p.answer(req); text != "" {
			io.WriteString(c, text)
			if req.Method == http.MethodConnect {
				return
			}
			continue
		}
		to, err := net.Dial("tcp", req.Host)
		if err != nil {
			io.WriteString(c, "HTTP/1.1 503 No\r\n\r\n")
			return
		}
		defer to.Close()
		if req.Method == http.MethodConnect {
			io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		} else {
			req.Header.Del("Proxy-Authorization")
			req.Write(to)
		}
		go io.Copy(to, r)
		io.Copy(c, to)
		return
	}
}

func by(t testing.TB, texts ...string) (list []proxy.Proxy) {
	t.Helper()
	for _, text := range texts {
		p, err := proxy.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

func always(text string) func(*http.Request) string {
	return func(*http.Request) string { return text }
}

// login knows one secret.
func login(name string) (string, bool) { return "me:pass:word", name == "one" }

// brief are limits under which silent servers end soon, and that others keep on a busy machine,
// too.
var brief = Options{ConnectTimeout: 3 * time.Second, HeadTimeout: 3 * time.Second}

// silentServer accepts connections and never says a word.
func silentServer(t testing.TB) *rawServer {
	return newRawServer(
		t,
		func(_ *rawServer, _ net.Conn, r *bufio.Reader) { io.Copy(io.Discard, r) },
	)
}

// TestAbsoluteForm: plain HTTP goes to the proxy with the whole URL and the credentials, which the
// archive does not have, and the address is not known then. A kept connection is for its host
// alone.
func TestAbsoluteForm(t *testing.T) {
	t.Parallel()
	p := newFakeProxy(t, always(page("by proxy")))
	f := newFetcher(t, Options{})
	r := ask(t, "http", "127.0.0.1:8099", "/a?b=c")
	r.Proxies, r.ProxyUser = by(t, "http://secret:one@"+p.addr), login
	for i := range 2 {
		resp := mustDo(t, f, r)
		got := <-p.seen
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:pass:word"))
		if got.RequestURI != "http://127.0.0.1:8099/a?b=c" || got.Host != "127.0.0.1:8099" ||
			got.Header.Get("Proxy-Authorization") != want {
			t.Errorf("the proxy got %s, %s, %v", got.RequestURI, got.Host, got.Header)
		}
		head := string(resp.RequestHead)
		if !strings.HasPrefix(head, "GET http://127.0.0.1:8099/a?b=c HTTP/1.1\r\n") ||
			!strings.Contains(head, "\r\nProxy-Authorization: <redacted>\r\n") ||
			strings.Contains(head, want[6:]) {
			t.Errorf("archived:\n%s", head)
		}
		if resp.RemoteAddr.IsValid() || string(resp.Body) != "by proxy" || resp.Reused != (i == 1) {
			t.Errorf("%+v", resp)
		}
		resp.Release()
	}
	for name, other := range map[string]func(*Request){
		"another host":     func(r *Request) { r.URL, _ = r.URL.Resolve("http://other.test:8099/") },
		"no credentials":   func(r *Request) { r.Proxies = by(t, "http://"+p.addr) },
		"a source address": func(r *Request) { r.Source = netip.MustParseAddr("127.0.0.1") },
	} {
		q := r
		other(&q)
		resp := mustDo(t, f, q)
		if <-p.seen; resp.Reused {
			t.Errorf("%s: the connection was used again", name)
		}
		resp.Release()
	}
}

// TestConnect: https goes through the proxy to the resolved address, over HTTP/1 and HTTP/2, and is
// the host's own connection; so are both schemes over SOCKS.
func TestConnect(t *testing.T) {
	t.Parallel()
	for _, h2 := range []bool{false, true} {
		srv, roots := newTLSServer(
			t,
			h2,
			func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") },
		)
		addr := srv.Listener.Addr().String()
		p := newFakeProxy(t, always(""))
		f := newFetcher(t, Options{RootCAs: roots})
		r := ask(t, "https", addr, "/a")
		// The name is resolved here: the proxy gets the address alone, and TLS the name.
		r.URL, _ = r.URL.Resolve(
			"https://example.com:" + addr[strings.LastIndex(addr, ":")+1:] + "/a",
		)
		r.Proxies, r.ProxyUser = by(t, "http://secret:one@"+p.addr), login
		for i := range 2 {
			resp := mustDo(t, f, r)
			if string(resp.Body) != "hello" || resp.RemoteAddr != r.Addr ||
				resp.Reused != (i == 1) ||
				(resp.Proto == "HTTP/2.0") != h2 ||
				resp.TLS.Err != nil ||
				!strings.HasPrefix(string(resp.RequestHead), "GET /a HTTP/1.1\r\nHost: example.com:") {
				t.Errorf("%+v\n%s", resp, resp.RequestHead)
			}
			resp.Release()
		}
		got := <-p.seen
		if got.Method != "CONNECT" || got.RequestURI != addr || got.Host != addr ||
			got.Header.Get("Proxy-Authorization") == "" {
			t.Errorf("the proxy got %+v", got)
		}
		if n := p.conns.Load(); n != 1 {
			t.Errorf("%d connections to the proxy, want 1", n)
		}
	}
}

// TestTLSProxy: TLS with the proxy comes first, and its certificate counts.
func TestTLSProxy(t *testing.T) {
	t.Parallel()
	origin, roots := newTLSServer(
		t,
		true,
		func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") },
	)
	inner := newFakeProxy(t, func(r *http.Request) string {
		if r.Method == http.MethodConnect {
			return ""
		}
		return page("plain")
	})
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: origin.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				inner.talk(inner.rawServer, c, bufio.NewReader(c))
			}()
		}
	}()
	for scheme, want := range map[string]string{"https": "hello", "http": "plain"} {
		f := newFetcher(t, Options{RootCAs: roots})
		r := ask(t, scheme, origin.Listener.Addr().String(), "/")
		r.Proxies = by(t, "https://"+ln.Addr().String())
		for i := range 2 {
			if resp := mustDo(t, f, r); string(resp.Body) != want || resp.Reused != (i == 1) {
				t.Errorf("%s: %+v", scheme, resp)
			}
		}
		r.TLSRecord = true // is about servers
		_, err := newFetcher(t, Options{RootCAs: x509.NewCertPool()}).Do(t.Context(), r)
		if e := wantCategory(t, err, Proxy); e.Contacted ||
			!strings.Contains(e.Error(), "TLS with it") {
			t.Errorf("%s, with a bad certificate: %+v", scheme, e)
		}
	}
}

// newFakeSOCKS answers with the given bytes: the method, what follows the user and password, and
// the reply. After reply 0 it is a real proxy.
func newFakeSOCKS(t testing.TB, method, verdict []byte, reply []byte) *rawServer {
	return newRawServer(t, func(s *rawServer, c net.Conn, r *bufio.Reader) {
		read := func(n int) []byte { b := make([]byte, n); io.ReadFull(r, b); return b }
		read(int(read(2)[1]))
		c.Write(method)
		if len(method) < 2 || method[1] == socksNoMethod {
			return
		}
		if method[1] == socksByPassword {
			read(int(read(2)[1]))
			read(int(read(1)[0]))
			if c.Write(verdict); len(verdict) < 2 || verdict[1] != 0 {
				return
			}
		}
		head := read(4)
		ip, _ := netip.AddrFromSlice(read(map[byte]int{1: 4, 4: 16}[head[3]]))
		port := read(2)
		s.requests.Add(1)
		c.Write(reply)
		if len(reply) < 2 || reply[1] != 0 {
			return
		}
		to, err := net.Dial(
			"tcp",
			netip.AddrPortFrom(ip, uint16(port[0])<<8|uint16(port[1])).String(),
		)
		if err != nil {
			return
		}
		defer to.Close()
		go io.Copy(to, r)
		io.Copy(c, to)
	})
}

func socksReply(code byte) []byte { return []byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0} }

// TestSOCKS has what a server of it may say, and whose failure that is.
func TestSOCKS(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(
		http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") },
		),
	)
	t.Cleanup(plain.Close)
	open, password, fine := []byte{5, 0}, []byte{5, 2}, []byte{1, 0}
	for name, c := range map[string]struct {
		method, verdict, reply []byte
		secret                 string
		worked                 bool // the proxy has worked before
		category               Category
		text                   string // "": it works
	}{
		"no password": {method: open, reply: socksReply(0)},
		"none needed": {method: open, reply: socksReply(0), secret: "one"},
		"password":    {method: password, verdict: fine, reply: socksReply(0), secret: "one"},
		"wrong password": {
			method:   password,
			verdict:  []byte{1, 1},
			secret:   "one",
			category: Proxy,
			text:     "of secret one",
		},
		"no answer to it": {
			method:   password,
			secret:   "one",
			category: Proxy,
			text:     "user and password",
		},
		"password wanted":         {method: []byte{5, 255}, category: Proxy, text: "secret:NAME@"},
		"password wanted, rudely": {method: password, category: Proxy, text: "secret:NAME@"},
		"no method": {
			method:   []byte{5, 255},
			secret:   "one",
			category: Proxy,
			text:     "neither",
		},
		"odd method":      {method: []byte{5, 7}, category: Proxy, text: "method 7"},
		"other version":   {method: []byte{4, 0}, category: Proxy, text: "SOCKS 5"},
		"half a greeting": {method: []byte{5}, category: Proxy, text: "greeting"},
		"nothing":         {category: Proxy, text: "greeting"},
		"HTTP": {
			method:   []byte("HTTP/1.1 400 Bad\r\n\r\n"),
			category: Proxy,
			text:     "SOCKS 5",
		},
		"general failure": {method: open, reply: socksReply(1), category: Proxy, text: "general"},
		"general, but it worked": {
			method:   open,
			reply:    socksReply(1),
			worked:   true,
			category: Connect,
			text:     "general",
		},
		"not allowed": {method: open, reply: socksReply(2), category: Proxy, text: "rules"},
		"no network":  {method: open, reply: socksReply(3), category: Connect, text: "network"},
		"no host": {
			method:   open,
			reply:    socksReply(4),
			category: Connect,
			text:     "host unreachable",
		},
		"refused":         {method: open, reply: socksReply(5), category: Connect, text: "refused"},
		"TTL":             {method: open, reply: socksReply(6), category: Connect, text: "TTL"},
		"no command":      {method: open, reply: socksReply(7), category: Proxy, text: "command"},
		"no such address": {method: open, reply: socksReply(8), category: Proxy, text: "address type"},
		"odd reply":       {method: open, reply: socksReply(99), category: Proxy, text: "reply 99"},
		"no reply":        {method: open, category: Connect, text: "no answer"},
		"half a reply": {
			method:   open,
			reply:    []byte{5, 0, 0, 9},
			category: Proxy,
			text:     "address type",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFakeSOCKS(t, c.method, c.verdict, c.reply)
			f := newFetcher(t, Options{})
			r := ask(t, "http", plain.Listener.Addr().String(), "/")
			text := "socks5://" + s.addr
			if c.secret != "" {
				text = "socks5://secret:" + c.secret + "@" + s.addr
			}
			r.Proxies, r.ProxyUser = by(t, text), login
			if c.worked {
				f.proxies.Worked(r.Proxies[0], time.Now())
			}
			if c.text == "" {
				if resp := mustDo(t, f, r); string(resp.Body) != "hello" ||
					resp.RemoteAddr != r.Addr {
					t.Errorf("%+v", resp)
				}
				return
			}
			_, err := f.Do(t.Context(), r)
			e := wantCategory(t, err, c.category)
			if !strings.Contains(e.Error(), c.text) || e.Contacted != (c.category == Connect) ||
				!strings.Contains(e.Error(), text) ||
				strings.Contains(e.Error(), "pass:word") {
				t.Errorf("%+v: %v", e, e)
			}
			if failing := len(f.FailingProxies(time.Now())) == 1; failing != (c.category == Proxy) ||
				failing && e.RetryAfter != time.Second && e.RetryAfter < 900*time.Millisecond {
				t.Errorf("the proxy is failing: %v, retry after %v", failing, e.RetryAfter)
			}
		})
	}
}

// TestProxyFailures: what a proxy of HTTP may do, and whose failure that is.
func TestProxyFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		connect, absolute string // its answers; "-": it closes the connection
		category          Category
		text              string
		contacted         bool
	}{
		"407": {
			connect:  "HTTP/1.1 407 No\r\nContent-Length: 3\r\n\r\nabc",
			absolute: "HTTP/1.1 407 No\r\nContent-Length: 3\r\n\r\nabc",
			category: Proxy,
			text:     "(407)",
		},
		"403 to CONNECT": {connect: "HTTP/1.1 403 Forbidden\r\n\r\n", category: Proxy, text: "403"},
		"405 to CONNECT": {connect: "HTTP/1.1 405 No\r\n\r\n", category: Proxy, text: "405"},
		"302 to CONNECT": {
			connect:  "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n",
			category: Proxy,
			text:     "302",
		},
		"101 to CONNECT": {connect: "HTTP/1.1 101 Switching\r\n\r\n", category: Proxy, text: "101"},
		"500 to CONNECT": {
			connect:   "HTTP/1.1 500 No\r\n\r\n",
			category:  Connect,
			text:      "500",
			contacted: true,
		},
		"502 to CONNECT": {
			connect:   "HTTP/1.1 502 No\r\n\r\n",
			category:  Connect,
			text:      "502",
			contacted: true,
		},
		"503 to CONNECT": {
			connect:   "HTTP/1.0 503 No\r\n\r\n<html>",
			category:  Connect,
			text:      "503",
			contacted: true,
		},
		"504 to CONNECT": {
			connect:   "HTTP/1.1 504 No\r\n\r\n",
			category:  Connect,
			text:      "504",
			contacted: true,
		},
		"speaks first": {
			connect:  "HTTP/1.1 200 OK\r\n\r\nhello",
			category: Proxy,
			text:     "bytes of its own",
		},
		"no HTTP":        {connect: "SSH-2.0-x\r\n\r\n", category: Proxy, text: "HTTP/1"},
		"half an answer": {connect: "HTTP/1.1 200 O", category: Proxy, text: "EOF"},
		"huge head": {
			connect:  "HTTP/1.1 200 OK\r\nA: " + repeat("x", 70<<10) + "\r\n\r\n",
			category: Proxy,
			text:     "65536",
		},
		"interim flood": {
			connect:  repeat("HTTP/1.1 100 C\r\n\r\n", 5000),
			category: Proxy,
			text:     "65536",
		},
		"squid, DNS": {
			absolute:  "HTTP/1.1 503 No\r\nX-Squid-Error: ERR_DNS_FAIL 0\r\nContent-Length: 0\r\n\r\n",
			category:  DNS,
			text:      "ERR_DNS_FAIL",
			contacted: true,
		},
		"squid, connect": {
			absolute:  "HTTP/1.1 503 No\r\nX-Squid-Error: ERR_CONNECT_FAIL 111\r\nContent-Length: 0\r\n\r\n",
			category:  Connect,
			contacted: true,
		},
		"squid, read": {
			absolute:  "HTTP/1.1 504 No\r\nX-Squid-Error: ERR_READ_TIMEOUT 0\r\nContent-Length: 0\r\n\r\n",
			category:  Timeout,
			contacted: true,
		},
		"squid, refusal": {
			absolute:  "HTTP/1.1 403 No\r\nX-Squid-Error: ERR_ACCESS_DENIED 0\r\nContent-Length: 0\r\n\r\n",
			category:  Other,
			text:      "ERR_ACCESS_DENIED",
			contacted: true,
		},
		"status, DNS": {absolute: "HTTP/1.1 502 No\r\nProxy-Status: a; error=http_protocol_error, " +
			"b;error=dns_timeout;rcode=\"x, y\"\r\nContent-Length: 0\r\n\r\n", category: DNS,
			contacted: true},
		"status, connect": {
			absolute: "HTTP/1.1 502 No\r\nProxy-Status: p; error=connection_refused\r\n" +
				"Content-Length: 0\r\n\r\n",
			category:  Connect,
			contacted: true,
		},
		"status, time": {absolute: "HTTP/1.1 504 No\r\nProxy-Status: p; error=http_response_timeout\r\n" +
			"Content-Length: 0\r\n\r\n", category: Timeout, contacted: true},
	} {
		for _, scheme := range []string{"http", "https"} {
			answer := map[string]string{"http": c.absolute, "https": c.connect}[scheme]
			if answer == "" {
				continue
			}
			t.Run(name+" "+scheme, func(t *testing.T) {
				t.Parallel()
				p := newFakeProxy(t, always(answer))
				f := newFetcher(t, Options{})
				r := ask(t, scheme, closedport.Reserve(t).Addr, "/")
				r.Proxies = by(t, "http://"+p.addr)
				_, err := f.Do(t.Context(), r)
				e := wantCategory(t, err, c.category)
				if !strings.Contains(e.Error(), c.text) ||
					!strings.Contains(e.Error(), "http://"+p.addr) ||
					e.Contacted != c.contacted ||
					e.Reused {
					t.Errorf("%+v: %v", e, e)
				}
				failing := len(f.FailingProxies(time.Now())) == 1
				if failing != (c.category == Proxy) || (e.RetryAfter >= time.Second) != failing {
					t.Errorf("the proxy is failing: %v, retry after %v", failing, e.RetryAfter)
				}
				if n := f.IdleConns(); n != 0 && c.category == Proxy {
					t.Errorf("%d connections kept", n)
				}
			})
		}
	}
}

// TestNoMessageOfTheProxy: answers of a server that look like those of a proxy are its own.
func TestNoMessageOfTheProxy(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nX-Squid-Error: ERR_DNS_FAIL 0\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 403 No\r\nX-Squid-Error: ERR_WHATEVER\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 404 No\r\nProxy-Status: cdn; error=dns_error\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 502 No\r\nProxy-Status: cdn; error=dns_error, near\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 502 No\r\nProxy-Status: cdn; details=\"; error=dns_error\"\r\nContent-Length: 0\r\n" +
			"\r\n",
		"HTTP/1.1 500 No\r\nProxy-Status: cdn; error=proxy_internal_error\r\nContent-Length: 0\r\n\r\n",
		// Apache httpd, of a name that it cannot resolve. It says so for a server behind it too.
		"HTTP/1.1 500 Proxy Error\r\nServer: Apache\r\nContent-Length: 58\r\nConnection: close\r\n\r\n" +
			"Reason: <strong>DNS lookup failure for: localhost</strong>",
	} {
		p := newFakeProxy(t, always(answer))
		r := ask(t, "http", "127.0.0.1:8099", "/")
		r.Proxies = by(t, "http://"+p.addr)
		mustDo(t, newFetcher(t, Options{}), r).Release()
	}
}

// TestProxyIsAway: nobody listens, the listener never answers, the connection ends without an
// answer.
func TestProxyIsAway(t *testing.T) {
	t.Parallel()
	ends := newRawServer(t, func(_ *rawServer, _ net.Conn, r *bufio.Reader) { http.ReadRequest(r) })
	other := newRawServer(t, func(_ *rawServer, c net.Conn, r *bufio.Reader) { // another protocol
		http.ReadRequest(r)
		io.WriteString(c, "\x04\xff")
	})
	for name, addr := range map[string]string{
		"closed": closedport.Reserve(t).Addr,
		"stalls": silentServer(t).addr,
		"ends":   ends.addr,
		"other":  other.addr,
	} {
		for _, kind := range []string{"http", "https", "socks5"} {
			for _, scheme := range []string{"http", "https"} {
				t.Run(name+" "+kind+" "+scheme, func(t *testing.T) {
					t.Parallel()
					f := newFetcher(t, brief)
					r := ask(t, scheme, "127.0.0.1:8099", "/")
					r.Proxies = by(t, kind+"://"+addr)
					_, err := f.Do(t.Context(), r)
					e := wantCategory(t, err, Proxy)
					sent := kind == "http" && scheme == "http" && name != "closed"
					if e.Contacted != sent || e.RetryAfter < 900*time.Millisecond ||
						e.RetryAfter > time.Second {
						t.Errorf("%+v: %v", e, e)
					}
					if failing := f.FailingProxies(time.Now()); len(failing) != 1 ||
						failing[0].Proxy != r.Proxies[0] ||
						failing[0].Failures != 1 {
						t.Errorf("failing: %+v", failing)
					}
					_, err = f.Do(t.Context(), r) // at once: nothing is tried
					if e := wantCategory(t, err, Proxy); e.Contacted ||
						!strings.Contains(e.Error(), "no proxy may be tried") {
						t.Errorf("%+v: %v", e, e)
					}
				})
			}
		}
	}
}

// TestServerStallsBehindProxy: a server that does not answer makes no proxy look broken, which
// still answers for itself.
func TestServerStallsBehindProxy(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	stalls := newFakeProxy(t, func(*http.Request) string { <-hold; return "-" })
	var end atomic.Bool
	ends := newRawServer(t, func(_ *rawServer, c net.Conn, r *bufio.Reader) {
		if req, err := http.ReadRequest(r); err == nil && req.Method == http.MethodOptions &&
			req.Header.Get("Max-Forwards") == "0" {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			end.Store(true)
		}
	})
	for _, c := range []struct {
		addr, scheme string
		want         Category
	}{
		{stalls.addr, "http", Timeout}, {stalls.addr, "https", Connect}, {ends.addr, "http", Protocol}, {ends.addr, "https", Connect},
	} {
		// A proxy that is asked whether it answers has five seconds.
		f := newFetcher(t, Options{ConnectTimeout: 10 * time.Second, HeadTimeout: 3 * time.Second})
		r := ask(t, c.scheme, "127.0.0.1:8099", "/")
		r.Proxies = by(t, "http://"+c.addr)
		_, err := f.Do(t.Context(), r)
		if e := wantCategory(t, err, c.want); !e.Contacted ||
			len(f.FailingProxies(time.Now())) != 0 {
			t.Errorf("%s: %+v: %v", c.scheme, e, e)
		}
	}
	if !end.Load() {
		t.Error("the proxy was not asked whether it answers")
	}
}

// TestSeveralProxies: they take turns, and a request that a broken one has not taken goes to the
// next one at once, once.
func TestSeveralProxies(t *testing.T) {
	t.Parallel()
	one, two := newFakeProxy(t, always(page("1"))), newFakeProxy(t, always(page("2")))
	f := newFetcher(t, Options{})
	r := ask(t, "http", "127.0.0.1:8099", "/")
	do := func() string { return string(mustDo(t, f, r).Body) }
	r.Proxies = by(
		t,
		"http://"+one.addr,
		"http://"+closedport.Reserve(t).Addr,
		"socks5://"+closedport.Reserve(t).Addr,
		"http://"+two.addr,
	)
	got := ""
	for range 6 {
		got += do()
	}
	if strings.Count(got, "1") < 2 || strings.Count(got, "2") < 2 ||
		one.requests.Load()+two.requests.Load() != 6 {
		t.Errorf("answers %s, %d and %d requests", got, one.requests.Load(), two.requests.Load())
	}
	if n := len(f.FailingProxies(time.Now())); n != 2 {
		t.Errorf("%d proxies are failing, want 2", n)
	}
	// A refusal is no reason to leave out a proxy that works for others, and the next one is asked.
	no := newFakeProxy(t, func(r *http.Request) string {
		if r.Method == http.MethodConnect {
			return "HTTP/1.1 403 No\r\n\r\n"
		}
		return page("3")
	})
	r.Proxies = by(t, "http://"+no.addr)
	if got := do(); got != "3" {
		t.Errorf("answer %s", got)
	}
	s := ask(t, "https", "127.0.0.1:8099", "/")
	s.Proxies = r.Proxies
	_, err := f.Do(t.Context(), s)
	if e := wantCategory(t, err, Proxy); !e.RefusedByProxy() || e.RetryAfter != refusedWait ||
		len(f.FailingProxies(time.Now())) != 2 ||
		do() != "3" {
		t.Errorf("%+v, failing %v", e, f.FailingProxies(time.Now()))
	}
	// A request that a proxy may have passed on is not made again by another one.
	mute := newFakeProxy(t, nil)
	mute.rawServer = silentServer(t)
	g := newFetcher(t, brief)
	r.Proxies = by(t, "http://"+mute.addr, "http://"+one.addr)
	before := one.requests.Load()
	_, err = g.Do(t.Context(), r)
	if e := wantCategory(t, err, Proxy); !e.Contacted || e.RetryAfter != time.Second ||
		one.requests.Load() != before {
		t.Errorf("%+v, %d requests to the other", e, one.requests.Load()-before)
	}
}

// TestAddressRulesBehindProxy: no proxy is asked for an address that must not be connected to, and
// one that is kept is not used for it.
func TestAddressRulesBehindProxy(t *testing.T) {
	t.Parallel()
	p := newFakeProxy(t, always(page("x")))
	var calls, allowed atomic.Int64
	f := newFetcher(
		t,
		Options{Allowed: func(netip.Addr) bool { return calls.Add(1) <= allowed.Load() }},
	)
	for _, kind := range []string{"http", "https", "socks5"} {
		for _, scheme := range []string{"http", "https"} {
			r := ask(t, scheme, "10.0.0.1:80", "/")
			r.Proxies = by(t, kind+"://"+p.addr)
			_, err := f.Do(t.Context(), r)
			wantCategory(t, err, BlockedAddress)
		}
	}
	// The rules change while the proxy is dialled: when Do and dial have asked.
	calls.Store(0)
	allowed.Store(2)
	r := ask(t, "https", "10.0.0.1:80", "/")
	r.Proxies = by(t, "http://"+p.addr)
	_, err := f.Do(t.Context(), r)
	wantCategory(t, err, BlockedAddress)
	if n := p.requests.Load(); n != 0 || len(f.FailingProxies(time.Now())) != 0 {
		t.Errorf("the proxy got %d requests", n)
	}
}

// TestProxyCredentials: what the secret lacks is told, and never the secret.
func TestProxyCredentials(t *testing.T) {
	t.Parallel()
	p := newFakeProxy(t, always(page("x")))
	for name, c := range map[string]struct {
		user func(string) (string, bool)
		want string
	}{
		"no secrets": {nil, "--secrets"},
		"missing":    {func(string) (string, bool) { return "", false }, "secret one"},
		"no colon":   {func(string) (string, bool) { return "hunter2", true }, "user:password"},
		"no user":    {func(string) (string, bool) { return ":hunter2", true }, "user:password"},
		"a line end": {func(string) (string, bool) { return "me:hunter2\r\nEvil: 1", true },
			"user:password"},
		"too long": {func(string) (string, bool) { return "me:" + repeat("hunter2", 40), true }, "255"},
	} {
		r := ask(t, "http", "127.0.0.1:8099", "/")
		r.Proxies, r.ProxyUser = by(t, "socks5://secret:one@"+p.addr), c.user
		_, err := newFetcher(t, Options{}).Do(t.Context(), r)
		if e := wantCategory(t, err, Proxy); !strings.Contains(e.Error(), c.want) ||
			strings.Contains(e.Error(), "hunter2") ||
			e.Contacted {
			t.Errorf("%s: %v", name, e)
		}
	}
	if n := p.conns.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// TestProxyIsCancelled: the caller's own end of a fetch is no failure of the proxy.
func TestProxyIsCancelled(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"http", "https", "socks5"} {
		for _, scheme := range []string{"http", "https"} {
			ctx, cancel := context.WithCancel(t.Context())
			s := newRawServer(
				t,
				func(_ *rawServer, _ net.Conn, r *bufio.Reader) {
					r.ReadByte()
					cancel()
					io.Copy(io.Discard, r)
				},
			)
			f := newFetcher(t, Options{})
			r := ask(t, scheme, "127.0.0.1:8099", "/")
			r.Proxies = by(t, kind+"://"+s.addr)
			_, err := f.Do(ctx, r)
			if !errors.Is(err, context.Canceled) || len(f.FailingProxies(time.Now())) != 0 {
				t.Errorf(
					"%s over %s: %v, failing %v",
					scheme,
					kind,
					err,
					f.FailingProxies(time.Now()),
				)
			}
			cancel()
		}
	}
}

// TestSlowProxyHead: a proxy that sends its answer byte by byte has the time of a connection for
// it.
func TestSlowProxyHead(t *testing.T) {
	t.Parallel()
	s := newRawServer(t, func(_ *rawServer, c net.Conn, r *bufio.Reader) {
		http.ReadRequest(r)
		for io.WriteString(c, "HTTP/1.1 200 OK\r\nA: "); ; {
			if _, err := c.Write([]byte("a")); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	r := ask(t, "https", "127.0.0.1:8099", "/")
	r.Proxies = by(t, "http://"+s.addr)
	_, err := newFetcher(t, brief).Do(t.Context(), r)
	if e := wantCategory(t, err, Proxy); !isTimeout(e) {
		t.Errorf("%v", e)
	}
}

// TestSignedBehindProxy: the signature is of the host, however the request is sent, and with
// headers.
func TestSignedBehindProxy(t *testing.T) {
	t.Parallel()
	key := botauth.NewKey([32]byte{1})
	agent, err := botauth.ParseAgent("https://bot.example")
	if err != nil {
		t.Fatal(err)
	}
	p := newFakeProxy(t, always(""))
	for _, scheme := range []string{"http", "https"} {
		got := make(chan *http.Request, 1)
		srv := httptest.NewUnstartedServer(
			http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r }),
		)
		if scheme == "https" {
			srv.EnableHTTP2 = true
			srv.StartTLS()
		} else {
			srv.Start()
		}
		t.Cleanup(srv.Close)
		f := newFetcher(t, Options{Signer: botauth.NewSigner(key, agent), TLSRecord: true})
		r := ask(t, scheme, srv.Listener.Addr().String(), "/a")
		r.Proxies, r.Headers = by(t, "http://"+p.addr), []Header{{Name: "X-A", Value: "b"}}
		mustDo(t, f, r).Release()
		q := <-got
		checkSignature(t, key, srv.Listener.Addr().String(), q.Header)
		if q.Header.Get("X-A") != "b" {
			t.Errorf("%s: %v", scheme, q.Header)
		}
	}
}

// TestDialProxy: the dialer for proxies is another one than that for servers.
func TestDialProxy(t *testing.T) {
	t.Parallel()
	p := newFakeProxy(t, always(page("x")))
	var dialled string
	f := newFetcher(
		t,
		Options{DialProxy: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialled = addr
			return new(net.Dialer).DialContext(ctx, network, p.addr)
		}},
	)
	r := ask(t, "http", "127.0.0.1:8099", "/")
	r.Proxies = by(t, "http://proxy.example:3128")
	if mustDo(t, f, r); dialled != "proxy.example:3128" {
		t.Errorf("dialled %s", dialled)
	}
}

// TestProxyDenied: a proxy whose address the node never connects to fails, whatever its name is.
func TestProxyDenied(t *testing.T) {
	t.Parallel()
	p := newFakeProxy(t, always(page("x")))
	f := newFetcher(t, Options{ProxyDenied: func(at netip.AddrPort) error {
		if at.Addr() == netip.MustParseAddr("127.0.0.1") {
			return errors.New("it is in --deny-net")
		}
		return nil
	}})
	r := ask(t, "http", "127.0.0.1:8099", "/")
	r.Proxies = by(t, "http://"+p.addr)
	_, err := f.Do(t.Context(), r)
	var failure *Error
	if !errors.As(err, &failure) || failure.Category != Proxy ||
		!strings.Contains(err.Error(), "--deny-net") {
		t.Errorf("a denied proxy: %v", err)
	}
}

// FuzzProxyAnswer reads arbitrary bytes as what a proxy says, of HTTP and of SOCKS.
func FuzzProxyAnswer(f *testing.F) {
	for _, s := range []string{
		"", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 407 No\r\n\r\n",
		"\r\n\r\nHTTP/1.1 200 \n\n", "HTTP/1.1 200 OK\n\nx",
		"\x05\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x02\x01\x00\x05\x05\x00\x01",
		"\x05\xff", "\x05\x00\x05\x00\x00\x03\xff",
		"HTTP/1.1 503 No\r\nProxy-Status: a; error=dns_error\r\nContent-Length: 0\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		for _, kind := range []string{"http", "socks5"} {
			for _, scheme := range []string{"http", "https"} {
				fetch := New(
					Options{
						Allowed: loopback,
						MaxBody: 64 << 10,
						DialProxy: func(context.Context, string, string) (net.Conn, error) {
							c := new(scripted)
							c.answer.Reset(answer)
							return c, nil
						},
					},
				)
				r := ask(t, scheme, "127.0.0.1:80", "/")
				r.Proxies, r.ProxyUser = by(t, kind+"://secret:one@127.0.0.1:1"), login
				resp, err := fetch.Do(context.Background(), r)
				var e *Error
				if err == nil {
					resp.Release()
				} else if !errors.As(err, &e) || strings.Contains(err.Error(), "pass:word") ||
					(e.Category == Proxy) != (e.RetryAfter >= time.Second) {
					t.Fatalf("%s over %s: %v (%+v)", scheme, kind, err, e)
				}
				fetch.Close()
			}
		}
	})
}

// FuzzProxyStatus: the type of error is one word, whatever stands around it.
func FuzzProxyStatus(f *testing.F) {
	for _, s := range []string{"", "a; error=dns_error", `a; b="\"; error=x"; error=y, c`,
		"a;error=;,", `a;b="`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := proxyStatus([]string{s}); len(got) > len(s) || strings.ContainsAny(got, ",;") {
			t.Fatalf("%q has %q", s, got)
		}
	})
}

func TestSourceAddress(t *testing.T) {
	t.Parallel()
	from := make(chan string, 1)
	srv := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { from <- r.RemoteAddr }),
	)
	t.Cleanup(srv.Close)
	f := newFetcher(t, Options{})
	r := ask(t, "http", srv.Listener.Addr().String(), "/")
	for i, source := range []string{"127.0.0.7", "127.0.0.8", "::ffff:127.0.0.8"} {
		r.Source = netip.MustParseAddr(source)
		resp := mustDo(t, f, r)
		if got := <-from; !strings.HasPrefix(got, strings.TrimPrefix(source, "::ffff:")+":") ||
			resp.Reused != (i == 2) {
			t.Errorf("from %s, want %s; reused %v", got, source, resp.Reused)
		}
		resp.Release()
	}
	for source, want := range map[string]string{
		"::1":       "source address ::1 is IPv6, the host's address is IPv4",
		"192.0.2.1": "source address 192.0.2.1: bind: ",
	} {
		r.Source = netip.MustParseAddr(source)
		_, err := f.Do(t.Context(), r)
		if e := wantCategory(t, err, Other); !strings.Contains(e.Error(), want) || e.Contacted {
			t.Errorf("%s: %v", source, e)
		}
	}
	r = ask(t, "http", "[::1]:80", "/")
	r.Source = netip.MustParseAddr("192.0.2.1")
	_, err := f.Do(t.Context(), r)
	if e := wantCategory(t, err, Other); e.Err.Error() !=
		"source address 192.0.2.1 is IPv4, the host's address is IPv6" {
		t.Errorf("%v", e)
	}
	// To a proxy, it is the address of the connection to that.
	var got net.Addr
	p := newRawServer(t, func(_ *rawServer, c net.Conn, r *bufio.Reader) {
		http.ReadRequest(r)
		got = c.RemoteAddr()
		io.WriteString(c, page("x"))
	})
	r.Source, r.Proxies = netip.MustParseAddr("127.0.0.9"), by(t, "http://"+p.addr)
	if mustDo(t, f, r); !strings.HasPrefix(fmt.Sprint(got), "127.0.0.9:") {
		t.Errorf("from %v to the proxy", got)
	}
	g := newFetcher(
		t,
		Options{
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("no")
			},
		},
	)
	r.Proxies = nil
	_, err = g.Do(t.Context(), r)
	wantCategory(t, err, Other)
}
