// Package gossip wraps memberlist (github.com/hashicorp/memberlist): it reports
// which nodes are alive and their metadata, and sends this node's own
// metadata to them. It decides nothing.
//
//	Listen    opens the sockets; a simulation brings its own transport
//	New       prepares a Gossip, which recognises itself by a random mark
//	Start     begins to gossip; Join exchanges states with further addresses
//	SetMeta   replaces this node's metadata; Publish sends it
//	Take      returns what was received: events, refusals, claims, a duplicate of
//	          this node's identity
//	SetKeys   changes the keys while the cluster runs
//	Probe     tests whether a node's gossip port can be reached
//
// Nodes whose cluster parameters (consensus.Cluster) differ from this node's are refused, and
// the refusal names the difference.
//
// meta.go has the format of the metadata, exchange.go that of the data that is added to a push/pull
// while a cluster is founded. packets.go and streams.go bound what a stranger can cost:
// a packet without the cluster's name, or not encrypted with its key, is dropped before
// anything of it is stored.
//
// # Goroutines
//
// memberlist's own, which end with Stop; two readers of the transport, for which its
// Shutdown waits; and Publish, which the caller runs. The methods may be called from any
// goroutine, except SetMeta and SetKeys, which one goroutine at a time may call.
//
// # Queues
//
//	queue     filled by   emptied by   bound                        when full
//	inbox     memberlist  Take         each node's newest event,    refusals and claims
//	                                   64 refusals, 1,024 claims    are dropped
//	packets   a reader    memberlist   unbuffered; a second, 500    dropped
//	                                   from one sender, 5,000 in all
//	streams   a reader    memberlist   64 open, 4 MiB each, 8 MiB   the largest is
//	                                   together                     closed
//	changed   SetMeta     Publish      one signal                   it is set already
package gossip
