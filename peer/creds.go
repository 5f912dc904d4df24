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

	"crawlnode/door"
)

// maxHeaderBytes bounds the headers of a call; those of a node have some 200 bytes.
const maxHeaderBytes = 16 << 10

// creds are the server's side of a connection's beginning. They remember the
// connection, so that a valid call can make it trusted, and log who is refused.
type creds struct {
	credentials.TransportCredentials
	log  *door.Log
	open *openConns
}

func newCreds(config *tls.Config, log *door.Log) creds {
	c := creds{insecure.NewCredentials(), log, &openConns{all: map[*shown]bool{}}}
	if config != nil {
		c.TransportCredentials = credentials.NewTLS(config)
	}
	return c
}

// openConns are the connections that have shown an identity; the listener bounds them.
type openConns struct {
	mu  sync.Mutex // guards all
	all map[*shown]bool
}

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

// recheck closes the connections whose identity is not taken any more.
func (o *openConns) recheck(takes func(tls.ConnectionState) bool) {
	o.mu.Lock()
	var gone []*shown
	for s := range o.all {
		if !takes(s.state) {
			gone = append(gone, s)
		}
	}
	o.mu.Unlock()
	for _, s := range gone {
		_ = s.Close() // whoever serves it hears of it
	}
}

// clientCreds are the client's side of one target's connections.
type clientCreds struct {
	credentials.TransportCredentials // of the first try
	config                           func(try int) *tls.Config
	failed                           *atomic.Int64
}

func newClientCreds(config func(try int) *tls.Config) clientCreds {
	return clientCreds{credentials.NewTLS(config(0)), config, new(atomic.Int64)}
}

// ClientHandshake shows the identity of this try.
func (c clientCreds) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := credentials.NewTLS(c.config(int(c.failed.Load()))).ClientHandshake(ctx, authority, raw)
	if err != nil {
		c.failed.Add(1)
	}
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (c clientCreds) Clone() credentials.TransportCredentials {
	return clientCreds{c.TransportCredentials.Clone(), c.config, c.failed}
}

// ServerHandshake lets in who has the cluster's key, or anybody when there is none.
func (c creds) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		c.log.Warn("refused a connection to the RPC port: it has not shown this cluster's key", "from", raw.RemoteAddr().String(), "error", err)
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
