// Package linkrank measures how well the live measure of package importance orders a crawl: a
// simulated crawl of a real or a drawn graph, by one node or several, against the exact PageRank.
//
// # The graphs
//
// RealSites reads the links of HTML files on disk. Copying draws a graph by a copying model, whose
// in-links have a power law, on hosts whose sizes have one.
//
// # The simulated crawl
//
// Time goes in ticks, the least gap of a host. In a tick each node fetches its part of Rate pages,
// at most one of each host, in the order of the hosts' best queued pages; partitions, accounts and
// parcels are those of package importance. Parcels arrive at the end of the tick, some twice.
// Between fetches pages settle, so many for each page fetched. What is simulated is only the
// order: there is no disk, no failure and no network delay beyond the tick. The package starts no
// goroutine, and its random numbers come from a seed.
//
//	go test ./integration/linkrank -run TestOrders -v -results
//
// appends the figures to docs/results/importance.md.
package linkrank
