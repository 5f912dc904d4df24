// Package preflight finds out what a node would meet if it were started now: the state of a data directory,
// the room on its volume, seeds that cannot be crawled, and whether another node answers gossip and calls.
//
// It starts no node, changes nothing and keeps nothing; each function stands for itself and may be called at
// any time, beside a running node. The command line asks it before a start (`doctor`) and for lists of seeds.
package preflight
