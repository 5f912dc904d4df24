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
// A lease is forgotten when none of its URLs is open any more. What was settled is remembered by its tag, a number that the caller makes of the lease's id and the URL, so that a
// result that is sent twice is known as a repetition.
//
// # Bounds
//
// Limits.Open URLs are open at most, Limits.PerWorker of one worker, and Limits.Settled URLs are remembered as settled, the latest.
// A repetition that comes after that is refused, which costs the worker nothing: its result counted before.
//
// [Line] is the line of those who wait for URLs: long polls.
package leases
