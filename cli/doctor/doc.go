// Package doctor looks for what keeps a node from working: settings, ports, limits,
// disk, name servers, the key, and the ways to the other nodes and back. It is run
// with the flags of the node, before the first start or beside the running node, and
// changes nothing.
//
//	doctor.go  the verb, findings, exit code
//	local.go   this machine
//	peers.go   the other nodes
//
// The checks run one after the other, in the caller's goroutine.
package doctor
