package gossip

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/hashicorp/memberlist"
)

// ProbeOptions say how Probe asks a node.
type ProbeOptions struct {
	Bind      string // the IP address to ask from; "": any
	Cluster   string // as Options.Cluster
	SecretKey []byte // as Options.SecretKey
}

// ProbeResult is what Probe found. Each error is about its own protocol only.
type ProbeResult struct {
	TCP, UDP error
	// RTT is the round-trip time over UDP.
	RTT time.Duration
}

// Probe tests whether the node whose gossip listens at addr, host:port, can be reached
// over TCP and over UDP. It joins nothing and changes nothing at that node. Over UDP the
// node answers only a request with its cluster's name and key; the answer is sent to a
// port that the system chose. Probe blocks for some seconds at most.
func Probe(ctx context.Context, o ProbeOptions, addr string) (r ProbeResult) {
	dialer := net.Dialer{Timeout: streamTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if r.TCP = err; err == nil {
		_ = conn.Close() // nothing was sent
	}
	r.RTT, r.UDP = ping(ctx, o, addr)
	return r
}

// ping sends memberlist's own ping, from a memberlist of one.
func ping(ctx context.Context, o ProbeOptions, addr string) (time.Duration, error) {
	var dialer net.Dialer
	route, err := dialer.DialContext(ctx, "udp", addr) // sends nothing: it only resolves the addresses
	if err != nil {
		return 0, err
	}
	from, to := route.LocalAddr().(*net.UDPAddr), route.RemoteAddr()
	_ = route.Close() // nothing was sent
	conf := memberlist.DefaultLANConfig()
	conf.Name = "probe"
	conf.BindAddr, conf.BindPort, conf.AdvertisePort = from.IP.String(), 0, 0
	if ip := net.ParseIP(o.Bind); ip != nil && !ip.IsUnspecified() {
		conf.BindAddr = o.Bind
	}
	conf.Label, conf.SecretKey, conf.ProbeTimeout = o.Cluster, o.SecretKey, streamTimeout
	conf.ProbeInterval = 2 * streamTimeout // memberlist's own wait for the answer
	conf.Logger = bridge(slog.New(slog.DiscardHandler))
	list, err := memberlist.Create(conf)
	if err != nil {
		return 0, fmt.Errorf("ask from a port of this machine: %w", err)
	}
	defer func() { _ = list.Shutdown() }() // it was never a member of anything
	return list.Ping("", to)
}
