package peer

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
)

// This file watches how connections end. One that the other side has closed or
// reset is the first half of a proof that its process is gone (ownership rule
// 5); one that timed out, or that this side closed, proves nothing.

// Answered notes that the boot answered on the present connection to addr.
func (p *Pool) Answered(addr string, boot uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[addr] != nil {
		p.boots[addr] = boot
	}
}

// dial opens a connection that is watched.
func (p *Pool) dial(ctx context.Context, addr string) (net.Conn, error) {
	open := p.opts.Dial
	if open == nil {
		open = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	c, err := open(ctx, addr)
	if err != nil || p.opts.Ended == nil {
		return c, err
	}
	p.mu.Lock()
	delete(p.boots, addr) // nobody has answered on this one
	p.mu.Unlock()
	return &watched{Conn: c, pool: p, addr: addr}, nil
}

// watched is a connection whose end is told.
type watched struct {
	net.Conn
	pool *Pool
	addr string
	once sync.Once
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if err != nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		w.once.Do(func() { w.pool.ended(w.addr) })
	}
	return n, err
}

func (p *Pool) ended(addr string) {
	p.mu.Lock()
	boot := p.boots[addr]
	delete(p.boots, addr)
	p.mu.Unlock()
	p.opts.Ended(addr, boot)
}
