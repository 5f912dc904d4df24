package membership

import (
	"crawlnode/membership/consensus"
	"crawlnode/ring"
)

var foundedCluster = consensus.Cluster{
	ID: "00112233445566778899aabbccddeeff", Name: "test", Partitions: 64, Replication: 2,
	VirtualNodes: ring.VirtualNodes, Protocol: ProtocolVersion,
}
