package fetcher

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
	"unique"

	"crawlnode/web/proxy"
)

// connKey identifies what a kept connection can be used for. The address is part of it: a host that
// moved is not asked at its old address. A connection to a proxy, over which requests for several
// hosts could be sent, is kept for its own host alone: one request at a time goes to a host.
type connKey struct {
	tls    bool
	record bool // its certificate was not enforced
	host   string
	port   uint16
	addr   netip.Addr
	route  unique.Handle[route] // zero: the address itself, from any local one
}

// route is how a connection gets to its server. The name of a proxy's secret is part of it: who has
// no credentials must not use a connection of somebody who has.
type route struct {
	proxy  proxy.Proxy
	source netip.Addr
}

// keyOf returns the connection key of a request.
func keyOf(req *Request) (connKey, error) {
	u := req.URL
	if u.IsZero() {
		return connKey{}, errors.New("no URL")
	}
	k := connKey{tls: u.Scheme() == "https", host: u.Host(), port: 80, addr: req.Addr}
	if k.tls {
		k.port = 443
	}
	if rest := authority(u.Scheme(), u.Origin())[len(k.host):]; rest != "" {
		port, err := strconv.ParseUint(strings.TrimPrefix(rest, ":"), 10, 16)
		if err != nil {
			return connKey{}, fmt.Errorf("port of %s: %w", u.Origin(), err)
		}
		k.port = uint16(port)
	}
	return k, nil
}

// conn is one connection. It belongs to one exchange at a time, or to the pool.
type conn struct {
	key       connKey
	raw       net.Conn // the TCP connection, to the server or to a proxy
	nc        net.Conn // raw, or TLS over it; over a proxy's TLS, if it has one
	tls       *TLSInfo
	h2        *http.ClientConn // nil: HTTP/1
	guard     *floodGuard      // under h2
	used      bool             // it was kept, and is used again
	idleSince time.Time        // written by the pool
	lookout   *lookout         // over raw; made when it was kept for the first time
}

// usable reports whether a kept connection is still open.
func (c *conn) usable() bool {
	if c.h2 != nil {
		return c.h2.Err() == nil && c.h2.Available() > 0
	}
	if c.lookout == nil {
		c.lookout = newLookout(c.raw)
	}
	return c.lookout.quiet()
}

// close ends the connection at once, without a TLS close message: it never blocks.
func (c *conn) close() {
	if c.h2 != nil {
		c.h2.Close()
	}
	c.raw.Close()
}

// dial opens a connection to exactly the exchange's address, over its proxy if it has one.
func (x *exchange) dial() (*conn, *Error) {
	f := x.f
	at := netip.AddrPortFrom(x.key.addr, x.key.port)
	if err := f.checkAddr(at); err != nil {
		return nil, &Error{Category: BlockedAddress, Err: err}
	}
	ctx, cancel := context.WithDeadline(x.ctx,
		earlier(time.Now().Add(f.o.ConnectTimeout), x.deadline()))
	defer cancel()
	x.dialled = true
	c := &conn{key: x.key}
	target := at.String()
	if s := x.req.special; s != nil && !s.via.IsZero() {
		if err := x.dialProxy(ctx, c, at); err != nil {
			return nil, err
		}
	} else {
		raw, err := x.dialTarget(ctx, target)
		if err != nil {
			return nil, x.notDialled(Connect, fmt.Errorf("connecting to %s: %w", target, err))
		}
		limitDelivery(raw)
		c.raw, c.nc = raw, raw
	}
	if x.key.tls {
		if err := x.handshake(c); err != nil {
			c.raw.Close()
			return nil, x.notConnected(TLS,
				fmt.Errorf("TLS with %s at %s: %w%s", x.key.host, target, err, x.tlsHint(err)))
		}
	}
	return c, nil
}

// dialTarget opens a TCP connection to the server.
func (x *exchange) dialTarget(ctx context.Context, target string) (net.Conn, error) {
	if s := x.req.special; s != nil && s.source.IsValid() {
		return from(x.f.dialer, s.source).DialContext(ctx, "tcp", target)
	}
	return x.f.o.DialContext(ctx, "tcp", target)
}

// notDialled is notConnected for a failure of the dialer, which may be the local address's.
func (x *exchange) notDialled(c Category, err error) *Error {
	var call *os.SyscallError
	if s := x.req.special; s != nil && s.source.IsValid() && errors.As(err, &call) &&
		call.Syscall == "bind" {
		return &Error{Category: Other, Err: fmt.Errorf("source address %s: %w", s.source, call)}
	}
	return x.notConnected(c, err)
}

