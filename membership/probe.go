package membership

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/hashicorp/memberlist"
)

// ProbeOptions say how to knock at a node.
type ProbeOptions struct {
	Bind      string // the IP address to ask from; "" is any
	Cluster   string // as Options.Cluster
	SecretKey []byte // as Options.SecretKey
}

// ProbeResult is what came of it. An error of TCP or UDP is about that way alone.
type ProbeResult struct {
	TCP, UDP error
	// RTT is the time that the answer over UDP took.
	RTT time.Duration
}

// Probe asks the node whose gossip listens at addr, host:port, for an answer, over
// TCP and over UDP, without joining anything: the node takes no notice. Over UDP it
// answers only who asks with its cluster's name and key, and the answer comes to a
// port that the system chose. It blocks for some seconds at most.
func Probe(ctx context.Context, o ProbeOptions, addr string) (r ProbeResult) {
	dialer := net.Dialer{Timeout: streamTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if r.TCP = err; err == nil {
		_ = conn.Close() // nothing was said
	}
	r.RTT, r.UDP = ping(ctx, o, addr)
	return r
}

// ping sends memberlist's own ping, from a memberlist of one.
func ping(ctx context.Context, o ProbeOptions, addr string) (time.Duration, error) {
	var dialer net.Dialer
	route, err := dialer.DialContext(ctx, "udp", addr) // sends nothing: it finds the addresses
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
	conf.ProbeInterval = 2 * streamTimeout // how long the answer is waited for inside
	conf.Logger = bridge(slog.New(slog.DiscardHandler))
	list, err := memberlist.Create(conf)
	if err != nil {
		return 0, fmt.Errorf("ask from a port of this machine: %w", err)
	}
	defer func() { _ = list.Shutdown() }() // it was never a member of anything
	return list.Ping("", to)
}
