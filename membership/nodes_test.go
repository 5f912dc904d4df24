package membership

import (
	"crawlnode/membership/consensus"
	"crawlnode/ring"
)

// foundedCluster is a founded cluster, and strangeCluster what a node without
// data knows of it.
var (
	strangeCluster = consensus.Cluster{Name: "test", VirtualNodes: ring.VirtualNodes, Protocol: ProtocolVersion}
	foundedCluster = consensus.Cluster{
		ID: "00112233445566778899aabbccddeeff", Name: "test", Partitions: 64, Replication: 2,
		VirtualNodes: ring.VirtualNodes, Protocol: ProtocolVersion,
	}
)
