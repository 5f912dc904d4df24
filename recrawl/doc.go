// Package recrawl decides when known pages are visited again, on one node of a running cluster.
//
// What a visit means, and after how long the next one is worth its price, is package recrawl's: pure.
// The frontier keeps the due times, in an order of their own (`d`, decisions 0210 and 0218). This package
// reads the clock and joins the two: it computes the price, takes pages that are due into the
// queue, and pays for them with a share of the fetches.
//
//	options.go   what the package needs of others
//	keeper.go    Keeper: the loop, and what other goroutines tell it or ask it
//	terms.go     the terms by which the frontier's judge plans
//	sums.go      what the pages of each held partition count for
//	counter.go   counts them
//	sweep.go     plans pages for the first time, or anew when the settings change
//	heads.go     when the next page of each held partition is due
//	mover.go     one turn: which due pages are taken into the queue, and planned anew
//	share.go     the bucket of --recrawl-share; how many visits there are for revisits
//	price.go     what the pages of this node want; the price
//	summary.go   what goes to the other members with each heartbeat
//	figures.go   what /status and /metrics show
//
// # The price
//
// The pages of each held partition are counted by belief and weight. Each ten seconds they become a
// curve: how many visits they want at each price. It rides in the heartbeat. Each node adds up the
// newest curves of all members and solves for the price at which the pages want as many visits as
// there are. Equal curves give equal prices on all nodes, so nobody decides for the others. A node
// whose own pages want more than it can fetch raises its own price.
//
// The frontier's writer tells of each plan what the page counted for and counts for now. A partition is counted
// when it is acquired, by one pass over its due times, and again after ten minutes at the earliest, in one hundredth
// of the time, so that mistakes do not last. A page in a queue is not among the due ones: it leaves the sums when it is
// moved, comes back with its next plan, and is taken for as the mean of the others meanwhile.
//
// # The mover
//
// The loop waits for the first due time of all held partitions. Pages that are due go into the queue
// in turns, as many as the node fetches in two seconds, at most 1,024. While new URLs wait, each
// one is paid for from a bucket that fills with --recrawl-share of the node's fetches; the bucket
// holds one turn. While no new URL waits, or nothing else keeps the fetchers busy, it is not asked. A page
// whose check has come before its visit is planned anew, and stays.
//
// So a page is in `d` or in the queue, never in neither; and it is in the queue only when
// its time has come.
//
// # Goroutines and queues
//
// Keeper.Run starts two goroutines and waits for them: one owns mover, price and sweep, the other counts
// the pages of partitions. They share the sums, under a mutex that is held for moments. What others tell
// is bounded: planned pages as one time for each partition, summaries as the newest of each member. What is
// replaced is not needed. Terms and figures are read without a lock.
//
// # Modes
//
// off: nothing is moved, counted or sent. fixed: pages are due after one interval; there is no price.
// adaptive: all of the above. A change takes effect with the next turn: after off the known pages without a
// plan are planned, a few at a time; after another mode, interval or bound all pages are planned anew likewise.
//
// A page that the scope excludes now is parked: it stays known, and is neither due nor counted. After a
// change of the scope all pages are looked at, so that those that are admitted again come back.
package recrawl
