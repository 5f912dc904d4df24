package fetcher

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unique"

	"crawlnode/web/proxy"
)

// This file asks over proxies.
//
//	http URL, http(s) proxy    the request goes to the proxy, with the whole URL in it; the proxy
//	                           resolves the name (RFC 9112, section 3.2.2)
//	https URL, http(s) proxy   CONNECT to the resolved address, and TLS with the host through it
//	socks5 proxy               CONNECT to the resolved address
//
// Whose failure is it? A failure of the proxy (category Proxy) makes the crawl wait for the proxy,
// and one of the server costs its host a try. So no server may be able to make a proxy look broken:
// where a silence may be either's, the proxy is asked for something that it answers itself
// (answers), and what the proxy says of one server counts against it only while it works for no
// other one (Error.refused).

const (
	// maxProxyHead bounds the answer to CONNECT, interim answers included.
	maxProxyHead = 64 << 10
	// answerTime bounds the question whether a proxy answers at all, as does ConnectTimeout. It is not
	// part of the fetch's own time, which a server may have used up.
	answerTime = 5 * time.Second
	// refusedWait is the wait for a proxy that works, and refuses a server.
	refusedWait = time.Minute
	// leastWait is the least RetryAfter.
	leastWait = time.Second
)

var (
	errProxyHead   = fmt.Errorf("the head of its answer is larger than %d bytes", maxProxyHead)
	errProxyBehind = errors.New("it sends bytes of its own into the connection")
)

// route is the part of a connection's key that says how it gets to its server.
func (s *special) route() unique.Handle[route] {
	r := route{s.via, s.source}
	if r == (route{}) {
		return unique.Handle[route]{}
	}
	return unique.Make(r)
}

// absolute reports whether the request is sent to a proxy with its whole URL.
func (x *exchange) absolute() bool {
	s := x.req.special
	return s != nil && !x.key.tls && (s.via.Scheme == proxy.HTTP || s.via.Scheme == proxy.HTTPS)
}

// byProxies makes the fetch over the proxy whose turn it is, and over the next one when that fails
// before the server may have got the request.
func (x *exchange) byProxies() (*Response, *Error) {
	s, pool := x.req.special, &x.f.proxies
	var last *Error
	for range s.proxies {
		via, _, ok := pool.Next(s.proxies, time.Now())
		if !ok {
			break
		}
		resp, failure := x.by(via)
		now := time.Now()
		switch {
		case failure == nil, failure.Contacted && failure.Category != Proxy && x.ctx.Err() == nil:
			pool.Worked(via, now)
			return resp, failure
		case failure.Category != Proxy:
			return nil, failure
		}
		failure.Err = fmt.Errorf("%v: %w", via, failure.Err)
		if failure.refused = failure.refused && pool.Works(via, now); !failure.refused {
			pool.Failed(via, failure.Err, now)
		}
		if last = failure; failure.Contacted {
			break
		}
		x.free() // of an answer that was not the server's
	}
	wait, why := pool.Wait(s.proxies, time.Now())
	if last == nil {
		last = ofProxy("no proxy may be tried for %v: %s", wait.Round(time.Second), why)
	}
	if wait == 0 && last.refused {
		wait = refusedWait
	}
	last.RetryAfter = max(wait, leastWait)
	return nil, last
}

// by makes the fetch over one proxy.
func (x *exchange) by(via proxy.Proxy) (*Response, *Error) {
	s := x.req.special
	s.via, s.login = via, ""
	if via.Secret != "" {
		var err error
		if s.login, err = s.credentials(); err != nil {
			return nil, &Error{Category: Proxy, Err: err}
		}
	}
	x.key.route = s.route()
	x.head = x.appendHead(make([]byte, 0, cap(x.head)), false)
	resp, failure := x.once()
	if failure != nil && x.absolute() && x.mayBeProxys(failure) && !x.answers() {
		failure.Category = Proxy
		failure.Err = fmt.Errorf("it gives no answer in HTTP: %w", failure.Err)
	}
	return resp, failure
}

// mayBeProxys reports whether a request with its whole URL failed in a way that is the proxy's as
// well as the server's. A kept connection that has ended says nothing of either.
func (x *exchange) mayBeProxys(e *Error) bool {
	return e.headless && !e.Reused && x.ctx.Err() == nil &&
		(e.Category == Timeout || e.Category == Protocol)
}

