package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// tlsConnKey passes a TLS connection through Transport.NewClientConn.
type tlsConnKey struct{}

func withTLSConn(ctx context.Context, c *floodGuard) context.Context {
	return context.WithValue(ctx, tlsConnKey{}, c)
}

// newHTTP2 makes the Transport that runs HTTP/2 over our TLS connections. It dials nothing and
// keeps nothing.
func newHTTP2(o Options) *http.Transport {
	p := new(http.Protocols)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true) // net/http does not recognise a guarded connection as TLS
	return &http.Transport{
		Protocols:              p,
		DisableCompression:     true,
		MaxResponseHeaderBytes: int64(o.MaxHead),
		HTTP2: &http.HTTP2Config{
			SendPingTimeout:               15 * time.Second,
			PingTimeout:                   5 * time.Second,
			WriteByteTimeout:              deliveryLimit,
			MaxReceiveBufferPerStream:     1 << 20,
			MaxReceiveBufferPerConnection: 1 << 20,
		},
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, ok := ctx.Value(tlsConnKey{}).(*floodGuard)
			if !ok {
				return nil, errors.New("BUG: an HTTP/2 connection without its TLS connection")
			}
			return c, nil
		},
	}
}

// watch cancels an exchange when a time limit is reached. It applies the same limits as wire, to a
// connection whose deadlines this package cannot set. The head's limit is checked when it passes,
// the payload's rate from then on.
type watch struct {
	x        *exchange
	ctx      context.Context
	cancel   context.CancelCauseFunc
	received atomic.Int64
	bodyFrom atomic.Pointer[time.Time] // nil while the head is awaited
	timer    *time.Timer
}

func (x *exchange) newWatch() *watch {
	w := &watch{x: x}
	w.ctx, w.cancel = context.WithCancelCause(x.ctx)
	w.timer = time.AfterFunc(time.Hour, w.check) // check uses w.timer, so it must be set before
	w.timer.Reset(time.Until(earlier(time.Now().Add(x.headTime), x.deadline())))
	return w
}

// startBody starts the payload's limits.
func (w *watch) startBody() {
	now := time.Now()
	w.bodyFrom.Store(&now)
}

// stop ends the watch.
func (w *watch) stop() {
	w.cancel(nil)
	w.timer.Stop()
}

// check is the timer's function.
func (w *watch) check() {
	if w.ctx.Err() != nil {
		return
	}
	from := w.bodyFrom.Load()
	if from == nil {
		w.cancel(errNoHeadInTime)
		return
	}
	n := w.received.Load()
	left := time.Until(w.x.earned(*from, n))
	if left <= 0 {
		w.cancel(tooSlow(n, *from))
		return
	}
	w.timer.Reset(left)
}

// watched counts the bytes read of an HTTP/2 payload.
type watched struct {
	io.Reader
	w *watch
}

func (r watched) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.w.received.Add(int64(n))
	return n, err
}

// http2 makes the exchange on c. keep says that c may be used again. net/http sends the request
// once: ClientConn does not repeat.
func (x *exchange) http2(c *conn) (resp *Response, keep bool, failure *Error) {
	w := x.newWatch()
	defer w.stop()
	if refused := x.mayWrite(); refused != nil {
		return nil, false, refused
	}
	c.guard.fetches.Add(1)
	hr, err := c.h2.RoundTrip(x.http2Request(w.ctx))
	if err != nil {
		failure := x.failed(false, causeOr(w.ctx, err))
		ended := failure.Category == Protocol && w.ctx.Err() == nil && !errors.Is(err, ErrFlood)
		if ended && wantsHTTP1(err) {
			x.f.quirks.note(x.key, onlyHTTP1)
			failure.Reused = true
		}
		failure.Reused = failure.Reused || ended && c.used
		return nil, false, failure
	}
	defer hr.Body.Close()
	w.startBody()
	raw, cut, err := x.readBody(watched{hr.Body, w}, hr.ContentLength, hr.Header)
	if err != nil {
		// the server reset the stream, or the connection ended
		if w.ctx.Err() == nil && !errors.Is(err, ErrFlood) {
			err = fmt.Errorf("%w: %v", io.ErrUnexpectedEOF, err)
		}
		if cut, failure = x.ended(causeOr(w.ctx, err), len(raw),
			redirects(hr.StatusCode, hr.Header)); failure != nil {
			return nil, false, failure
		}
	}
	resp = &Response{
		Status: hr.StatusCode, Proto: hr.Proto, Header: hr.Header,
		ResponseHead: writtenHead(hr.StatusCode, hr.Header),
		RawBody:      raw, Truncated: cut, Took: time.Since(x.started),
	}
	return resp, cut == "", nil
}

// wantsHTTP1 reports whether the server ended a stream or the connection with HTTP_1_1_REQUIRED
// (RFC 9113, section 7). net/http has no value to compare with.
func wantsHTTP1(err error) bool { return strings.Contains(err.Error(), "HTTP_1_1_REQUIRED") }

// http2Request has the same content as requestHead. An opaque URL is sent as it is: net/http would
// decode and encode a path again, and the server would see another one.
func (x *exchange) http2Request(ctx context.Context) *http.Request {
	host := x.host()
	path, query, hasQuery := strings.Cut(x.req.url.PathQuery(), "?")
	u := &url.URL{
		Scheme:     "https",
		Host:       host,
		Opaque:     "//" + host + path,
		RawQuery:   query,
		ForceQuery: hasQuery && query == "",
	}
	h := make(http.Header, 8)
	for _, l := range x.lines() {
		if l.value != "" {
			h[l.name] = []string{l.value}
		}
	}
	for _, own := range x.headers() {
		if own.Value != "" && ownLine(own.Name) < 0 {
			h.Add(own.Name, own.Value)
		}
	}
	r := &http.Request{
		Method:     http.MethodGet,
		URL:        u,
		Host:       host,
		Header:     h,
		Proto:      "HTTP/2.0",
		ProtoMajor: 2,
	}
	return r.WithContext(ctx)
}

// causeOr prefers the limit that was reached to the error of the connection.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
