// Package opic measures online, while pages are crawled and without a coordinator, how
// important a URL is by its links, and makes of that and other signals the band of a queued URL.
//
// # The measure
//
// Each fetched page is given one Unit of cash. A page passes the share 0.85 of all cash that it
// ever got to its links in equal parts; the rest evaporates. The importance of a URL is all cash
// that it got. In the limit that is x = e + 0.85 Aᵀx over the fetched pages: PageRank but for a
// constant factor, since what PageRank hands out to all pages alike (the rest, and the cash of
// pages without links) changes no order. So no page is virtual and no node has to know a total.
//
// It is OPIC (Abiteboul, Preda, Cobena 2003, "Adaptive on-line page importance computation") with
// damping, in the form of Hong's D-iteration (2012) or the push of Andersen, Chung and Lang
// (2006): cash that reaches a page that was already fetched waits there (Pending) until the page
// settles again. For that its links are remembered. When a page has other links at a revisit, it
// takes back from the old ones exactly what it gave them: so nothing has to be forgotten by a
// window of time, which OPIC needs because it does not know the old links.
//
// # The life of cash
//
//	Visit    a page is fetched: it is given its Unit, and settles
//	Settle   Pending goes along the links; what does not evaporates
//	credit   of a URL of the same partition: in the same write
//	Parcel   credits of URLs of another partition: in the outbox in the same write, sent until
//	         they are acknowledged, applied once (Book.Apply)
//
// Cash is an integer, so conservation is exact: for each partition
//
//	Minted + Received = Pending of all accounts + Evaporated + Sent
//
// and what was Sent and not Received stands in an outbox.
//
// # Exactly once
//
// A page and its credits are one write, so a page that is fetched again after a crash has either
// given its cash or not. The entries of an outbox are numbered, by partition of the page; the
// receiving partition remembers the number up to which it applied, in the write that applies.
// A sender sends only what its replicas have. Both numbers move with their partitions.
//
// # The files
//
//	cash.go       Cash, Account, Flow
//	book.go       Book: the accounts of a partition, in memory: the model of what a store does
//	parcel.go     Parcel, and what is exactly once
//	sites.go      distinct sites that link to a URL or a host (HyperLogLog)
//	histogram.go  ranks and quantiles from a histogram that can be summed over partitions
//	score.go      weights, signals, score, band, and when a queued URL moves
//	fold.go       accounts in blocks, as a store has them, and how a log of credits is added
//	encode.go     accounts, links, parcels and histograms as bytes
//
// The package is pure: no clock, no I/O, no goroutine. A Book and a Histogram have one owner. It
// knows no URL, only numbers of them, and it does not decide when a page is fetched.
package opic
