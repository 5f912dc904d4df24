// Package recrawl decides when known pages are visited again, on one node of a running cluster.
//
// Package recrawl/visits, which is pure, evaluates visits and computes after how long the next one
// is worth its price. The frontier keeps the due times, in a table ordered by time (decisions 0210
// and 0218). This package reads the clock and connects the two: it computes the price, moves due
// pages into the queue, and charges them to a share of the fetches.
//
//	options.go   what the package needs of others
//	keeper.go    Keeper: the loop, and its methods for other goroutines
//	terms.go     the terms by which the frontier's judge plans
//	sums.go      the demand of the pages of each held partition
//	counter.go   counts the pages of a partition
//	sweep.go     plans pages for the first time, or again when the settings change
//	heads.go     when the next page of each held partition is due
//	mover.go     one turn: which due pages are moved into the queue or planned again
//	share.go     the token bucket of --recrawl-share; how many visits are available for revisits
//	price.go     the demand of the pages of this node; the price
//	summary.go   the summary in each heartbeat
//	recent.go    what the newest revisits found, and how fresh the copies were that they replaced
//	figures.go   the figures of /status and /metrics
//
// # The price
//
// The pages of each held partition are counted by belief and weight. Every ten seconds they become
// a curve: how many visits they demand at each price. It is sent with the heartbeat. Each node adds
// up the newest curves of all members and solves for the price at which the demand equals the
// available visits. Equal curves give equal prices on all nodes, so no node decides for the others.
// A node whose own pages demand more than it can fetch raises its own price.
//
// The frontier's writer reports with each plan what the page counted for before and counts for now.
// A partition is counted when it is acquired, by one pass over its due times, and again after ten
// minutes at the earliest, with one hundredth of the time, so that errors do not last. A queued
// page is not in the table of due pages: it leaves the sums when it is moved, and returns with its
// next plan; meanwhile it is assumed to be like the mean of the others.
//
// # The mover
//
// The loop waits for the first due time of all held partitions. Pages that are due go into the
// queue in turns, as many as the node fetches in two seconds, at most 1,024. While new URLs wait,
// each page takes a token from a bucket that fills with --recrawl-share of the node's fetches; the
// bucket holds one turn. While no new URL waits, or nothing else keeps the fetchers busy, no token
// is needed. A page that is due for a check before its visit is only planned again.
//
// So a page is always either in the table of due pages or in the queue; and it is in the queue only
// when it was due.
//
// # Goroutines and queues
//
// Keeper.Run starts two goroutines and waits for them: one owns mover, price and sweep, the other
// counts the pages of partitions. They share the sums, under a mutex that is never held during I/O.
// Input from other goroutines is bounded: one due time for each partition, and the newest summary
// of each member; older values are not needed. Terms and figures are read without a lock.
//
// # What is expected
//
// A curve says how fresh the pages are when each is visited as the price asks. Visits are later
// than that: hosts have delays and surcharges, queues are long, servers do not answer. So each
// revisit is compared with the plan: for how much of the time since the visit before was the copy
// fresh, by the belief of then, and for how much of it would it have been? The quotient of both
// sums over the newest revisits is what the node has kept of the plan. Each node sends it with the
// weight of its pages, and the status multiplies. A page that is never reached is in no revisit: a
// host that is away for good is still counted as planned.
//
// # Modes
//
// off: nothing is moved, counted or sent. fixed: pages are due after one interval; there is no
// price. adaptive: all of the above. A change takes effect with the next turn: after off, known
// pages without a plan are planned, a few at a time; after a change of mode, interval or bound, all
// pages are planned again in the same way.
//
// Rules for sites give pages other bounds, and hosts another delay. The judge plans each page by
// its own; a change of such rules plans all pages again. The price is computed as if all pages
// had the bounds of the crawl: a site whose pages want more by its own bounds gets it, and when
// that is much, the other pages come later than planned.
//
// A page that the scope now excludes is parked: it stays known, and is neither due nor counted.
// After a change of the scope all pages are examined, so that those that are admitted again are
// planned.
package recrawl
