package fetcher

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// longAgo is a deadline in the past; it wakes blocked reads and writes.
var longAgo = time.Unix(1, 0)

// http1 makes the exchange on c. keep says that c may be used again.
func (x *exchange) http1(c *conn) (resp *Response, keep bool, failure *Error) {
	stop := context.AfterFunc(x.ctx, func() { c.nc.SetDeadline(longAgo) })
	defer func() {
		if !stop() { // the deadline has been overwritten, or is about to be
			keep = false
		}
	}()
	now := time.Now()
	c.nc.SetDeadline(earlier(now.Add(x.headTime), x.deadline()))
	c.nc.SetWriteDeadline(earlier(now.Add(deliveryLimit), x.deadline()))
	if x.ctx.Err() != nil { // it may have been cancelled before the lines above
		return nil, false, x.failed(false, x.ctx.Err())
	}
	if refused := x.mayWrite(); refused != nil {
		return nil, false, refused
	}
	if n, err := c.nc.Write(x.head); err != nil {
		if n == 0 && !isTimeout(err) && x.ctx.Err() == nil {
			return nil, false, &Error{
				Category:  Protocol,
				Contacted: true,
				headless:  true,
				Err:       errNothingWritten,
			}
		}
		failure := x.failed(false, fmt.Errorf("sending the request: %w", err))
		failure.headless = true
		return nil, false, failure
	}
	w := x.f.wires.Get().(*wire)
	w.start(x, c.nc)
	defer w.end()
	h, err := w.readHead()
	if err != nil {
		failure := x.failed(false, err)
		failure.headless = true
		failure.Reused = c.used && len(w.buf) == 0 && failure.Category == Protocol && x.ctx.Err() == nil
		return nil, false, failure
	}
	w.startBody()
	body := w.payload(h)
	raw, cut, err := x.readBody(body, h.length, h.header)
	if err != nil {
		if cut, failure = x.ended(err, len(raw), redirects(h.status, h.header)); failure != nil {
			return nil, false, failure
		}
	}
	resp = &Response{
		Status: h.status, Proto: h.proto, Header: h.header, ResponseHead: h.archive,
		RawBody: raw, Truncated: cut, Took: time.Since(x.started),
	}
	if c, chunked := body.(*chunks); chunked && !c.clean {
		h.keep = false
	}
	return resp, cut == "" && h.keep && w.ahead() == 0 && w.err == nil, nil
}

// redirects reports whether the head of an answer is what counts of it.
func redirects(status int, h http.Header) bool {
	return status >= 300 && status < 400 && h.Get("Location") != ""
}

// readBody reads the payload up to the limit; cut says that there was more. declared is its length
// according to the head, or -1. With an error, out is what came before it.
func (x *exchange) readBody(
	body io.Reader,
	declared int64,
	h http.Header,
) (out []byte, cut Cut, err error) {
	if body == nil || body == http.NoBody || declared == 0 {
		return nil, "", nil
	}
	limit := x.maxBody
	need := limit
	if declared > 0 {
		need = min(declared, limit)
	}
	if h.Get("Content-Encoding") != "" {
		need += limit // the decoded form
	}
	if x.req.received != nil {
		body = summed{body, x.req.received}
	}
	x.bufs[0] = x.f.bodies.Get().(*[]byte)
	// more memory only for what has come
	out, more, err := x.fill(x.bufs[0], body, limit, need, min(declared, largeBodyBytes-1))
	if more {
		cut = CutLength
	}
	return out, cut, err
}

// summed adds the bytes that are read to a sum that others may read concurrently.
type summed struct {
	io.Reader
	sum *atomic.Int64
}

func (c summed) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.sum.Add(int64(n))
	return n, err
}
