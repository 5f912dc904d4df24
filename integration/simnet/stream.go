package simnet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	maxBacklog = 128
	// window is how many bytes one direction of a stream holds before Write waits.
	window = 256 << 10
	// retransmit is how much later a lost piece of a stream comes.
	retransmit = 200 * time.Millisecond
)

// Listener accepts streams on one port of a host. It is a net.Listener.
type Listener struct {
	host    *Host
	port    int
	backlog chan *Conn
	once    sync.Once
	closed  chan struct{}
}

// Accept waits for the next stream.
func (l *Listener) Accept() (net.Conn, error) {
	if l.isClosed() {
		return nil, opError("accept", l.Addr(), net.ErrClosed)
	}
	select {
	case c := <-l.backlog:
		return c, nil
	case <-l.closed:
		return nil, opError("accept", l.Addr(), net.ErrClosed)
	}
}

// Close frees the port and resets the streams that were not accepted.
func (l *Listener) Close() error {
	l.once.Do(func() {
		l.host.mu.Lock()
		delete(l.host.listeners, l.port)
		l.host.mu.Unlock()
		close(l.closed)
	})
	for {
		select {
		case c := <-l.backlog:
			c.reset()
		default:
			return nil
		}
	}
}

func (l *Listener) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// Addr returns the address and port.
func (l *Listener) Addr() net.Addr { return l.host.tcpAddr(l.port) }

// segment is a piece of a stream on its way.
type segment struct {
	data []byte
	at   time.Time // not before
	fin  bool      // the writer has closed; the last segment
	rst  bool      // the writer has died; the last segment
	late bool      // written while the writer was paused: comes when it goes on
}

// half is one direction of a stream. Both ends work under mu, and every change is followed by
// wakeAll.
type half struct {
	net      *Network
	from, to string

	mu       sync.Mutex // guards what follows; taken before Network.mu, held across no wait
	segments []segment
	buffered int           // bytes in segments
	lastAt   time.Time     // when the youngest segment comes
	wake     chan struct{} // closed and replaced at every change
	broken   bool          // reset by the writer's side: heard as soon as the link passes
	shut     bool          // the reader's end is closed
}

func newHalf(n *Network, from, to string) *half {
	return &half{net: n, from: from, to: to, wake: make(chan struct{})}
}

func (h *half) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeAllLocked()
}

// breakOff loses what is on its way and lets the reader hear of a reset.
func (h *half) breakOff() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = true
	h.wakeAllLocked()
}

func (h *half) wakeAllLocked() {
	close(h.wake)
	h.wake = make(chan struct{})
}

// pushLocked puts a piece behind the others, as late as the link makes it.
func (h *half) pushLocked(s segment, f delivery) {
	s.at = time.Now().Add(f.delay)
	s.late = h.net.isPaused(h.from)
	if f.drop {
		s.at = s.at.Add(retransmit)
	}
	if s.at.Before(h.lastAt) {
		s.at = h.lastAt
	}
	h.lastAt = s.at
	h.segments = append(h.segments, s)
	h.buffered += len(s.data)
	h.wakeAllLocked()
}

// Conn is one end of a stream. It is a net.Conn.
type Conn struct {
	host          *Host
	in, out       *half
	local, remote net.Addr
	peer          *Conn

	mu            sync.Mutex // guards what follows
	closed, dead  bool       // closed by its owner; reset
	readDeadline  time.Time
	writeDeadline time.Time
}

func newConns(a *Host, aAddr net.Addr, b *Host, bAddr net.Addr) (*Conn, *Conn) {
	there, back := newHalf(a.net, a.name, b.name), newHalf(a.net, b.name, a.name)
	x := &Conn{host: a, in: back, out: there, local: aAddr, remote: bAddr}
	y := &Conn{host: b, in: there, out: back, local: bAddr, remote: aAddr}
	x.peer, y.peer = y, x
	return x, y
}

// usable says why the end cannot be used, and until when a call may wait.
func (c *Conn) usable(deadline *time.Time) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return time.Time{}, net.ErrClosed
	case c.dead:
		return time.Time{}, syscall.ECONNRESET
	case !deadline.IsZero() && !time.Now().Before(*deadline):
		return time.Time{}, os.ErrDeadlineExceeded
	}
	return *deadline, nil
}

// Read reads what has come, and waits when that is nothing.
func (c *Conn) Read(b []byte) (int, error) {
	for {
		wake := c.in.changed()
		deadline, err := c.usable(&c.readDeadline)
		if err != nil {
			return 0, opError("read", c.remote, err)
		}
		n, next, err := c.in.take(b)
		switch {
		case n > 0:
			return n, nil // whatever ends the stream is read next
		case errors.Is(err, io.EOF) || len(b) == 0:
			return 0, err
		case err != nil:
			return 0, opError("read", c.remote, err)
		}
		sleepUntil(wake, next, deadline)
	}
}

// changed returns a channel that is closed at the next change.
func (h *half) changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wake
}

