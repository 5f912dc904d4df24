// Package preflight checks the conditions for starting a node: the state of a data directory, the
// free space on its volume, seeds that cannot be crawled, and whether another node answers gossip
// and calls.
//
// It starts no node, changes nothing and keeps no state; the functions are independent and may be
// called at any time, beside a running node. The command line uses it for `doctor` and for lists of
// seeds.
package preflight
