// Package linkrank measures how well the online measure of package importance orders a crawl: it
// compares a simulated crawl of a real or random graph, by one node or several, with the exact
// PageRank.
//
// # The graphs
//
// RealSites reads the links of HTML files on disk. Copying generates a random graph by a copying
// model; its in-degrees and the sizes of its hosts follow power laws.
//
// # The simulated crawl
//
// Time advances in ticks, the smallest gap of a host. In a tick each node fetches its part of Rate
// pages, at most one of each host, in the order of the hosts' best queued pages; partitions,
// accounts and parcels are those of package importance. Parcels arrive at the end of the tick, some
// twice. After each fetch a fixed number of pages settles. Only the order of the crawl is
// simulated: there is no disk, no failure and no network delay beyond the tick. The package starts
// no goroutine, and its random numbers come from a seed.
//
//	go test ./integration/linkrank -run TestOrders -v -results
//
// appends the figures to docs/results/importance.md.
package linkrank
