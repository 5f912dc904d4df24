package peer

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	grpcpeer "google.golang.org/grpc/peer"

	"crawlnode/security/door"
)

// maxHeaderBytes bounds the headers of a call; those of a node have some 200 bytes.
const maxHeaderBytes = 16 << 10

// creds are the server's side of a connection's beginning. They remember the
// connection, so that a valid call can make it trusted, and log what is refused.
type creds struct {
	credentials.TransportCredentials
	log  *door.Log
	open *openConns
}

func newCreds(config *tls.Config, log *door.Log) creds {
	c := creds{insecure.NewCredentials(), log, newOpenConns()}
	if config != nil {
		c.TransportCredentials = credentials.NewTLS(config)
	}
	return c
}

// openConns are the connections whose other side has shown an identity: those of the
// server, which the listener bounds, or those to one target.
type openConns struct {
	mu  sync.Mutex // guards all
	all map[*shown]bool
}

func newOpenConns() *openConns { return &openConns{all: map[*shown]bool{}} }

// shown is one of them.
type shown struct {
	net.Conn
	state tls.ConnectionState
	open  *openConns
}

// Close ends the connection.
func (s *shown) Close() error {
	s.open.mu.Lock()
	delete(s.open.all, s)
	s.open.mu.Unlock()
	return s.Conn.Close()
}

// add watches a connection until it is closed.
func (o *openConns) add(conn net.Conn, state tls.ConnectionState) net.Conn {
	s := &shown{conn, state, o}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all[s] = true
	return s
}

// but returns the connections whose identity is not taken.
func (o *openConns) but(takes func(tls.ConnectionState) bool) (others []*shown) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for s := range o.all {
		if !takes(s.state) {
			others = append(others, s)
		}
	}
	return others
}

// recheck closes the connections whose identity is not taken any more.
func (o *openConns) recheck(takes func(tls.ConnectionState) bool) {
	for _, s := range o.but(takes) {
		_ = s.Close() // its server gets the error
	}
}

// clientCreds are the client's side of one target's connections.
type clientCreds struct {
	credentials.TransportCredentials // of the first try
	config                           func(try int) *tls.Config
	// identities that the other side has shown and that were not wanted
	refused *atomic.Int64
	open    *openConns
}

func newClientCreds(config func(try int) *tls.Config, open *openConns) clientCreds {
	return clientCreds{credentials.NewTLS(config(0)), config, new(atomic.Int64), open}
}

// ClientHandshake shows the identity of this try. A handshake that fails for another
// reason, such as its deadline, tells nothing about the other side's keys.
func (c clientCreds) ClientHandshake(
	ctx context.Context,
	authority string,
	raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	config := c.config(int(c.refused.Load())).Clone()
	verify := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if verify == nil {
			return nil
		}
		err := verify(state)
		if err != nil {
			c.refused.Add(1)
		}
		return err
	}
	conn, info, err := credentials.NewTLS(config).ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, err
	}
	if t, ok := info.(credentials.TLSInfo); ok {
		conn = c.open.add(conn, t.State)
	}
	return conn, info, nil
}

// Clone implements credentials.TransportCredentials.
func (c clientCreds) Clone() credentials.TransportCredentials {
	return clientCreds{c.TransportCredentials.Clone(), c.config, c.refused, c.open}
}

// ServerHandshake lets in callers that have the cluster's key; without a key it lets in all.
func (c creds) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		c.log.Warn("refused a connection to the RPC port: it has not shown this cluster's key", "from",
			raw.RemoteAddr().String(), "error", err)
		return nil, nil, err
	}
	if t, ok := info.(credentials.TLSInfo); ok {
		conn = c.open.add(conn, t.State)
	}
	return conn, caller{info, raw}, nil
}

// Clone implements credentials.TransportCredentials.
func (c creds) Clone() credentials.TransportCredentials {
	return creds{c.TransportCredentials.Clone(), c.log, c.open}
}

// caller is what is known of a connection before its first call.
type caller struct {
	credentials.AuthInfo
	conn net.Conn
}

// trust makes the connection of a valid call a trusted one.
func trust(ctx context.Context) {
	if p, ok := grpcpeer.FromContext(ctx); ok {
		if c, ok := p.AuthInfo.(caller); ok {
			door.Trust(c.conn)
		}
	}
}
