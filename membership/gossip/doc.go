// Package gossip is the edge to memberlist (github.com/hashicorp/memberlist): it shows
// which nodes are alive and what they say of themselves, and carries this node's own
// metadata to them. It decides nothing.
//
//	Listen    opens the sockets; a simulation brings its own transport
//	New       prepares a Gossip, which has a random mark to recognise itself by
//	Start     begins to gossip; Join exchanges states with further addresses
//	SetMeta   replaces this node's metadata; Publish sends them
//	Take      returns what gossip brought: events, refusals, claims, a duplicate of
//	          this node's identity
//	SetKeys   changes the keys while the cluster runs
//	Probe     tests whether a node's gossip port can be reached
//
// Nodes that differ in what all members must share (consensus.Cluster) are refused, and
// the refusal names the difference.
//
// meta.go has the format of the metadata, exchange.go that of the data which founding a
// cluster adds to a push/pull. packets.go and streams.go bound what a stranger can cost:
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
//	queue     filled by               emptied by            bound                  when full
//	inbox     memberlist's callbacks  Take                  the newest event of    further refusals and
//	                                                        each node, 64          claims are dropped
//	                                                        refusals, 1,024 claims
//	packets   a reader                memberlist            unbuffered; 500 a      dropped
//	                                                        second from one
//	                                                        sender, 5,000 from all
//	streams   a reader                memberlist            64 open, 4 MiB each,   the largest is closed
//	                                                        8 MiB together
//	changed   SetMeta                 Publish               one signal             the signal is set already
package gossip
