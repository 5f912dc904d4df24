package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"crawlnode/config"
	"crawlnode/membership"
	"crawlnode/node/datadir"
	"crawlnode/node/disk"
	"crawlnode/node/links"
)

// LowDiskBytes is the free space below which a node does not fetch.
const LowDiskBytes = disk.LowBytes

// DataState is what a data directory looks like from outside.
type DataState = datadir.State

// InspectData looks at a data directory without touching it. A node may run on it.
func InspectData(path string) DataState { return datadir.Inspect(path) }

// FreeBytes is the free space of the volume that holds path.
func FreeBytes(path string) (int64, error) { return datadir.FreeBytes(path) }

// CheckSeed says what is wrong with the URL of a seed; nil: it can be crawled.
func CheckSeed(url string) error {
	_, err := links.ParseSeed(url)
	return err
}

// GossipProbe is what came of ProbeGossip; its errors are each about one way.
type GossipProbe = membership.ProbeResult

// ProbeGossip asks a node for an answer over gossip's two ways, as a node with
// these settings would.
func ProbeGossip(ctx context.Context, c *config.Config, addr string) (GossipProbe, error) {
	key, err := loadKey(c)
	if err != nil {
		return GossipProbe{}, err
	}
	o := membership.ProbeOptions{Cluster: c.ClusterName}
	if host, _, err := net.SplitHostPort(c.Gossip); err == nil && net.ParseIP(host) != nil {
		o.Bind = host
	}
	if key != nil {
		o.SecretKey = key.GossipKey()
	}
	return membership.Probe(ctx, o, addr), nil
}

// probeTimeout bounds one step of ProbeCalls.
const probeTimeout = 3 * time.Second

// ProbeCalls finds out whether a node answers calls at its --rpc address: a server of
// HTTP/2 sends its settings first, and with a key only one that has the same key does.
func ProbeCalls(ctx context.Context, c *config.Config, addr string) error {
	key, err := loadKey(c)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{Timeout: probeTimeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(probeTimeout)) // a socket takes one
	if key != nil {
		o := key.ClientTLS()
		o.NextProtos = []string{"h2"}
		conn = tls.Client(conn, o)
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