// take moves what has come into b. When nothing has, it says when the next
// piece comes, if that is known.
func (h *half) take(b []byte) (n int, next time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ok, data, late := h.net.flows(h.from, h.to)
	if ok && h.broken {
		return 0, time.Time{}, syscall.ECONNRESET
	}
	if !data {
		return 0, time.Time{}, nil
	}
	now := time.Now()
	for len(h.segments) > 0 && n < len(b) {
		s := &h.segments[0]
		if s.late && !late {
			break
		}
		if now.Before(s.at) {
			next = s.at
			break
		}
		if s.fin || s.rst {
			err = io.EOF
			if s.rst {
				err = syscall.ECONNRESET
			}
			break
		}
		k := copy(b[n:], s.data)
		n += k
		s.data = s.data[k:]
		if len(s.data) == 0 {
			h.segments = h.segments[1:]
		}
	}
	if n == 0 {
		return 0, next, err
	}
	h.buffered -= n
	h.wakeAllLocked()
	return n, time.Time{}, nil
}

// Write sends b, in pieces of at most 16 KiB, and waits while the other end
// does not read.
func (c *Conn) Write(b []byte) (int, error) {
	sent := 0
	for sent < len(b) || len(b) == 0 {
		deadline, err := c.usable(&c.writeDeadline)
		if err != nil {
			return sent, opError("write", c.remote, err)
		}
		piece := b[sent:min(len(b), sent+16<<10)]
		c.out.mu.Lock()
		wake := c.out.wake
		shut, full := c.out.shut, c.out.buffered+len(piece) > window
		c.out.mu.Unlock()
		paused := c.host.net.isPaused(c.host.name)
		if _, cut := c.host.net.passes(c.in.from, c.in.to); shut && !cut && !paused {
			// The reset that comes back ends reading too, and at once: gRPC repeats a
			// call on a connection whose writes fail, without a pause, until its
			// reader has noticed, and in a bubble no time passes meanwhile.
			c.in.breakOff()
			return sent, opError("write", c.remote, syscall.EPIPE)
		}
		if full || paused {
			sleepUntil(wake, time.Time{}, deadline)
			continue
		}
		f := c.host.net.draw(c.out.from, c.out.to)
		if f.reset {
			c.reset()
			return sent, opError("write", c.remote, syscall.ECONNRESET)
		}
		c.out.mu.Lock()
		c.out.pushLocked(segment{data: append([]byte(nil), piece...)}, f)
		c.out.mu.Unlock()
		if watch := c.host.net.watch; watch != nil {
			watch(c.out.from, c.out.to)
		}
		sent += len(piece)
		if len(b) == 0 {
			break
		}
	}
	return sent, nil
}

// sleepUntil waits for a change, for the next piece, or for the deadline.
func sleepUntil(wake <-chan struct{}, next, deadline time.Time) {
	if next.IsZero() || !deadline.IsZero() && deadline.Before(next) {
		next = deadline
	}
	if next.IsZero() {
		<-wake
		return
	}
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	}
}

// Close ends both directions; the other end reads what was sent, then io.EOF.
func (c *Conn) Close() error {
	c.mu.Lock()
	was := c.closed
	gone := c.closed || c.dead
	c.closed = true
	c.mu.Unlock()
	if was {
		return opError("close", c.remote, net.ErrClosed)
	}
	if !gone {
		f := c.host.net.draw(c.out.from, c.out.to)
		c.out.mu.Lock()
		c.out.pushLocked(segment{fin: true}, f)
		c.out.mu.Unlock()
	}
	c.shutIn()
	c.host.disown(c)
	return nil
}

// shutIn makes the reader's side deaf and wakes everybody on both directions.
func (c *Conn) shutIn() {
	c.in.mu.Lock()
	c.in.shut = true
	c.in.wakeAllLocked()
	c.in.mu.Unlock()
	c.out.wakeAll()
}

// reset breaks the stream from this end, as a killed process does.
func (c *Conn) reset() { c.abort(true) }

// abort ends the stream; at once says that what is on its way is lost.
func (c *Conn) abort(atOnce bool) {
	c.mu.Lock()
	gone := c.closed || c.dead
	c.dead = true
	c.mu.Unlock()
	if gone {
		return
	}
	if atOnce {
		c.out.breakOff()
	}
	c.shutIn()
	c.host.disown(c)
}

// die breaks the stream as the kernel does when its process was killed: now and
// then what was written still comes, and the reset behind it.
func (c *Conn) die() {
	f := c.host.net.draw(c.out.from, c.out.to)
	if f.tail {
		c.out.mu.Lock()
		c.out.pushLocked(segment{rst: true}, f)
		c.out.mu.Unlock()
	}
	c.abort(!f.tail)
}

// LocalAddr returns this end's address.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the other end's address, as it was dialled.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines; the zero time means none.
func (c *Conn) SetDeadline(t time.Time) error {
	return c.setDeadlines(func() { c.readDeadline, c.writeDeadline = t, t })
}

// SetReadDeadline ends waiting and later reads at t.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.setDeadlines(func() { c.readDeadline = t })
}

// SetWriteDeadline ends waiting and later writes at t.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.setDeadlines(func() { c.writeDeadline = t })
}

func (c *Conn) setDeadlines(set func()) error {
	c.mu.Lock()
	set()
	closed := c.closed
	c.mu.Unlock()
	c.in.wakeAll()
	c.out.wakeAll()
	if closed {
		return opError("set", c.remote, net.ErrClosed)
	}
	return nil
}