// ofProxy makes the Error of a failure of the proxy, which byProxies names.
func ofProxy(format string, args ...any) *Error {
	return &Error{Category: Proxy, Err: fmt.Errorf(format, args...)}
}

// ofServer makes the Error of a server that a proxy could not reach.
func (x *exchange) ofServer(target string, err error) *Error {
	return &Error{Category: Connect, Contacted: true,
		Err: fmt.Errorf("connecting to %s over the proxy %v: %w", target, x.req.special.via, err)}
}

// credentials are the user and the password for the current proxy. The errors have neither.
func (s *special) credentials() (string, error) {
	name := s.via.Secret
	if s.proxyUser == nil {
		return "", fmt.Errorf("there is no secret %s: give --secrets", name)
	}
	login, ok := s.proxyUser(name)
	user, password, colon := strings.Cut(login, ":")
	const socksBytes = 255
	switch {
	case !ok:
		return "", fmt.Errorf("there is no secret %s in the file of --secrets", name)
	case !colon || user == "" || !plainValue(login):
		return "", fmt.Errorf("the secret %s is not of the form user:password", name)
	case s.via.Scheme == proxy.SOCKS5 && (len(user) > socksBytes || len(password) > socksBytes):
		return "", fmt.Errorf("the secret %s is too long: SOCKS has %d bytes for each", name, socksBytes)
	}
	return login, nil
}

// dialProxy opens c to the exchange's proxy and, unless the request goes to the proxy itself,
// through it to the server at the address. It closes what it opened when it fails.
func (x *exchange) dialProxy(ctx context.Context, c *conn, at netip.AddrPort) *Error {
	raw, err := x.reachProxy(ctx)
	if err != nil {
		failure := x.notDialled(Proxy, fmt.Errorf("connecting to it: %w", err))
		failure.Contacted = false
		return failure
	}
	c.raw, c.nc = raw, raw
	failure := x.throughProxy(ctx, c, at)
	if failure != nil {
		raw.Close()
		if cause := x.ctx.Err(); cause != nil {
			return x.notConnected(Proxy, failure.Err)
		}
	}
	return failure
}

// reachProxy opens the TCP connection to the proxy.
func (x *exchange) reachProxy(ctx context.Context) (net.Conn, error) {
	s := x.req.special
	var raw net.Conn
	var err error
	switch d := (&net.Dialer{
		Control:         x.f.proxyControl,
		KeepAliveConfig: net.KeepAliveConfig{Enable: false},
	}); {
	case x.f.o.DialProxy != nil:
		raw, err = x.f.o.DialProxy(ctx, "tcp", s.via.Addr())
	case s.source.IsValid():
		raw, err = from(d, s.source).DialContext(ctx, "tcp", s.via.Addr())
	default:
		raw, err = d.DialContext(ctx, "tcp", s.via.Addr())
	}
	if err == nil {
		limitDelivery(raw)
	}
	return raw, err
}

// proxyTLS starts TLS with the proxy over c.
func (x *exchange) proxyTLS(ctx context.Context, c *conn) error {
	cfg := &tls.Config{
		RootCAs: x.f.o.RootCAs, ServerName: strings.TrimSuffix(x.req.special.via.Host, "."),
		NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
	}
	tc := tls.Client(c.nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return err
	}
	c.nc = tc
	return nil
}

// throughProxy asks the proxy for what the request needs.
func (x *exchange) throughProxy(ctx context.Context, c *conn, at netip.AddrPort) *Error {
	s := x.req.special
	if s.via.Scheme == proxy.HTTPS {
		if err := x.proxyTLS(ctx, c); err != nil {
			return ofProxy("TLS with it: %w", err)
		}
	}
	if x.absolute() {
		return nil
	}
	if err := x.f.checkAddr(at); err != nil { // the rules may have changed while the proxy was dialled
		return &Error{Category: BlockedAddress, Err: err}
	}
	if s.via.Scheme == proxy.SOCKS5 {
		return x.socks(ctx, c, at)
	}
	return x.connect(ctx, c, at)
}

