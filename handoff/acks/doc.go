// Package acks tracks acknowledgements: up to which mutation each replica of each held partition
// has acknowledged, and which replicas must acknowledge a write before it is acknowledged to its
// caller.
//
// The machine names the replicas that must acknowledge (Set, End). The links to them report what
// they have acknowledged (LinkOpened, Acknowledged, LinkClosed). A caller that has stored
// something waits until all replicas that must acknowledge it have done so (Wait), in the tenure in
// which it was stored: a node may lose a partition and hold it again later without what it stored
// before, and acknowledgements in the later tenure say nothing about that.
//
// A caller gets an error at once when a replica that must acknowledge did not answer its last call
// (ErrSilent): in a cluster of two nodes whose link is cut no in-sync set can shrink, and every
// caller would otherwise wait until its context ends.
//
// The Tracker has no goroutine and no clock. One mutex guards it and is never held while waiting.
// There is one waiter for each waiting caller. Up to maxFree waiters are kept for later callers.
package acks
