// Package opic measures the importance of URLs by their links, online, while pages are
// crawled and without a coordinator. From that and other signals it computes the band of a queued
// URL.
//
// # The measure
//
// Each fetched page receives one Unit of cash. A page passes 0.85 of all cash that it ever got to
// its links in equal parts; the rest evaporates. The importance of a URL is all cash that it has
// received. In the limit that is x = e + 0.85 Aᵀx over the fetched pages: PageRank up to a constant
// factor, since what PageRank hands out to all pages alike (the rest, and the cash of pages without
// links) does not change their order. So there is no virtual page, and no node has to know a total.
//
// It is OPIC (Abiteboul, Preda, Cobena 2003, "Adaptive on-line page importance computation") with
// damping, in the form of Hong's D-iteration (2012) or the push of Andersen, Chung and Lang
// (2006): cash that reaches a page that was already fetched waits there (Pending) until the page
// settles again. For that its links are remembered. When a page has other links at a revisit, it
// takes back from the old ones exactly what it gave them. OPIC, which does not know the old links,
// needs a time window instead, after which old cash is forgotten.
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
// A page and its credits are one write, so a page that is fetched again after a crash has given
// either all its cash or none. The entries of an outbox are numbered, by partition of the page; the
// receiving partition stores the last number that it has applied, in the write that applies it. A
// sender sends only what its replicas have. Both numbers move with their partitions.
//
// # The files
//
//	cash.go       Cash, Account, Flow
//	book.go       Book: the accounts of a partition in memory, as a reference model for stores
//	parcel.go     Parcel: credits that are applied exactly once
//	sites.go      distinct sites that link to a URL or a host (HyperLogLog)
//	histogram.go  ranks and quantiles from a histogram that can be summed over partitions
//	score.go      weights, signals, score, band, and when a queued URL moves
//	fold.go       accounts in blocks, as they are stored, and adding a log of credits to them
//	encode.go     accounts, links, parcels and histograms as bytes
//
// The package is pure: no clock, no I/O, no goroutine. A Book and a Histogram have one owner. It
// knows no URL, only numbers of them, and it does not decide when a page is fetched.
package opic
