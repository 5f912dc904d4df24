package peer

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	grpcpeer "google.golang.org/grpc/peer"
)

// This file watches how connections end. One that the other side has closed or
// reset is the first half of a proof that its process is gone (ownership rule
// 5); one that timed out, or that this side closed, proves nothing. It is proof for
// the boot that has answered on that connection, and for no other.

// redialRest is the least time from the end of a connection on which another node
// answered to the next one.
const redialRest = 250 * time.Millisecond

// watched is a connection whose end is reported.
type watched struct {
	net.Conn
	conn *conn
	peer identity // the node that has answered on it; zero: none yet; guarded by conn.mu
	once sync.Once
}

// dial opens a connection that is watched.
func (c *conn) dial(ctx context.Context) (net.Conn, error) {
	if err := c.awaitRest(ctx); err != nil {
		return nil, err
	}
	open := c.pool.opts.Dial
	if open == nil {
		open = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	raw, err := open(ctx, c.to.Addr)
	if err != nil {
		return nil, err
	}
	w := &watched{Conn: raw, conn: c}
	c.mu.Lock()
	c.open[raw.LocalAddr().String()] = w
	c.mu.Unlock()
	return w, nil
}

// awaitRest waits until redialRest is over.
func (c *conn) awaitRest(ctx context.Context) error {
	c.mu.Lock()
	rest := redialRest - time.Since(c.hungUp)
	c.mu.Unlock()
	if rest <= 0 {
		return nil
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// atLocked finds the connection on which a call was answered, nil when it is gone.
func (c *conn) atLocked(at *grpcpeer.Peer) *watched {
	if at == nil || at.LocalAddr == nil {
		return nil
	}
	return c.open[at.LocalAddr.String()]
}

// answered notes which node is at the other end.
func (c *conn) answered(at *grpcpeer.Peer, who identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.atLocked(at); w != nil {
		w.peer = who
	}
}

// hangUp ends the connection on which another node has answered. The next call
// opens another one, and so resolves the name again.
func (c *conn) hangUp(at *grpcpeer.Peer) {
	c.mu.Lock()
	w := c.atLocked(at)
	if w != nil {
		c.hungUp = time.Now()
	}
	c.mu.Unlock()
	if w != nil {
		_ = w.Close() // its reader gets the error
	}
}

// Close ends the connection from this side, which proves nothing.
func (w *watched) Close() error {
	w.forget()
	return w.Conn.Close()
}

// forget takes the connection out of the open ones and returns the node that answered on it.
func (w *watched) forget() identity {
	w.conn.mu.Lock()
	defer w.conn.mu.Unlock()
	local := w.LocalAddr().String()
	if w.conn.open[local] == w {
		delete(w.conn.open, local)
	}
	return w.peer
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if err != nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		w.once.Do(w.ended)
	}
	return n, err
}

// ended tells that the other side has ended the connection.
func (w *watched) ended() {
	if who := w.forget(); who.id != "" && w.conn.pool.opts.Ended != nil {
		w.conn.pool.opts.Ended(Target{ID: who.id, Boot: who.boot, Addr: w.RemoteAddr().String()})
	}
}
