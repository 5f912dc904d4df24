package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	socks "golang.org/x/net/proxy"
)

// witness keeps the first bytes that a SOCKS server sends: golang.org/x/net tells its answers apart
// in the text of errors alone.
type witness struct {
	net.Conn
	said []byte
}

func (w *witness) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.said = append(w.said, b[:min(n, cap(w.said)-len(w.said))]...)
	return n, err
}

// DialContext hands out the open connection, as the forward dialer of package socks.
func (w *witness) DialContext(context.Context, string, string) (net.Conn, error) { return w, nil }

// Dial is DialContext.
func (w *witness) Dial(string, string) (net.Conn, error) { return w, nil }

// socks asks a SOCKS server for a connection (RFC 1928, and 1929 with credentials).
func (x *exchange) socks(ctx context.Context, c *conn, at netip.AddrPort) *Error {
	s := x.req.special
	var auth *socks.Auth
	if user, password, ok := strings.Cut(s.login, ":"); ok {
		auth = &socks.Auth{User: user, Password: password}
	}
	w := &witness{Conn: c.nc, said: make([]byte, 0, 16)}
	d, err := socks.SOCKS5("tcp", s.via.Addr(), auth, w)
	if err != nil {
		return &Error{Category: Other, Err: err}
	}
	if _, err = d.(socks.ContextDialer).DialContext(ctx, "tcp", at.String()); err != nil {
		return x.notByProxy(w.said, at.String(), err)
	}
	return nil
}

// How a SOCKS server answers (RFC 1928, section 6).
const (
	socksVersion    = 5
	socksByPassword = 2 // a method
	socksNoMethod   = 0xff
	socksGeneral    = 1 // replies
	socksNetwork    = 3
	socksHost       = 4
	socksConnection = 5
	socksTTL        = 6
)

var socksReplies = [...]string{
	"", "general failure", "not allowed by its rules", "network unreachable", "host unreachable",
	"connection refused", "TTL expired", "command not supported", "address type not supported",
}

// notByProxy judges what a SOCKS server has said before the connection to target failed. What it
// says, or does not say, once it has accepted the crawler is about the server.
func (x *exchange) notByProxy(said []byte, target string, err error) *Error {
	via, login := x.req.special.via, x.req.special.login
	err = plainError(err)
	switch {
	case len(said) > 0 && said[0] != socksVersion:
		return ofProxy("it does not speak SOCKS 5")
	case len(said) < 2:
		return ofProxy("greeting it: %w", err)
	case (said[1] == socksNoMethod || said[1] == socksByPassword) && login == "":
		return ofProxy("it wants a password: write secret:NAME@ in front of its host")
	case said[1] == socksNoMethod:
		return ofProxy("it takes neither a user with a password nor none")
	case said[1] != 0 && said[1] != socksByPassword:
		return ofProxy("it chose method %d, which was not offered", said[1])
	}
	reply := said[2:]
	if said[1] == socksByPassword {
		if len(reply) < 2 {
			return ofProxy("sending it the user and password: %w", err)
		}
		if reply[1] != 0 {
			return ofProxy("it does not take the user and password of secret %s", via.Secret)
		}
		reply = reply[2:]
	}
	if len(reply) < 2 {
		return x.ofServer(target, fmt.Errorf("no answer: %w", err))
	}
	what := fmt.Errorf("reply %d", reply[1])
	if code := int(reply[1]); 0 < code && code < len(socksReplies) {
		what = fmt.Errorf("reply %d, %s", code, socksReplies[code])
	}
	switch reply[1] {
	case socksNetwork, socksHost, socksConnection, socksTTL:
		return x.ofServer(target, what)
	case socksGeneral: // nobody knows whose failure it is
		if x.f.proxies.Works(via, time.Now()) {
			return x.ofServer(target, what)
		}
	case 0: // it succeeded, and what follows is none
		return ofProxy("connecting to %s: %w", target, err)
	}
	failure := ofProxy("connecting to %s: %w", target, what)
	failure.refused = true
	return failure
}

// plainError is the error of the connection without what package socks puts in front of it.
func plainError(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err
	}
	return err
}
