package fetcher

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestLenientHead: what is right is what Chromium does, with which TestHeadsAsBrowsersReadThem
// (integration) compares heads of these kinds; RFC 9112 says when a connection is kept, and what
// cannot be in an archive is blank there.
func TestLenientHead(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	const end = "Content-Length: 3\r\n\r\nabc"
	for _, c := range []struct {
		name, answer, head string
		status             int
		header             string // "Name=value" of one that must be there
		body               string
		keep               bool
	}{
		{"a line without a colon", ok + "nonsense\r\nA: b\r\n" + end, ok + "A: b\r\nContent-Length: 3\r\n\r\n", 200, "A=b", "abc", false},
		{"it goes on", ok + "nonsense\r\n more: x\r\nA: b\r\n" + end, ok + "A: b\r\nContent-Length: 3\r\n\r\n", 200, "A=b", "abc", false},
		{"it comes first, indented", ok + " x: y\r\nA: b\r\n" + end, ok + "A: b\r\nContent-Length: 3\r\n\r\n", 200, "A=b", "abc", false},
		{"a blank in a name", ok + "A b: c\r\n: x\r\n" + end, ok + "Content-Length: 3\r\n\r\n", 200, "", "abc", false},
		{"a blank before the colon", "HTTP/1.1 302 Found\r\nLocation : /x\r\nContent-Length: 0\r\n\r\n",
			"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", 302, "Location=/x", "",
			false},
		{"a tab before the colon", ok + "A\t:b\r\n" + end, ok + "A:b\r\nContent-Length: 3\r\n\r\n", 200, "A=b", "abc", false},
		{"folded", ok + "A: b\r\n\tc\r\n" + end, ok + "A: b\r\n\tc\r\nContent-Length: 3\r\n\r\n", 200, "A=b c", "abc", false},
		{"line feeds", "HTTP/1.1 200 OK\nA: b\n" + strings.ReplaceAll(end, "\r", ""),
			ok + "A: b\r\nContent-Length: 3\r\n\r\n", 200, "A=b", "abc", true},
		{"a NUL", ok + "A: b\x00c\r\n" + end, ok + "A: b c\r\nContent-Length: 3\r\n\r\n", 200, "A=b c", "abc", false},
		{"bytes beyond ASCII", ok + "A: caf\xe9\r\n" + end, ok + "A: caf\xe9\r\nContent-Length: 3\r\n\r\n", 200, "A=caf\xe9", "abc", true},
		{"no reason", "HTTP/1.1 200\r\n" + end, "HTTP/1.1 200 \r\nContent-Length: 3\r\n\r\n", 200, "", "abc", true},
		{"more blanks", "HTTP/1.1  200   Fine\r\n" + end, "HTTP/1.1 200 Fine\r\nContent-Length: 3\r\n\r\n", 200, "", "abc", true},
		{"no blank", "HTTP/1.1 200OK\r\n" + end, ok + "Content-Length: 3\r\n\r\n", 200, "", "abc", true},
		{"lower case", "http/1.1 200 OK\r\n" + end, ok + "Content-Length: 3\r\n\r\n", 200, "", "abc", true},
		{"HTTP/2 in text", "HTTP/2 200\r\n" + end, "HTTP/1.1 200 \r\nContent-Length: 3\r\n\r\n", 200, "", "abc", false},
		{"line ends before it", "\r\n\r\n" + ok + end, ok + "Content-Length: 3\r\n\r\n", 200, "", "abc", true},
		{"junk before it", "\xef\xbb\xbf" + ok + end, ok + "Content-Length: 3\r\n\r\n", 200, "", "abc", false},
		{"a list of equal lengths", ok + "Content-Length: 3, 3\r\n\r\nabc",
			ok + "Content-Length: 3\r\n\r\n", 200, "Content-Length=3", "abc", true},
		{"equal lengths", ok + "Content-Length: 3\r\nA: b\r\ncontent-length: 3\r\n\r\nabc",
			ok + "Content-Length: 3\r\nA: b\r\n\r\n", 200, "Content-Length=3", "abc", false},
		{"a negative length", ok + "Content-Length: -3\r\n\r\nabcd", ok + "\r\n", 200, "", "abcd", false},
		{"a length in words", ok + "Content-Length: three\r\n\r\nabcd", ok + "\r\n", 200, "", "abcd", false},
		{"a length with a sign", ok + "Content-Length: +3\r\n\r\nabcd", ok + "\r\n", 200, "", "abcd", false},
		{"a huge length", ok + "Content-Length: 99999999999999999999\r\n\r\nabcd", ok + "\r\n", 200, "", "abcd", false},
		{"an empty length", ok + "Content-Length:\r\n\r\nabcd", ok + "\r\n", 200, "", "abcd", false},
		{"identity", ok + "Transfer-Encoding: identity\r\n\r\nabcd", ok + "\r\n", 200, "", "abcd", false},
		{"identity and a length", ok + "Transfer-Encoding: identity\r\n" + end, ok + "Content-Length: 3\r\n\r\n", 200, "", "abc", false},
		{"an unknown coding", ok + "Transfer-Encoding: x\r\n" + end, ok + "Content-Length: 3\r\n\r\n", 200, "", "abc", false},
		{"chunked twice", ok + "Transfer-Encoding: chunked, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", ok + "\r\n", 200, "", "abc", false},
		{"identity, chunked",
			ok + "Transfer-Encoding: identity\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
			ok + "\r\n", 200, "", "abc", false},
		{"chunked and a length",
			ok + "Transfer-Encoding: chunked\r\nContent-Length: 99\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
			ok + "\r\n", 200, "", "abc", false},
		{"chunks of HTTP/1.0",
			"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
			"HTTP/1.0 200 OK\r\n\r\n", 200, "", "3\r\nabc\r\n0\r\n\r\n", false},
		{"gzip, chunked", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n" +
			chunk(coded("gzip", []byte("abc"))) +
			"0\r\n\r\n", ok + "Content-Encoding: gzip\r\n\r\n", 200, "Content-Encoding=gzip", "abc", false},
		{"chunks with line feeds", ok + "Transfer-Encoding: chunked\r\n\r\n3 \nabc\n0\n\n", ok + "\r\n", 200, "", "abc", true},
		{"HTTP/1.0, kept", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n" + end,
			"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 3\r\n\r\n", 200, "", "abc", true},
		{"bytes behind the payload", ok + end + "HTTP/1.1 200 OK\r\n\r\n", ok + "Content-Length: 3\r\n\r\n", 200, "", "abc", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := says(t, c.answer)
			f := newFetcher(t, Options{})
			resp := mustDo(t, f, ask(t, "http", srv.addr, "/"))
			defer resp.Release()
			if resp.Status != c.status || string(resp.Body) != c.body ||
				string(resp.ResponseHead) != c.head || resp.Truncated != "" {
				t.Errorf("status %d, body %q, cut %q, head %q, want %q", resp.Status, resp.Body, resp.Truncated,
					resp.ResponseHead, c.head)
			}
			if name, value, ok := strings.Cut(c.header, "="); ok && resp.Header.Get(name) != value {
				t.Errorf("header %v, want %s", resp.Header, c.header)
			}
			if kept := f.IdleConns() == 1; kept != c.keep {
				t.Errorf("connection kept: %t, want %t", kept, c.keep)
			}
		})
	}
}

