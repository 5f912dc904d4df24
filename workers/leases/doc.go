// Package leases decides which worker may fetch which URLs, and for how long. A worker is a program
// outside of the cluster; a lease is the permission that it gets for a batch of URLs, each of
// another host.
//
// [Book] is the table of the leases of one node. It is pure: it reads no clock and does no I/O. The
// time is an argument of each call, and never decreases.
//
// # A lease
//
//	Grant     URLs are added to a lease; they are open
//	Settle    a worker has sent the result of an open URL: it is settled, once
//	Withdraw  the node takes an open URL back, because its partition moves or the node stops
//	Expire    the time of a lease is over: what is open is taken back
//
// A lease is forgotten when none of its URLs is open any more. A settled URL is remembered by its
// tag, a number that the caller computes from the lease's id and the URL, so that a repeated result
// is recognised.
//
// # Bounds
//
// At most Limits.Open URLs are open, Limits.PerWorker of one worker. The last Limits.Settled
// settled URLs are remembered. A later repetition is refused, which does no harm: the first result
// counted.
//
// [Line] is the queue of workers that wait for URLs (long polls).
package leases
