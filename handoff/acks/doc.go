// Package acks knows what is acknowledged: how far each replica of each held partition is, and
// whose acknowledgement counts.
//
// The machine names the replicas that must acknowledge (Set, End). The links to them report what
// they have acknowledged (LinkOpened, Acknowledged, LinkClosed). A caller that has stored
// something waits until all of the former have acknowledged it (Wait), in the tenure in which it
// was stored: a node may lose a partition and hold it again later without what it stored before,
// and the replicas of the later tenure do not answer for that.
//
// A caller is told at once when a replica that must acknowledge did not answer its last call
// (ErrSilent). In a cluster of two that is cut in two no in-sync set can shrink, and every caller
// would wait until its own time is over.
//
// The Book has no goroutine and no clock. One mutex guards it, which is held for moments. It has as
// many waiters as there are callers; they leave when their context ends. At most maxFree of them are kept for later callers.
package acks