// notConnected makes the Error of a connection that could not be made.
func (x *exchange) notConnected(c Category, err error) *Error {
	if cause := x.ctx.Err(); cause != nil {
		return &Error{
			Category:  categoryOfContext(cause),
			Contacted: true,
			Err:       fmt.Errorf("fetch cancelled: %w", cause),
		}
	}
	return &Error{Category: c, Contacted: true, Err: err}
}

// handshake starts TLS on c, and HTTP/2 on top when both sides support it.
func (x *exchange) handshake(c *conn) error {
	ctx, cancel := context.WithDeadline(x.ctx, earlier(time.Now().Add(x.f.o.TLSTimeout), x.deadline()))
	defer cancel()
	c.tls = &TLSInfo{}
	cfg := x.f.strict
	if x.key.record {
		cfg = x.f.lax
	}
	cfg = cfg.Clone()
	if x.f.quirks.has(x.key, onlyHTTP1) {
		cfg.NextProtos = []string{"http/1.1"}
	}
	cfg.ServerName = strings.Trim(x.key.host, "[]")
	if x.key.record {
		cfg.VerifyConnection = func(cs tls.ConnectionState) error {
			c.tls.Err = verify(cs, cfg)
			return nil
		}
	}
	tc := tls.Client(c.nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return err
	}
	cs := tc.ConnectionState()
	c.nc, c.tls.Version = tc, cs.Version
	if cs.NegotiatedProtocol != "h2" {
		return nil
	}
	var err error
	c.guard = &floodGuard{Conn: tc, maxHead: x.f.o.MaxHead}
	c.h2, err = x.f.h2.NewClientConn(withTLSConn(ctx, c.guard), "https",
		net.JoinHostPort(cfg.ServerName, "443"))
	return err
}

// tlsHint says what helps when the server refused every protocol version and key exchange that is
// still secure. An alert does not say which of them it misses.
func (x *exchange) tlsHint(err error) string {
	text := err.Error()
	refused := strings.Contains(text, "handshake failure") ||
		strings.Contains(text, "protocol version") ||
		strings.Contains(text, "unsupported cipher suite") ||
		strings.Contains(text, "unconfigured cipher suite")
	if x.key.record || !refused {
		return ""
	}
	return "; the server seems to offer only what is no longer secure (RSA key exchange, " +
		"old ciphers, or TLS before 1.2):" +
		" --tls-verify record fetches from it all the same"
}

// verify is the check that crypto/tls skips under InsecureSkipVerify.
func verify(cs tls.ConnectionState, cfg *tls.Config) error {
	if len(cs.PeerCertificates) == 0 {
		return errors.New("no certificate")
	}
	opts := x509.VerifyOptions{
		Roots:         cfg.RootCAs,
		DNSName:       cfg.ServerName,
		Intermediates: x509.NewCertPool(),
	}
	for _, cert := range cs.PeerCertificates[1:] {
		opts.Intermediates.AddCert(cert)
	}
	_, err := cs.PeerCertificates[0].Verify(opts)
	return err
}

// tlsConfigs makes the strict and the lax TLS configuration. Each has its own bounded session
// cache, so that a session made with an unverified certificate is never resumed by a strict
// connection. A session helps when the connection to its host is no longer kept, so there are more
// sessions than connections; a session takes about 5 KB.
func (f *Fetcher) tlsConfigs() (strict, lax *tls.Config) {
	sessions := 2 * f.o.MaxIdleConns
	strict = &tls.Config{
		RootCAs:            f.o.RootCAs,
		NextProtos:         []string{"h2", "http/1.1"},
		MinVersion:         tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(sessions),
	}
	lax = strict.Clone()
	lax.ClientSessionCache = tls.NewLRUClientSessionCache(sessions)
	lax.MinVersion = tls.VersionTLS10
	// with RSA key exchange
	for _, suites := range [][]*tls.CipherSuite{tls.CipherSuites(), tls.InsecureCipherSuites()} {
		for _, s := range suites {
			lax.CipherSuites = append(lax.CipherSuites, s.ID)
		}
	}
	lax.InsecureSkipVerify = true // verify records what is wrong
	return strict, lax
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