func chunk(b []byte) string { return fmt.Sprintf("%x\r\n%s\r\n", len(b), b) }

// TestManyFolds: a field of many lines takes time in proportion to its size.
func TestManyFolds(t *testing.T) {
	raw := []byte("HTTP/1.1 200 OK\r\nA: b\r\n" + repeat(" c\n", 80_000) + "\r\n")
	if n := testing.AllocsPerRun(1, func() {
		if h, err := parseHead(raw); err != nil || len(h.header.Get("A")) != 1+2*80_000 {
			t.Errorf("%v", err)
		}
	}); n > 100 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzHead: a head is read whatever it holds, and net/http takes what is archived of it for the
// same answer.
func FuzzHead(f *testing.F) {
	for _, s := range []string{"A: b\r\n", "A\r\n", " a\n", "A : b\rc\n", "Content-Length: 1, 1\n",
		"Transfer-Encoding: gzip, chunked\n", "A:\x7f\n"} {
		f.Add([]byte("HTTP/1.1 200 OK\r\n" + s + "\r\n"))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := parseHead(raw)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(h.archive, []byte("\r\n\r\n")) ||
			bytes.Index(h.archive, []byte("\r\n\r\n")) != len(h.archive)-4 {
			t.Fatalf("archived %q", h.archive)
		}
		again, err := http.ReadResponse(newReader(h.archive), aGet)
		if err != nil || again.StatusCode != h.status || len(again.TransferEncoding) > 0 {
			t.Fatalf("archived %q of %q: %v", h.archive, raw, err)
		}
		for name, values := range h.header {
			if len(again.Header[name]) != len(values) {
				t.Fatalf("archived %q has %q, the header %q", h.archive, again.Header[name], values)
			}
		}
	})
}

