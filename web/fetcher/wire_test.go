package fetcher

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// scripted is a connection whose peer sends fixed bytes and then nothing. It needs no goroutine, so
// a fuzzer can make many.
type scripted struct {
	net.Conn // nil: what is not overridden is not called
	answer   bytes.Reader
	closed   bool
}

func (c *scripted) Read(p []byte) (int, error)      { return c.answer.Read(p) }
func (c *scripted) Write(p []byte) (int, error)     { return len(p), nil }
func (c *scripted) Close() error                    { c.closed = true; return nil }
func (c *scripted) SetDeadline(time.Time) error     { return nil }
func (c *scripted) SetReadDeadline(time.Time) error { return nil }

func (c *scripted) SetWriteDeadline(time.Time) error { return nil }

// FuzzAnswer reads arbitrary bytes as an answer. The result is an error or a bounded Response whose
// head can be archived and read again.
func FuzzAnswer(f *testing.F) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, s := range []string{
		"", ok + "\r\n", ok + "Content-Length: 3\r\n\r\nabc",
		ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n" + ok + "A: b\r\n c\r\n\r\nx",
		"HTTP/1.0 302 Found\nLocation: /\n\n",
		ok + "Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00",
		ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n", ok + "A:\x00b\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		var c *scripted
		fetch := New(Options{
			Allowed: loopback,
			MaxBody: 64 << 10,
			MaxHead: 8 << 10,
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				c = new(scripted)
				c.answer.Reset(answer)
				return c, nil
			},
		})
		defer fetch.Close()
		resp, err := fetch.Do(context.Background(), ask(t, "http", "127.0.0.1:80", "/"))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || !c.closed {
				t.Fatalf("%v (%T), connection closed: %v", err, err, c.closed)
			}
			return
		}
		if resp.Status < 200 || len(resp.Body) > 64<<10 || len(resp.RawBody) > len(answer) {
			t.Fatalf("status %d, %d bytes of %d", resp.Status, len(resp.Body), len(answer))
		}
		head := resp.ResponseHead
		if bytes.ContainsRune(head, 0) || !bytes.HasSuffix(head, []byte("\r\n\r\n")) ||
			bytes.Index(head, []byte("\r\n\r\n")) != len(head)-4 {
			t.Fatalf("head %q", head)
		}
		again, err := http.ReadResponse(newReader(head), aGet)
		if err != nil || again.StatusCode != resp.Status || len(again.TransferEncoding) > 0 {
			t.Fatalf("head %q reads as %v, %v", head, again, err)
		}
		resp.Release()
	})
}

// pipes serves page over in-memory connections and counts them.
func pipes(open *int, answer string) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		*open++
		a, b := net.Pipe()
		go func() {
			defer b.Close()
			buf := make([]byte, 4096)
			for {
				if _, err := b.Read(buf); err != nil {
					return
				}
				if _, err := io.WriteString(b, answer); err != nil {
					return
				}
			}
		}()
		return a, nil
	}
}

// TestIdleConnectionsExpire also checks that a Fetcher works in a bubble and leaves nothing behind.
func TestIdleConnectionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := 0
		f := New(Options{
			Allowed:     loopback,
			DialContext: pipes(&open, page("x")),
			IdleTimeout: 20 * time.Second,
		})
		r := ask(t, "http", "127.0.0.1:80", "/")
		mustDo(t, f, r)
		time.Sleep(19 * time.Second)
		mustDo(t, f, r)
		if open != 1 || f.IdleConns() != 1 {
			t.Errorf("%d connections opened, %d kept", open, f.IdleConns())
		}
		time.Sleep(21 * time.Second)
		synctest.Wait()
		if f.IdleConns() != 0 {
			t.Error("an idle connection was kept for ever")
		}
		mustDo(t, f, r)
		if open != 2 {
			t.Errorf("%d connections opened", open)
		}
		f.Close()
		synctest.Wait()
	})
}

