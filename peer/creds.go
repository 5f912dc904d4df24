package peer

import (
	"context"
	"crypto/tls"
	"net"

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
	log *door.Log
}

func newCreds(config *tls.Config, log *door.Log) creds {
	if config == nil {
		return creds{insecure.NewCredentials(), log}
	}
	return creds{credentials.NewTLS(config), log}
}

// ServerHandshake lets in who has the cluster's key, or anybody when there is none.
func (c creds) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		c.log.Warn("refused a connection to the RPC port: it has not shown this cluster's key", "from", raw.RemoteAddr().String(), "error", err)
		return nil, nil, err
	}
	return conn, caller{info, raw}, nil
}

// Clone implements credentials.TransportCredentials.
func (c creds) Clone() credentials.TransportCredentials {
	return creds{c.TransportCredentials.Clone(), c.log}
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