// TestCutPayloads: what came is kept and marked, whatever ended it; nothing at all fails.
func TestCutPayloads(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	zipped := string(gzipped(t, []byte(repeat("abcdefgh ", 2000))))
	for name, c := range map[string]struct {
		answer, body string
		cut          Cut
		fails        bool
	}{
		"less than its length": {ok + "Content-Length: 9\r\n\r\nabc", "abc", CutDisconnect, false},
		"no last chunk":        {chunked + "3\r\nabc\r\n", "abc", CutDisconnect, false},
		"half a chunk":         {chunked + "ff\r\nabc", "abc", CutDisconnect, false},
		"a bad size later": {chunked + "3\r\nabc\r\nzz\r\nd\r\n0\r\n\r\n", "abc", CutDisconnect,
			false},
		"a negative size": {chunked + "3\r\nabc\r\n-1\r\nd", "abc", CutDisconnect, false},
		"no line end":     {chunked + "3\r\nabcdef", "abc", CutDisconnect, false},
		"a huge size": {chunked + "3\r\nabc\r\nffffffffffffffff1\r\nd", "abc", CutDisconnect,
			false},
		"chunks of little": {chunked + "3\r\nabc\r\n" + repeat("1;"+repeat("x", 4000)+"\r\na\r\n", 30),
			"", CutDisconnect, false},
		"half a gzip payload": {ok + "Content-Encoding: gzip\r\nContent-Length: 999\r\n\r\n" +
			zipped[:len(zipped)-12], "", CutDisconnect, false},
		"no end of the trailer": {chunked + "3\r\nabc\r\n0\r\nA: b\r\n", "abc", "", false},
		"nothing of its length": {ok + "Content-Length: 9\r\n\r\n", "", "", true},
		"no chunk":              {chunked, "", "", true},
		"a bad size at once":    {chunked + "x\r\n", "", "", true},
		"nothing of a redirect": {"HTTP/1.1 301 M\r\nLocation: /x\r\nContent-Length: 9\r\n\r\n", "",
			CutDisconnect, false},
		"nothing, without a claim": {ok + "\r\n", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := says(t, c.answer)
			f := newFetcher(t, Options{})
			r := ask(t, "http", srv.addr, "/")
			resp, err := f.Do(context.Background(), r)
			if c.fails {
				wantCategory(t, err,
					map[bool]Category{true: Protocol, false: Truncated}[name == "a bad size at once"])
				r.LastTry = true
				if resp = mustDo(t, f, r); resp.Truncated != CutDisconnect || resp.Status != 200 ||
					len(resp.Body) != 0 {
					t.Errorf("the last try: cut %q, status %d, %q", resp.Truncated, resp.Status, resp.Body)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Release()
			if resp.Truncated != c.cut || resp.DecodeErr != nil ||
				c.body != "" && string(resp.Body) != c.body {
				t.Errorf("cut %q, %v, body %q", resp.Truncated, resp.DecodeErr, resp.Body)
			}
			if strings.Contains(name, "gzip") && !strings.HasPrefix(string(resp.Body), "abcdefgh abc") {
				t.Errorf("decoded %q", resp.Body)
			}
			if f.IdleConns() != 0 {
				t.Error("the connection was kept")
			}
		})
	}
}

// untilRead closes read when what was read last ends with what.
type untilRead struct {
	net.Conn
	what string
	read chan struct{}
}

func (c *untilRead) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if strings.HasSuffix(string(p[:n]), c.what) {
		close(c.read)
	}
	return n, err
}