// TestLimitsOfTime checks the default limits in fake time.
func TestLimitsOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			head string
			gap  time.Duration // between the bytes of the payload
			want time.Duration
		}{
			{"", 0, 15 * time.Second},
			{"HTTP/1.1 20", 0, 15 * time.Second},
			{"HTTP/1.1 200 OK\r\n\r\n", time.Second, 10 * time.Second},
			{"HTTP/1.1 200 OK\r\n\r\n", 2 * time.Millisecond, 60 * time.Second},
		} {
			f := New(Options{
				Allowed: loopback,
				DialContext: func(context.Context, string, string) (net.Conn, error) {
					a, b := net.Pipe()
					go func() {
						b.Read(make([]byte, 4096))
						io.WriteString(b, c.head)
						for c.gap > 0 {
							if _, err := b.Write([]byte("x")); err != nil {
								return
							}
							time.Sleep(c.gap)
						}
					}()
					return a, nil
				},
			})
			from := time.Now()
			resp, err := f.Do(context.Background(), ask(t, "http", "127.0.0.1:80", "/"))
			if c.gap == 0 {
				wantCategory(t, err, Timeout)
			} else if err != nil || resp.Truncated != CutTime || len(resp.Body) == 0 {
				t.Errorf("a byte each %v: %+v, %v; want what came in time", c.gap, resp, err)
			}
			if took := time.Since(from).Round(time.Second); took != c.want {
				t.Errorf("head %q, a byte each %v: gave up after %v, want %v", c.head, c.gap, took, c.want)
			}
			f.Close()
			time.Sleep(2 * c.gap) // the server notices
		}
		synctest.Wait()
	})
}

// TestWriteLimit checks that a request that cannot be written is abandoned before it could be
// delivered late.
func TestWriteLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe() // nobody reads b
		defer b.Close()
		f := New(Options{
			Allowed:     loopback,
			DialContext: func(context.Context, string, string) (net.Conn, error) { return a, nil },
		})
		defer f.Close()
		from := time.Now()
		_, err := f.Do(context.Background(), ask(t, "http", "127.0.0.1:80", "/"))
		wantCategory(t, err, Timeout)
		if took := time.Since(from); took != deliveryLimit {
			t.Errorf("gave up after %v, want %v", took, deliveryLimit)
		}
	})
}

// BenchmarkKeepAlive is the cost of one plain page over a kept connection, including the server's
// part.
func BenchmarkKeepAlive(b *testing.B) {
	body := []byte(repeat("0123456789", 2000))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write(body)
	}))
	defer srv.Close()
	f := newFetcher(b, Options{})
	r := ask(b, "http", srv.Listener.Addr().String(), "/")
	b.ReportAllocs()
	for b.Loop() {
		mustDo(b, f, r).Release()
	}
}

// BenchmarkRead is the client's part alone: the answer is already there.
func BenchmarkRead(b *testing.B) {
	answer := []byte(page(repeat("0123456789", 2000)))
	c := new(scripted)
	f := New(Options{
		Allowed:     loopback,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return c, nil },
	})
	defer f.Close()
	r := ask(b, "http", "127.0.0.1:80", "/")
	b.ReportAllocs()
	for b.Loop() {
		c.answer.Reset(answer)
		mustDo(b, f, r).Release()
	}
}

// BenchmarkGzip is the cost of decoding a page of 75 KB.
func BenchmarkGzip(b *testing.B) {
	raw, err := os.ReadFile("testdata/compressed/html-gzip.bin")
	if err != nil {
		b.Fatal(err)
	}
	f := newFetcher(b, Options{})
	b.SetBytes(74837)
	b.ReportAllocs()
	for b.Loop() {
		decoded(b, f, raw, "gzip").Release()
	}
}

// counted counts the calls that receive.
type counted struct {
	scripted
	reads int
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	return c.scripted.Read(p)
}

