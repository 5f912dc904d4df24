//race:none

package consensus

import (
	"iter"
	"maps"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// testCluster is a founded cluster, and unknownCluster what a node without
// data knows of it.
var (
	unknownCluster = Cluster{Name: "test", VirtualNodes: ring.VirtualNodes, Protocol: 3}
	testCluster    = Cluster{
		ID: "00112233445566778899aabbccddeeff", Name: "test", Partitions: 64, Replication: 2,
		VirtualNodes: ring.VirtualNodes, Protocol: 3,
	}
)

func mapsKeys[V any](m map[crawl.NodeID]V) iter.Seq[crawl.NodeID] { return maps.Keys(m) }
