package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// probeTimeout bounds one step of Probe.
const probeTimeout = 3 * time.Second

// Probe finds out whether a node answers calls at an address: a server of HTTP/2 sends its
// settings first, and with a key only one that has the same key does. identity is the client's
// side of TLS, and is changed; nil: calls are plain text.
func Probe(ctx context.Context, addr string, identity *tls.Config) error {
	conn, err := (&net.Dialer{Timeout: probeTimeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(probeTimeout)) // a socket takes one
	if identity != nil {
		identity.NextProtos = []string{"h2"}
		conn = tls.Client(conn, identity)
	}
	const settings = 4 // the type of the first frame, in its fourth octet
	var head [9]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return fmt.Errorf("it does not greet as a crawlnode with this key would: %w", err)
	}
	if head[3] != settings {
		return errors.New("what listens there is no crawlnode")
	}
	return nil
}