// TestReset: a connection that is reset inside the payload leaves what came.
func TestReset(t *testing.T) {
	t.Parallel()
	read := make(chan struct{})
	srv := newRawServer(t, func(s *rawServer, c net.Conn, r *bufio.Reader) {
		s.request(r)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
		<-read
		c.(*net.TCPConn).SetLinger(0)
	})
	f := newFetcher(t,
		Options{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &untilRead{Conn: c, what: "abc", read: read}, err
		}})
	r := ask(t, "http", srv.addr, "/")
	if resp := mustDo(t, f, r); resp.Truncated != CutDisconnect || string(resp.Body) != "abc" {
		t.Errorf("cut %q, %q", resp.Truncated, resp.Body)
	}
}

// TestClosesAtSecond: a server that ends each kept connection at its second request costs one
// request, which is reported as the connection's fault, and then gets a connection for each.
func TestClosesAtSecond(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(net.Conn){
		"close": func(net.Conn) {},
		"reset": func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := newRawServer(t, func(s *rawServer, c net.Conn, r *bufio.Reader) {
				if s.request(r) {
					io.WriteString(c, page("x"))
				}
				if s.request(r) {
					end(c)
				}
			})
			f := newFetcher(t, Options{})
			r := ask(t, "http", srv.addr, "/")
			mustDo(t, f, r).Release()
			_, err := f.Do(context.Background(), r)
			if e := wantCategory(t, err, Protocol); !e.Reused || !e.Contacted {
				t.Errorf("again %t, contacted %t", e.Reused, e.Contacted)
			}
			for range 5 {
				mustDo(t, f, r).Release()
			}
			if f.IdleConns() != 0 || srv.requests.Load() != 7 {
				t.Errorf("%d connections kept, %d requests", f.IdleConns(), srv.requests.Load())
			}
		})
	}
	srv := newRawServer(t, func(s *rawServer, c net.Conn, r *bufio.Reader) { s.request(r) })
	_, err := newFetcher(t, Options{}).Do(context.Background(), ask(t, "http", srv.addr, "/"))
	if e := wantCategory(t, err, Protocol); e.Reused {
		t.Error("a new connection without an answer is the server's fault")
	}
}

// TestQuirksAreBounded: the oldest is forgotten.
func TestQuirksAreBounded(t *testing.T) {
	t.Parallel()
	var q quirks
	for port := range maxQuirks + 10 {
		q.note(connKey{port: uint16(port)}, noReuse)
		q.note(connKey{port: uint16(port)}, noReuse)
	}
	q.note(connKey{port: 100}, onlyHTTP1)
	if len(q.known) != maxQuirks || q.has(connKey{port: 9}, noReuse) ||
		!q.has(connKey{port: 10}, noReuse) ||
		!q.has(connKey{port: 100}, onlyHTTP1) || !q.has(connKey{port: 100}, noReuse) ||
		q.has(connKey{port: 99}, onlyHTTP1) {
		t.Errorf("%d known", len(q.known))
	}
}