// TestHeadLimit: the head is counted to the byte, without the payload bytes that came with it. It
// may be larger than one read. Bytes after the payload make the connection useless, wherever they
// are.
func TestHeadLimit(t *testing.T) {
	t.Parallel()
	const limit = 100 << 10
	headOf := func(size int, more string) string {
		start := "HTTP/1.1 200 OK\r\n" + more
		start += repeat("F: 0123456789\r\n", (size-len(start))/15-2)
		return start + "G: " + repeat("g", size-len(start)-len("G: \r\n\r\n")) + "\r\n\r\n"
	}
	for name, c := range map[string]struct {
		answer string
		fails  bool
		body   int
		keep   bool
	}{
		"small, large payload": {headOf(300, "Content-Length: 300000\r\n") + repeat("x", 300000), false,
			300000, true},
		"as large as it may": {headOf(limit, "Content-Length: 20000\r\n") + repeat("x", 20000), false,
			20000, true},
		"one byte more": {headOf(limit+1, "Content-Length: 20000\r\n") + repeat("x", 20000), true, 0,
			false},
		"endless": {headOf(3*limit, ""), true, 0, false},
		"interim heads": {"HTTP/1.1 103 H\r\n" + headOf(limit/2, "")[17:] +
			headOf(limit/2+2, "Content-Length: 2\r\n") + "xx", true, 0, false},
		"byte behind": {headOf(300, "Content-Length: 20000\r\n") + repeat("x", 20001), false, 20000,
			false},
		"byte far behind": {headOf(300, "Content-Length: 50000\r\n") + repeat("x", 50001), false, 50000,
			true},
		"chunks": {headOf(300, "Transfer-Encoding: chunked\r\n") +
			repeat("1000\r\n"+repeat("x", 4096)+"\r\n", 50) + "0\r\n\r\n", false, 50 * 4096, true},
	} {
		t.Run(name, func(t *testing.T) {
			conn := &counted{}
			conn.answer.Reset([]byte(c.answer))
			f := newFetcher(t, Options{
				MaxHead:     limit,
				DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
			})
			resp, err := f.Do(context.Background(), ask(t, "http", "127.0.0.1:80", "/"))
			if c.fails {
				if e := wantCategory(t, err, Protocol); !errors.Is(e, errHeadTooLarge) {
					t.Errorf("error %v, want %v", err, errHeadTooLarge)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(resp.Body) != c.body || len(bytes.Trim(resp.Body, "x")) > 0 {
				t.Errorf("%d bytes, want %d of x", len(resp.Body), c.body)
			}
			if kept := f.IdleConns() == 1; kept != c.keep {
				t.Errorf("connection kept: %v, want %v", kept, c.keep)
			}
			if most := 2 + len(c.answer)/(wireBytes/2); conn.reads > most {
				t.Errorf("%d calls to receive %d bytes, want %d at most", conn.reads, len(c.answer), most)
			}
			resp.Release()
		})
	}
}

// TestOneCall: a page of usual size is received with one call of the system.
func TestOneCall(t *testing.T) {
	t.Parallel()
	conn := &counted{}
	conn.answer.Reset([]byte(page(repeat("x", 20000))))
	f := newFetcher(t, Options{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	})
	mustDo(t, f, ask(t, "http", "127.0.0.1:80", "/")).Release()
	if conn.reads != 1 {
		t.Errorf("%d calls, want 1", conn.reads)
	}
}

// TestKeptPastDeadline: a fetch's deadline that passes while its connection is idle does not make
// the connection useless.
func TestKeptPastDeadline(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }))
	defer srv.Close()
	f := newFetcher(t, Options{MinRateAfter: 100 * time.Millisecond, MinRate: 1 << 20})
	r := ask(t, "http", srv.Listener.Addr().String(), "/")
	mustDo(t, f, r).Release()
	time.Sleep(200 * time.Millisecond)
	resp := mustDo(t, f, r)
	defer resp.Release()
	if !resp.Reused {
		t.Error("the connection was not used again")
	}
}
