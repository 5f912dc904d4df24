package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hidden is the request that an attacker wants this server to see, but not a proxy before it.
const hidden = "POST /api/v1/crawl/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"

// TestSmuggledRequests sends bytes that a proxy and a server could read as different numbers of
// requests. Nothing after such a request is served on its connection.
func TestSmuggledRequests(t *testing.T) {
	t.Parallel()
	const seeds = "POST /api/v1/seeds HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
	chunked := "5\r\nftp:x\r\n0\r\n\r\n"
	for _, c := range []struct {
		name, request string
		codes         string // of all answers until the server closes
	}{
		{"CL and TE", seeds + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, "200"},
		{"TE and CL", seeds + "Transfer-Encoding: chunked\r\nContent-Length: 200\r\n\r\n" + chunked, "200"},
		{"TE alone", seeds + "Transfer-Encoding: chunked\r\n\r\n" + chunked, "200"},
		{"two CLs", seeds + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nftp:x", "400"},
		{"a list of CLs", seeds + "Content-Length: 5, 6\r\n\r\nftp:x", "400"},
		{"CL with a sign", seeds + "Content-Length: +5\r\n\r\nftp:x", "400"},
		{"a negative CL", seeds + "Content-Length: -5\r\n\r\nftp:x", "400"},
		{"a hexadecimal CL", seeds + "Content-Length: 0x5\r\n\r\nftp:x", "400"},
		{"two TEs", seeds + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + chunked, "501"},
		{"a list of TEs", seeds + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked, "501"},
		{"another TE", seeds + "Transfer-Encoding: xchunked\r\n\r\n" + chunked, "501"},
		{"a space before the colon", seeds + "Transfer-Encoding : chunked\r\n\r\n" + chunked, "400"},
		{"a folded TE", seeds + "Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\n" + chunked, "200"},
		{"a folded CL", seeds + "Content-Length: 5\r\n 6\r\n\r\nftp:x", "400"},
		{"a fold before all headers", "POST /api/v1/seeds HTTP/1.1\r\n Host: localhost\r\nContent-Length: 0\r\n\r\n", "400"},
		{"a bare CR in a header", seeds + "X: a\rTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nftp:x", "400"},
		{"a NUL in a header", seeds + "X: a\x00b\r\nContent-Length: 5\r\n\r\nftp:x", "400"},
		{"a bare LF after a chunk's size", seeds + "Transfer-Encoding: chunked\r\n\r\n5\nftp:x\r\n0\r\n\r\n", "400"},
		{"a bare LF in a chunk's extension", seeds + "Transfer-Encoding: chunked\r\n\r\n5;a\nftp:x\r\n0\r\n\r\n", "400"},
		{"a chunk without its end", seeds + "Transfer-Encoding: chunked\r\n\r\n5\r\nftp:xx\r\n0\r\n\r\n", "400"},
		{"a chunk's size with a sign", seeds + "Transfer-Encoding: chunked\r\n\r\n+5\r\nftp:x\r\n0\r\n\r\n", "400"},
		{"a chunk's size beyond 64 bits", seeds + "Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nftp:x\r\n0\r\n\r\n", "400"},
		{"a chunk's extension", seeds + "Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nftp:x\r\n0\r\n\r\n", "200"},
		{"a chunk's endless extension", seeds + "Transfer-Encoding: chunked\r\n\r\n5;" +
			strings.Repeat("a", 8<<10) + "\r\nftp:x\r\n0\r\n\r\n", "400"},
		{"chunks of a byte with long extensions", seeds + "Transfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("1;"+strings.Repeat("a", 1000)+"\r\nx\r\n", 100) + "0\r\n\r\n", "400"},
		{"two Hosts", "POST /api/v1/seeds HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n", "400"},
		{"no Host", "POST /api/v1/seeds HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "400"},
		{"TE in HTTP/1.0", "POST /api/v1/seeds HTTP/1.0\r\nHost: localhost\r\n" +
			"Connection: keep-alive\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n" +
			"Content-Length: 5\r\n\r\nftp:x", "200"},
		{"HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "403"},
		{"HTTP/0.9", "GET /livez\r\n\r\n", "400"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			node := &fakeNode{}
			codes := exchange(t, New(node, Options{}), c.request+hidden)
			if codes == wasReset && c.codes != "200" { // its answer was lost
				codes = c.codes
			}
			if codes != c.codes || len(node.orders) != 0 {
				t.Errorf("answers %s, want %s; orders %v", codes, c.codes, node.orders)
			}
		})
	}
}

// TestBodiesAreNoRequests: bytes within a length are a body, and bytes after it are a request of
// their own. So the cases above could fail.
//
//race:meets
func TestBodiesAreNoRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request, codes string
		orders         int
	}{
		{"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden, "200", 0},
		{"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n" + hidden, "200 200", 1},
		// RFC 9112 lets a line end in LF
		{"GET /livez HTTP/1.1\nHost: localhost\n\n" + hidden, "200 200", 1},
	} {
		node := &fakeNode{}
		if codes := exchange(t, New(node, Options{}), c.request); codes != c.codes ||
			len(node.orders) != c.orders {
			t.Errorf("%q: answers %s, want %s; orders %v", c.request, codes, c.codes, node.orders)
		}
	}
}

// wasReset is what exchange returns when the server's reset came before its answer was read.
const wasReset = "reset"

// exchange sends bytes to a server of its own and returns the codes of all answers until the server
// closes the connection, which takes a time-out only if all was well.
func exchange(t *testing.T, h http.Handler, request string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, h) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil && !errors.Is(err, syscall.EPIPE) &&
		!errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	// The server sees the end and closes. It may have reset the connection already, because it does
	// not read after a bad request.
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil && !errors.Is(err, syscall.ENOTCONN) {
		t.Fatal(err)
	}
	var codes []string
	for in := bufio.NewReader(conn); ; {
		resp, err := http.ReadResponse(in, nil)
		if errors.Is(err, syscall.ECONNRESET) && len(codes) == 0 {
			return wasReset
		}
		if err != nil {
			return strings.Join(codes, " ")
		}
		codes = append(codes, fmt.Sprint(resp.StatusCode))
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return strings.Join(codes, " ") + " cut"
		}
	}
}
