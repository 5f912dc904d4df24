package door

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// listen opens a Listener whose connections arrive in the returned channel.
func listen(t *testing.T, limits Limits) (addr string, accepted <-chan *Conn) {
	t.Helper()
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(raw, limits)
	out, ended := make(chan *Conn), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			out <- c.(*Conn)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return raw.Addr().String(), out
}

// dial opens a connection from an address of this machine and returns both ends.
func dial(t *testing.T, from, to string, accepted <-chan *Conn) (client net.Conn, server *Conn) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 5 * time.Minute}
	client, err := d.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	server = <-accepted
	t.Cleanup(func() { _ = server.Close() })
	return client, server
}

// closed reports whether the other side has closed a connection. It waits only when a
// closed one is expected.
func closed(t *testing.T, c net.Conn, want bool) bool {
	t.Helper()
	wait := 20 * time.Millisecond
	if want {
		wait = 5 * time.Minute
	}
	_ = c.SetReadDeadline(time.Now().Add(wait))
	_, err := c.Read(make([]byte, 1))
	if e, ok := err.(net.Error); ok && e.Timeout() {
		return false
	}
	return err != nil
}

// A flood pushes out its own connections, the oldest first, and neither those of
// others nor those that are trusted.
func TestFloodPushesOutItsOwn(t *testing.T) {
	addr, accepted := listen(t, Limits{Strangers: 4, Trusted: 10})
	friend, served := dial(t, "127.0.0.1", addr, accepted)
	served.Trust()
	quiet, _ := dial(t, "127.0.0.2", addr, accepted)
	var flood []net.Conn
	for range 6 {
		c, _ := dial(t, "127.0.0.1", addr, accepted)
		flood = append(flood, c)
	}
	for i, c := range flood {
		if want := i < 3; closed(t, c, want) != want {
			t.Errorf("connection %d of the flood: closed is %v, want %v", i, !want, want)
		}
	}
	if closed(t, friend, false) || closed(t, quiet, false) {
		t.Error("somebody else's connection was closed")
	}
}

// Who leaves makes room, and beyond the bound of trusted ones a connection stays a
// stranger's.
func TestRoom(t *testing.T) {
	addr, accepted := listen(t, Limits{Strangers: 2, Trusted: 1})
	_, a := dial(t, "127.0.0.1", addr, accepted)
	a.Trust()
	a.Trust()
	second, b := dial(t, "127.0.0.1", addr, accepted)
	b.Trust() // no room
	_, c := dial(t, "127.0.0.1", addr, accepted)
	_ = c.Close()
	third, _ := dial(t, "127.0.0.1", addr, accepted)
	if closed(t, second, false) {
		t.Error("a connection was closed although there was room")
	}
	dial(t, "127.0.0.1", addr, accepted)
	if !closed(t, second, true) || closed(t, third, false) {
		t.Error("not the oldest stranger was closed")
	}
	_ = a.Close()
	_ = a.Close()
	l := a.door
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trusted != 0 || l.count != 2 {
		t.Errorf("%d trusted and %d strangers, want 0 and 2", l.trusted, l.count)
	}
}

func TestSource(t *testing.T) {
	for _, c := range []struct {
		a, b net.Addr
		one  bool
	}{
		{tcp("192.0.2.1:1"), tcp("192.0.2.1:2"), true},
		{tcp("192.0.2.1:1"), tcp("192.0.2.2:1"), false},
		{tcp("[::ffff:192.0.2.1]:1"), tcp("192.0.2.1:2"), true},
		{tcp("[2001:db8::1]:1"), tcp("[2001:db8::ffff:2]:1"), true},
		{tcp("[2001:db8::1]:1"), tcp("[2001:db8:0:1::1]:1"), false},
		{&net.UnixAddr{Name: "a"}, &net.UnixAddr{Name: "b"}, true},
	} {
		if got := sourceOf(c.a) == sourceOf(c.b); got != c.one {
			t.Errorf("%v and %v are one source: %v, want %v", c.a, c.b, got, c.one)
		}
	}
}

func tcp(s string) net.Addr {
	a, err := net.ResolveTCPAddr("tcp", s)
	if err != nil {
		panic(err)
	}
	return a
}

func TestTrustOfAnyConnection(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	Trust(a) // no *Conn: nothing happens
	c := &Conn{Conn: b, door: Listen(nil, Limits{1, 1})}
	c.door.enter(c)
	Trust(wrapper{c})
	if !c.trusted {
		t.Error("the wrapped connection is not trusted")
	}
}

type wrapper struct{ net.Conn }

func (w wrapper) NetConn() net.Conn { return w.Conn }

func TestLogOneLineASecond(t *testing.T) {
	var out bytes.Buffer
	l := NewLog(slog.New(slog.NewTextHandler(&out, nil)))
	for range 1000 {
		l.Warn("refused", "from", "a stranger\x1b[31m\nlevel=INFO")
	}
	lines := strings.Count(out.String(), "\n")
	if lines < 1 || lines > 3 || strings.ContainsAny(out.String(), "\x1b") {
		t.Errorf("%d lines for 1,000 warnings: %q", lines, out.String())
	}
	start := time.Now().Add(time.Hour)
	for _, step := range []struct {
		after time.Duration
		left  int
		ok    bool
	}{{0, 1000 - lines, true}, {999 * time.Millisecond, 0, false}, {time.Second, 1, true},
		{time.Hour, 0, true}} {
		if left, ok := l.may(start.Add(step.after)); left != step.left || ok != step.ok {
			t.Errorf("after %v: %d left out, %v; want %d, %v", step.after, left, ok, step.left, step.ok)
		}
	}
	NewLog(nil).Warn("nowhere")
}