// connect sends CONNECT and reads the answer (RFC 9110, section 9.3.6).
func (x *exchange) connect(ctx context.Context, c *conn, at netip.AddrPort) *Error {
	target := at.String()
	ask := append(make([]byte, 0, 256), "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n"...)
	ask = line{"Proxy-Authorization", basic(x.req.special.login), true}.append(ask, false)
	h, begun, err := talk(ctx, c.nc, append(ask, "\r\n"...))
	switch {
	case err != nil && !begun && x.ctx.Err() == nil && x.answers():
		return x.ofServer(target, fmt.Errorf("no answer: %w", err))
	case err != nil:
		return ofProxy("asking it for %s: %w", target, err)
	}
	return x.connected(h, target)
}

// connected judges the answer to CONNECT.
func (x *exchange) connected(h *head, target string) *Error {
	switch h.status {
	case http.StatusProxyAuthRequired:
		return ofProxy("%w", x.wrongCredentials())
	case http.StatusInternalServerError, // what tinyproxy says of a server that it cannot reach
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return x.ofServer(target, fmt.Errorf("it answered CONNECT with %d", h.status))
	}
	if h.status/100 == 2 {
		return nil
	}
	failure := ofProxy("it answered CONNECT to %s with %d", target, h.status)
	failure.refused = true
	return failure
}

// wrongCredentials says what 407 means.
func (x *exchange) wrongCredentials() error {
	if s := x.req.special; s.via.Secret != "" {
		return fmt.Errorf("it does not take the user and password of secret %s (407)", s.via.Secret)
	}
	return errors.New("it wants a password (407): write secret:NAME@ in front of its host")
}

// talk sends a request to a proxy and reads the head of the final answer. begun says that some of
// it came. A byte more than a head of success is an error: the crawler has to speak first.
func talk(ctx context.Context, nc net.Conn, ask []byte) (h *head, begun bool, err error) {
	if deadline, ok := ctx.Deadline(); ok {
		_ = nc.SetDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(longAgo) })
	defer func() {
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		_ = nc.SetDeadline(time.Time{})
	}()
	if _, err := nc.Write(ask); err != nil {
		return nil, false, err
	}
	b := make([]byte, 0, 1024)
	for from := 0; ; {
		for end := endOfLines(b[from:]); end > 0; end = endOfLines(b[from:]) {
			h, err := parseHead(b[from : from+end])
			if err != nil {
				return nil, true, err
			}
			if from += end; h.status < 200 && h.status != http.StatusSwitchingProtocols {
				continue
			}
			if h.status < 300 && from < len(b) {
				return nil, true, errProxyBehind
			}
			return h, true, nil
		}
		if len(b) >= maxProxyHead {
			return nil, true, errProxyHead
		}
		if len(b) == cap(b) {
			b = append(make([]byte, 0, min(4*cap(b), maxProxyHead)), b...)
		}
		n, err := nc.Read(b[len(b):cap(b)])
		if b = b[:len(b)+n]; n == 0 && err != nil {
			return nil, len(b) > 0, err
		}
	}
}

// endOfLines is where the empty line behind the first head in b ends; 0: it is not there yet.
func endOfLines(b []byte) int {
	start := len(b) - len(bytes.TrimLeft(b, "\r\n"))
	for at := start; ; {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			return 0
		}
		at += n + 1
		switch rest := b[at:]; {
		case bytes.HasPrefix(rest, []byte("\n")):
			return at + 1
		case bytes.HasPrefix(rest, []byte("\r\n")):
			return at + 2
		}
	}
}

// answers reports whether the HTTP proxy answers a request that only it can answer (RFC 9110,
// section 7.6.2), on a connection of its own. Any answer in HTTP will do.
func (x *exchange) answers() bool {
	ctx, cancel := context.WithTimeout(x.ctx, min(answerTime, x.f.o.ConnectTimeout))
	defer cancel()
	raw, err := x.reachProxy(ctx)
	if err != nil {
		return false
	}
	defer raw.Close()
	via := x.req.special.via
	c := &conn{raw: raw, nc: raw}
	if via.Scheme == proxy.HTTPS && x.proxyTLS(ctx, c) != nil {
		return false
	}
	h, _, _ := talk(ctx, c.nc, []byte("OPTIONS * HTTP/1.1\r\nHost: "+via.Addr()+
		"\r\nMax-Forwards: 0\r\nConnection: close\r\n\r\n"))
	return h != nil
}
