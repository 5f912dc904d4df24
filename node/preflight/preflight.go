package preflight

import (
	"context"
	"net"

	"crawlnode/config"
	"crawlnode/links"
	"crawlnode/local/datadir"
	"crawlnode/local/disk"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/security/keyfile"
)

// LowDiskBytes is the free space below which a node does not fetch.
const LowDiskBytes = disk.LowBytes

// NewNodeBytes is the free space below which a node without data does not begin.
const NewNodeBytes = disk.NewBytes

// DataState is what a data directory looks like from outside.
type DataState = datadir.State

// InspectData looks at a data directory without touching it. A node may run on it.
func InspectData(path string) DataState { return datadir.Inspect(path) }

// FreeBytes is the free space of the volume that holds path.
func FreeBytes(path string) (int64, error) { return datadir.FreeBytes(path) }

// OtherVolumes are the folders of a data directory that are on volumes of their own.
func OtherVolumes(dataDir string) []string { return disk.Volumes(dataDir)[1:] }

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
	key, err := keyfile.LoadKey(c.ClusterKeyFile)
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

// ProbeCalls finds out whether a node answers calls at its --rpc address.
func ProbeCalls(ctx context.Context, c *config.Config, addr string) error {
	key, err := keyfile.LoadKey(c.ClusterKeyFile)
	if err != nil {
		return err
	}
	if key == nil {
		return peer.Probe(ctx, addr, nil)
	}
	return peer.Probe(ctx, addr, key.ClientTLS())
}
