package fetcher

import (
	"bufio"
	"net"
	"testing"
)

// TestReusedConnectionEnds: only a kept connection that ended without a byte of an answer is told
// as such. A new one that ends so, and an answer that began, are the server's failures.
func TestReusedConnectionEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first, second string // answers on one connection; then it is closed
		reset         bool   // the connection is reset, not closed
		kept, reused  bool   // there is a first answer; what the error must say
	}{
		"closed":             {first: page("one"), kept: true, reused: true},
		"reset":              {first: page("one"), reset: true, kept: true, reused: true},
		"half a status line": {first: page("one"), second: "HTTP/1.1 2", kept: true},
		"half a head": {
			first:  page("one"),
			second: "HTTP/1.1 200 OK\r\nA: b\r\n",
			kept:   true,
		},
		"no HTTP":                 {first: page("one"), second: "hello\r\n\r\n", kept: true},
		"new, closed":             {},
		"new, reset":              {reset: true},
		"new, half a status line": {second: "HTTP/1.1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := newRawServer(t, func(s *rawServer, c net.Conn, r *bufio.Reader) {
				if tc.kept && s.request(r) {
					_, _ = c.Write([]byte(tc.first))
				}
				if s.request(r) {
					_, _ = c.Write([]byte(tc.second))
				}
				if tcp, ok := c.(*net.TCPConn); ok && tc.reset {
					_ = tcp.SetLinger(0)
				}
				_ = c.Close()
			})
			f := newFetcher(t, Options{})
			if tc.kept {
				mustDo(t, f, ask(t, "http", srv.addr, "/1")).Release()
			}
			err := wantCategory(t, doErr(t, f, ask(t, "http", srv.addr, "/2")), Protocol)
			if err.Reused != tc.reused {
				t.Errorf("reused %v: %v", err.Reused, err)
			}
			if n, want := srv.requests.Load(), int64(1); !tc.kept && int64(n) != want {
				t.Errorf("%d requests, want %d", n, want)
			}
		})
	}
}

func doErr(t *testing.T, f *Fetcher, r Request) error {
	t.Helper()
	resp, err := f.Do(t.Context(), r)
	if err == nil {
		resp.Release()
		t.Fatal("there is an answer")
	}
	return err
}
