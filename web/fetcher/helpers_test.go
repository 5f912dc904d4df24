package fetcher

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"crawlnode/web/urlnorm"
)

// aGet tells http.ReadResponse which request it reads the answer of.
var aGet = &http.Request{Method: http.MethodGet}

// loopback allows the addresses that tests connect to.
func loopback(a netip.Addr) bool { return a.IsLoopback() }

func newFetcher(t testing.TB, o Options) *Fetcher {
	t.Helper()
	if o.Allowed == nil {
		o.Allowed = loopback
	}
	if o.UserAgent == "" {
		o.UserAgent = "crawlnode/test"
	}
	f := New(o)
	t.Cleanup(f.Close)
	return f
}

// ask makes a Request for path on the server that listens at addr.
func ask(t testing.TB, scheme, addr, path string) Request {
	t.Helper()
	u, err := urlnorm.Parse(scheme + "://" + addr + path)
	if err != nil {
		t.Fatal(err)
	}
	return Request{URL: u, Addr: netip.MustParseAddrPort(addr).Addr()}
}

// rawServer answers with the bytes that a test wants. talk is called with each connection; the
// requests that it reads are counted.
type rawServer struct {
	addr     string
	conns    atomic.Int64
	requests atomic.Int64
}

func newRawServer(t testing.TB, talk func(s *rawServer, c net.Conn, r *bufio.Reader)) *rawServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	s := &rawServer{addr: ln.Addr().String()}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			go func() {
				defer c.Close()
				talk(s, c, bufio.NewReader(c))
			}()
		}
	}()
	return s
}

// request reads one request and counts it.
func (s *rawServer) request(r *bufio.Reader) bool {
	req, err := http.ReadRequest(r)
	if err != nil {
		return false
	}
	io.Copy(io.Discard, req.Body)
	s.requests.Add(1)
	return true
}

// says makes a server that sends the same bytes to every request and closes the connection.
func says(t testing.TB, answer string) *rawServer {
	return newRawServer(t, func(s *rawServer, c net.Conn, r *bufio.Reader) {
		if s.request(r) {
			io.WriteString(c, answer)
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, r) // so that unread bytes do not reset the connection
		}
	})
}

func wantCategory(t testing.TB, err error, want Category) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want an *Error of category %v", err, err, want)
	}
	if e.Category != want {
		t.Fatalf("category %v (%v), want %v", e.Category, err, want)
	}
	return e
}

func mustDo(t testing.TB, f *Fetcher, r Request) *Response {
	t.Helper()
	resp, err := f.Do(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func page(body string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: " + itoa(len(body)) +
		"\r\n\r\n" + body
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

func repeat(s string, n int) string { return strings.Repeat(s, n) }

func newReader(b []byte) *bufio.Reader { return bufio.NewReader(strings.NewReader(string(b))) }
