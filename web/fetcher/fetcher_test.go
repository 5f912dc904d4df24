package fetcher

import (
	"bufio"
	"context"
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
)

func TestPage(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header; len(got) != 5 || got.Get("User-Agent") != "crawlnode/test" ||
			got.Get("If-None-Match") != `"v1"` ||
			got.Get("If-Modified-Since") == "" || r.ContentLength != 0 ||
			r.URL.RequestURI() != "/a%20b?q=%C3%A4" {
			t.Errorf("request %s with %v", r.URL.RequestURI(), got)
		}
		w.Header().Set("Content-Type", "Text/HTML; charset=utf-8")
		io.WriteString(w, "<p>hello")
	}))
	defer srv.Close()
	f := newFetcher(t, Options{})
	r := ask(t, "http", srv.Listener.Addr().String(), "/a b?q=ä")
	r.ETag, r.LastModified = `"v1"`, "Sat, 01 Jan 2000 00:00:00 GMT"
	for i := range 2 {
		resp := mustDo(t, f, r)
		if resp.Status != 200 || resp.Proto != "HTTP/1.1" || string(resp.Body) != "<p>hello" ||
			resp.MediaType != "text/html" ||
			resp.ContentType != "text/html; charset=utf-8" || resp.Truncated != "" || resp.WireBytes != 8 ||
			resp.TLS != nil ||
			resp.RemoteAddr != r.Addr || resp.Took <= 0 || resp.Reused != (i == 1) {
			t.Errorf("fetch %d: %+v", i, resp)
		}
		if head := string(resp.RequestHead); !strings.HasPrefix(head,
			"GET /a%20b?q=%C3%A4 HTTP/1.1\r\nHost: 127.0.0.1:") || !strings.HasSuffix(head, "\r\n\r\n") {
			t.Errorf("request head %q", head)
		}
		if head := string(resp.ResponseHead); !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") ||
			!strings.Contains(head, "Content-Length: 8\r\n") {
			t.Errorf("response head %q", head)
		}
		resp.Release()
		resp.Release()
	}
	if n := f.IdleConns(); n != 1 {
		t.Errorf("%d kept connections, want 1", n)
	}
}

// TestNeverRepeats checks politeness: when a kept connection closes without an answer, the client
// must not repeat the request by itself.
func TestNeverRepeats(t *testing.T) {
	t.Parallel()
	srv := newRawServer(t, func(s *rawServer, c net.Conn, r *bufio.Reader) {
		s.request(r)
		io.WriteString(c, page("one"))
		s.request(r) // and no answer
	})
	f := newFetcher(t, Options{})
	mustDo(t, f, ask(t, "http", srv.addr, "/1")).Release()
	_, err := f.Do(context.Background(), ask(t, "http", srv.addr, "/2"))
	e := wantCategory(t, err, Protocol)
	if !errors.Is(err, errNoAnswer) || !e.Contacted || !e.Retryable() {
		t.Errorf("error %v", err)
	}
	if n, c := srv.requests.Load(), srv.conns.Load(); n != 2 || c != 1 {
		t.Errorf("the server saw %d requests on %d connections, want 2 on 1", n, c)
	}
}

// TestStaleConnection checks the opposite case: a kept connection that the server has closed costs
// nothing.
func TestStaleConnection(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 2)
	srv := newRawServer(t, func(s *rawServer, c net.Conn, r *bufio.Reader) {
		s.request(r)
		io.WriteString(c, page("one"))
		c.Close()
		closed <- struct{}{}
	})
	f := newFetcher(t, Options{})
	for i := range 2 {
		resp := mustDo(t, f, ask(t, "http", srv.addr, "/"))
		if resp.Reused {
			t.Errorf("fetch %d went over a closed connection", i)
		}
		<-closed
	}
	if n := srv.requests.Load(); n != 2 {
		t.Errorf("the server saw %d requests, want 2", n)
	}
}

// deadConn accepts no bytes; a write to it sends nothing.
type deadConn struct{ net.Conn }

func (deadConn) Write([]byte) (int, error) { return 0, net.ErrClosed }

// TestNothingWritten checks the one case in which a request is made again.
func TestNothingWritten(t *testing.T) {
	t.Parallel()
	srv := says(t, page("one"))
	f := newFetcher(t, Options{})
	r := ask(t, "http", srv.addr, "/")
	key, err := keyOf(&r)
	if err != nil {
		t.Fatal(err)
	}
	a, b := net.Pipe()
	defer b.Close()
	f.pool.put(&conn{key: key, raw: a, nc: deadConn{a}})
	if resp := mustDo(t, f, r); resp.Reused || srv.requests.Load() != 1 {
		t.Errorf("reused %v, %d requests", resp.Reused, srv.requests.Load())
	}
}

