package fetcher

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const wireBufferBytes = 16 << 10 // read at once

// aGet tells http.ReadResponse what it reads the answer of. It is read only.
var aGet = &http.Request{Method: http.MethodGet}

// longAgo is a deadline that has passed; it wakes whoever reads or writes.
var longAgo = time.Unix(1, 0)

// wire reads one answer from a connection: it keeps the bytes of the head,
// and turns a deadline that passed into the limit that it stands for.
type wire struct {
	br *bufio.Reader // reads from the wire itself
	x  *exchange
	nc net.Conn

	head     []byte // bytes read so far while inHead
	inHead   bool
	limit    error // the limit that the head ran into
	bodyFrom time.Time
	received int64 // since the connection was taken
}

// http1 makes the exchange on c. keep says that c may serve another one.
func (x *exchange) http1(c *conn) (resp *Response, keep bool, failure *Error) {
	stop := context.AfterFunc(x.ctx, func() { c.nc.SetDeadline(longAgo) })
	defer func() {
		if !stop() { // the deadline is spoilt, or will be any moment
			keep = false
		}
	}()
	now := time.Now()
	c.nc.SetDeadline(earlier(now.Add(x.f.o.HeadTimeout), x.deadline()))
	c.nc.SetWriteDeadline(earlier(now.Add(deliveryLimit), x.deadline()))
	if x.ctx.Err() != nil { // it may have been cancelled before the lines above
		return nil, false, x.failed(false, x.ctx.Err())
	}
	if refused := x.mayWrite(); refused != nil {
		return nil, false, refused
	}
	if n, err := c.nc.Write(x.head); err != nil {
		if n == 0 && !isTimeout(err) && x.ctx.Err() == nil {
			return nil, false, &Error{Category: Protocol, Contacted: true, Err: errNothingWritten}
		}
		return nil, false, x.failed(false, fmt.Errorf("sending the request: %w", err))
	}
	w := x.f.wires.Get().(*wire)
	w.start(x, c.nc)
	defer w.end()
	hr, head, err := w.readHead()
	if err != nil {
		return nil, false, x.failed(false, err)
	}
	w.startBody()
	raw, cut, err := x.readBody(hr.Body, hr.ContentLength, hr.Header)
	if err != nil {
		return nil, false, x.failed(true, err)
	}
	resp = &Response{
		Status: hr.StatusCode, Proto: hr.Proto, Header: hr.Header, ResponseHead: head,
		RawBody: raw, Truncated: cut, Took: time.Since(x.started),
	}
	return resp, !cut && !hr.Close && w.br.Buffered() == 0, nil
}

func (w *wire) start(x *exchange, nc net.Conn) {
	w.x, w.nc, w.inHead, w.limit, w.head, w.received = x, nc, true, nil, w.head[:0], 0
	w.br.Reset(w)
}

// end gives w back to its pool.
func (w *wire) end() {
	f := w.x.f
	w.x, w.nc = nil, nil
	if cap(w.head) <= 2*wireBufferBytes {
		f.wires.Put(w)
	}
}

// readHead reads the head of the final answer and skips interim ones (RFC 9110
// section 15.2). All of them together are bounded by Options.MaxHead.
func (w *wire) readHead() (*http.Response, []byte, error) {
	from := 0
	for {
		hr, err := http.ReadResponse(w.br, aGet)
		if w.limit != nil { // the parser may have taken what came before it for a whole line
			return nil, nil, w.limit
		}
		if err != nil {
			return nil, nil, err
		}
		to := len(w.head) - w.br.Buffered()
		switch {
		case hr.StatusCode == http.StatusSwitchingProtocols:
			return nil, nil, errSwitching
		case hr.StatusCode < 100 || hr.StatusCode > 999:
			return nil, nil, fmt.Errorf("status %d is none", hr.StatusCode)
		case hr.StatusCode >= 200:
			return hr, archiveHead(w.head[from:to], len(hr.TransferEncoding) > 0), nil
		}
		from = to
	}
}

// startBody begins the payload's limits of time.
func (w *wire) startBody() {
	w.inHead, w.bodyFrom, w.received = false, time.Now(), int64(w.br.Buffered())
	w.extend()
}

// extend sets the deadline that the bytes received so far have earned and
// reports whether it lies ahead. It is set anew only when it passed, so a page
// that arrives quickly costs one timer.
func (w *wire) extend() bool {
	earned := w.x.earned(w.bodyFrom, w.received)
	if !earned.After(time.Now()) {
		return false
	}
	w.nc.SetReadDeadline(earned)
	return w.x.ctx.Err() == nil // else the line above may have undone the wake-up
}

// Read reads from the connection.
func (w *wire) Read(p []byte) (int, error) {
	for {
		n, err := w.nc.Read(p)
		w.received += int64(n)
		if w.inHead && n > 0 {
			if len(w.head)+n > w.x.f.o.MaxHead {
				w.limit = errHeadTooLarge
				return 0, w.limit
			}
			w.head = append(w.head, p[:n]...)
		}
		if err == nil || n > 0 || !isTimeout(err) {
			return n, err
		}
		if w.inHead {
			w.limit = errNoHeadInTime
			return 0, w.limit
		}
		if !w.extend() {
			return 0, tooSlow(w.received, w.bodyFrom)
		}
	}
}

// readBody reads the payload up to the limit; cut says that there was more.
// declared is its length by the head, or -1.
func (x *exchange) readBody(body io.Reader, declared int64, h http.Header) (out []byte, cut bool, err error) {
	if body == nil || body == http.NoBody || declared == 0 {
		return nil, false, nil
	}
	limit := x.maxBody
	need := limit
	if declared > 0 {
		need = min(declared, limit)
	}
	if h.Get("Content-Encoding") != "" {
		need += limit // the decoded form
	}
	x.bufs[0] = x.f.bodies.Get().(*[]byte)
	return x.fill(x.bufs[0], body, limit, need)
}
