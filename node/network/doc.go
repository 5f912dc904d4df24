// Package network binds a node's addresses. A simulation replaces its Network.
//
//	listen.go   Listen: the HTTP, gossip and RPC addresses, moved up together when a port is busy
//	network.go  Network: what replaces sockets, name look-ups, clocks and process checks
//
// A nil *Network is the operating system's; every part that dials or listens asks it, so nothing
// else knows whether it runs in a simulation.
//
// The HTTP and RPC listeners stand behind package door, which bounds what strangers can cost. The
// gossip address is only chosen here: memberlist binds it itself.
//
// No goroutine and no state beyond the sockets.
package network