func TestRedirectIsAnAnswer(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"/next", "file:///etc/passwd", "gopher://x/",
		"http://169.254.169.254/"} {
		srv := says(t,
			"HTTP/1.1 302 Found\r\nLocation: "+to+"\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")
		resp := mustDo(t, newFetcher(t, Options{}), ask(t, "http", srv.addr, "/"))
		if resp.Status != 302 || resp.Header.Get("Location") != to || srv.requests.Load() != 1 {
			t.Errorf("redirect to %s: status %d, %d requests", to, resp.Status, srv.requests.Load())
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct {
		name, answer string
		want         Category // with err
		err          bool
		status       int
		body, head   string
	}{
		{
			name: "chunked",
			answer: ok +
				"Transfer-Encoding: chunked\r\nX: y\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nT: v\r\n\r\n",
			status: 200,
			body:   "abcde",
			head:   ok + "X: y\r\n\r\n",
		},
		{name: "until close", answer: ok + "\r\nabc", status: 200, body: "abc"},
		{name: "http 1.0", answer: "HTTP/1.0 404 Nope\r\n\r\nabc", status: 404, body: "abc", head: "HTTP/1.0 404 Nope\r\n\r\n"},
		{name: "no reason phrase", answer: "HTTP/1.1 200\r\n\r\nabc", status: 200, body: "abc"},
		{name: "bare line feeds", answer: "HTTP/1.1 200 OK\nA: b\n\nabc", status: 200, body: "abc", head: ok + "A: b\r\n\r\n"},
		{name: "folded", answer: ok + "A: b\r\n c\r\n\r\nabc", status: 200, body: "abc", head: ok + "A: b\r\n c\r\n\r\n"},
		{
			name:   "length and chunked",
			answer: ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
			status: 200,
			body:   "a",
			head:   ok + "\r\n",
		},
		{
			name:   "interim",
			answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + ok + "\r\nabc",
			status: 200,
			body:   "abc",
			head:   ok + "\r\n",
		},
		{name: "no content", answer: "HTTP/1.1 204 No\r\n\r\n", status: 204},
		{name: "not modified, unasked", answer: "HTTP/1.1 304 Same\r\nContent-Length: 7\r\n\r\n", err: true, want: Protocol},
		{name: "forged line", answer: ok + "A: b\rEvil: 1\r\n\r\nabc", status: 200, body: "abc", head: ok + "A: b Evil: 1\r\n\r\n"},
		{name: "empty", answer: "", err: true, want: Protocol},
		{name: "http 0.9", answer: "<html>hello</html>", err: true, want: Protocol},
		{name: "half a head", answer: ok + "A: b\r\n", err: true, want: Protocol},
		{name: "bad status", answer: "HTTP/1.1 2000 OK\r\n\r\n", err: true, want: Protocol},
		{name: "status zero", answer: "HTTP/1.1 000 OK\r\n\r\n", err: true, want: Protocol},
		{name: "two lengths", answer: ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", err: true, want: Protocol},
		{name: "bad chunk size at once", answer: ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n", err: true, want: Protocol},
		{name: "switching", answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", err: true, want: Protocol},
		{name: "huge head", answer: ok + "A: " + repeat("x", 10<<20) + "\r\n\r\nabc", err: true, want: Protocol},
		{name: "many lines", answer: ok + repeat("A: b\r\n", 100_000) + "\r\nabc", err: true, want: Protocol},
		{name: "interim flood", answer: repeat("HTTP/1.1 100 Continue\r\n\r\n", 20_000) + ok + "\r\nabc", err: true, want: Protocol},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := says(t, c.answer)
			f := newFetcher(t, Options{})
			resp, err := f.Do(context.Background(), ask(t, "http", srv.addr, "/"))
			if c.err {
				wantCategory(t, err, c.want)
			} else if err != nil {
				t.Fatal(err)
			} else if resp.Status != c.status || string(resp.Body) != c.body ||
				c.head != "" && string(resp.ResponseHead) != c.head {
				t.Errorf("status %d, body %q, head %q", resp.Status, resp.Body, resp.ResponseHead)
			}
			if n := srv.requests.Load(); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// TestUncleanConnectionIsNotKept checks that bytes after an answer are never taken for the next
// answer.
func TestUncleanConnectionIsNotKept(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		page("abc") + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
		"HTTP/1.1 204 No\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
	} {
		srv := says(t, answer)
		f := newFetcher(t, Options{})
		mustDo(t, f, ask(t, "http", srv.addr, "/"))
		if n := f.IdleConns(); n != 0 {
			t.Errorf("%d connections kept after %q", n, answer)
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"length": page(repeat("x", 1000)),
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" + repeat("x", 1000) +
			"\r\n0\r\n\r\n",
		"endless": "HTTP/1.1 200 OK\r\n\r\n" + repeat("x", 1<<20),
	} {
		srv := says(t, answer)
		for limit, cut := range map[int64]bool{999: true, 1000: name == "endless"} {
			f := newFetcher(t, Options{MaxBody: limit})
			resp := mustDo(t, f, ask(t, "http", srv.addr, "/"))
			if (resp.Truncated != "") != cut || int64(len(resp.Body)) != limit || resp.WireBytes != limit {
				t.Errorf("%s, limit %d: truncated %v, %d bytes", name, limit, resp.Truncated, len(resp.Body))
			}
			if cut && f.IdleConns() != 0 {
				t.Errorf("%s: a connection with unread bytes was kept", name)
			}
		}
	}
}

func TestSlowServers(t *testing.T) {
	t.Parallel()
	drip := func(s *rawServer, c net.Conn, r *bufio.Reader) {
		s.request(r)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
		for {
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	mute := func(s *rawServer, c net.Conn, r *bufio.Reader) { s.request(r); io.Copy(io.Discard, r) }
	hang := func(s *rawServer, c net.Conn, r *bufio.Reader) {
		s.request(r)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
		io.Copy(io.Discard, r)
	}
	slowHead := func(s *rawServer, c net.Conn, r *bufio.Reader) {
		s.request(r)
		for {
			if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	// A machine that is busy may take seconds for a head that comes.
	o := Options{
		HeadTimeout:  10 * time.Second,
		MinRate:      1000,
		MinRateAfter: 2 * time.Second,
		Timeout:      time.Minute,
	}
	whole, late := o, o
	whole.MinRate, whole.Timeout = 1, 5*time.Second
	late.HeadTimeout = 150 * time.Millisecond
	for name, c := range map[string]struct {
		talk func(*rawServer, net.Conn, *bufio.Reader)
		o    Options
	}{
		"drip": {drip, o}, "mute": {mute, late}, "hang after head": {hang, late},
		"slow head": {slowHead, late}, "whole": {drip, whole},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := newRawServer(t, c.talk)
			resp, err := newFetcher(t, c.o).Do(context.Background(), ask(t, "http", srv.addr, "/"))
			if name != "drip" && name != "whole" {
				wantCategory(t, err, Timeout)
			} else if err != nil || resp.Truncated != CutTime || len(resp.Body) == 0 {
				t.Errorf("%+v, %v; want what came in time", resp, err)
			}
		})
	}
}

// TestSteadyServer checks that a payload slower than MinRateAfter is read to
// its end when its rate is high enough.
func TestSteadyServer(t *testing.T) {
	t.Parallel()
	srv := newRawServer(t, func(s *rawServer, c net.Conn, r *bufio.Reader) {
		s.request(r)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n")
		for range 20 {
			io.WriteString(c, repeat("x", 10_000))
			time.Sleep(20 * time.Millisecond)
		}
	})
	f := newFetcher(t, Options{MinRate: 1000, MinRateAfter: 50 * time.Millisecond})
	var received atomic.Int64
	req := ask(t, "http", srv.addr, "/")
	req.Received = &received
	if resp := mustDo(t, f, req); resp.WireBytes != 200_000 || received.Load() != 200_000 {
		t.Errorf("%d bytes, %d counted as they came", resp.WireBytes, received.Load())
	}
}

func TestTakenBack(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"} {
		reached := make(chan struct{})
		srv := newRawServer(t, func(s *rawServer, c net.Conn, r *bufio.Reader) {
			s.request(r)
			io.WriteString(c, part)
			close(reached)
			io.Copy(io.Discard, r)
		})
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			<-reached
			cancel()
		}()
		f := newFetcher(t, Options{})
		_, err := f.Do(ctx, ask(t, "http", srv.addr, "/"))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after %q: %v", part, err)
		}
		if f.IdleConns() != 0 {
			t.Error("the connection of an aborted fetch was kept")
		}
		if _, err := f.Do(ctx, ask(t, "http", srv.addr, "/")); !errors.Is(err, context.Canceled) {
			t.Errorf("with a cancelled context: %v", err)
		}
	}
}

func TestConnectFails(t *testing.T) {
	t.Parallel()
	addr := closedport.Reserve(t).Addr
	_, err := newFetcher(t, Options{}).Do(context.Background(), ask(t, "http", addr, "/"))
	wantCategory(t, err, Connect)

	o := Options{
		ConnectTimeout: 20 * time.Millisecond,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	_, err = newFetcher(t, o).Do(context.Background(), ask(t, "http", addr, "/"))
	wantCategory(t, err, Connect)
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, Options{})
	_, err := f.Do(context.Background(), Request{})
	wantCategory(t, err, Other)
	r := ask(t, "http", "127.0.0.1:8099", "/")
	r.UserAgent = "a\r\nEvil: 1"
	_, err = f.Do(context.Background(), r)
	wantCategory(t, err, Other)
	r.UserAgent, r.ETag, r.LastModified = "a", "x\r\nEvil: 1", "\x00"
	x, err := f.newExchange(context.Background(), &r)
	if err != nil || strings.Contains(string(x.head), "Evil") ||
		strings.Contains(string(x.head), "Modified") {
		t.Errorf("head %q, error %v", x.head, err)
	}
}

// TestLargeBodiesWait checks that large payloads share one budget.
func TestLargeBodiesWait(t *testing.T) {
	t.Parallel()
	srv := says(t,
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 614400\r\n\r\n"+repeat("x", 600<<10))
	f := newFetcher(t, Options{LargeBodyMemory: 1 << 20})
	first := mustDo(t, f, ask(t, "http", srv.addr, "/1"))
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := f.Do(ctx, ask(t, "http", srv.addr, "/2"))
	wantCategory(t, err, Timeout)
	first.Release()
	mustDo(t, f, ask(t, "http", srv.addr, "/3")).Release()
	if !f.large.TryAcquire(1 << 20) {
		t.Error("memory was not given back")
	}
}

func TestPoolIsBounded(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, Options{MaxIdleConns: 3})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	for i := range 10 { // one server under ten host names
		r := ask(t, "http", srv.Listener.Addr().String(), "/")
		r.URL, _ = r.URL.Resolve(fmt.Sprintf("http://h%d.test:%s/", i, port))
		mustDo(t, f, r)
		if n, want := f.IdleConns(), min(i+1, 3); n != want {
			t.Fatalf("%d kept connections after %d hosts, want %d", n, i+1, want)
		}
	}
	f.Close()
	mustDo(t, f, ask(t, "http", srv.Listener.Addr().String(), "/"))
	if n := f.IdleConns(); n != 0 {
		t.Errorf("%d connections kept after Close", n)
	}
}

// TestBlockedAddresses checks that a forbidden address is not dialled, and that a kept connection
// is not used once its address is forbidden.
func TestBlockedAddresses(t *testing.T) {
	t.Parallel()
	var dialled []string
	f := New(Options{DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
		dialled = append(dialled, addr)
		return nil, errors.New("no network")
	}})
	defer f.Close()
	blocked := strings.Fields(
		`169.254.169.254 127.0.0.1 127.1.2.3 0.0.0.0 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1
		192.0.0.1 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 192.88.99.1
		::1 :: fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254 ff02::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::127.0.0.1 64:ff9b::7f00:1
		64:ff9b:1::1 2002:7f00:1::1 2001::1 2001:db8::1 100::1 3fff::1 5f00::1 fec0::1`)
	for _, s := range blocked {
		r := ask(t, "http", "127.0.0.1:80", "/")
		r.Addr = netip.MustParseAddr(s)
		_, err := f.Do(context.Background(), r)
		if e := wantCategory(t, err, BlockedAddress); e.Contacted || e.Retryable() {
			t.Errorf("%s: %+v", s, e)
		}
		if err := f.control("tcp", netip.AddrPortFrom(r.Addr, 80).String(), nil); err == nil {
			t.Errorf("%s passes at the last moment", s)
		}
	}
	if len(dialled) > 0 {
		t.Errorf("dialled %v", dialled)
	}
	for _, s := range []string{"8.8.8.8", "172.32.0.1", "100.128.0.1", "1.1.1.1", "2606:4700::1111",
		"2a00:1450::1"} {
		if !IsPublic(netip.MustParseAddr(s)) {
			t.Errorf("%s is not public", s)
		}
	}
	if f.control("tcp", "name:80", nil) == nil {
		t.Error("a name passes")
	}

	allowed := true
	g := newFetcher(t, Options{Allowed: func(a netip.Addr) bool { return allowed }})
	srv := says(t, page("x"))
	mustDo(t, g, ask(t, "http", srv.addr, "/"))
	allowed = false
	_, err := g.Do(context.Background(), ask(t, "http", srv.addr, "/"))
	wantCategory(t, err, BlockedAddress)
}
