// Package leases decides which worker may fetch which URLs, and for how long. A worker is a program
// outside of the cluster; a lease is the permission that it gets for a batch of URLs, each of another
// host.
//
// [Book] is what one node has leased. It is pure: it reads no clock and does no I/O. The time is an argument of each
// call, and no call's may be before that of the call before.
//
// # A lease
//
//	Grant     URLs are added to a lease; they are open
//	Settle    a worker has sent the result of an open URL: it is settled, once
//	Withdraw  the node takes an open URL back, because its partition moves or the node stops
//	Expire    the time of a lease is over: what is open is taken back
//
// A lease lasts until its time is over, even when all of its URLs are settled: until then a
// result that is sent twice is known as a repetition, and not refused. A lease of which everything is
// settled is remembered by its id alone.
//
// # Bounds
//
// Limits.Open URLs are open at most, Limits.PerWorker of one worker, and Limits.Done leases are remembered of which everything is settled.
// A repetition that comes after that is refused, which costs the worker nothing: its results counted before.
//
// [Line] is the line of those who wait for URLs: long polls.
package leases
