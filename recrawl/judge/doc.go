// Package judge plans the next visit of a page after each visit: it connects the pure package
// recrawl/visits to the frontier, which calls it within the write that makes the page done.
//
// # Why within the write
//
// A plan depends on the statistics of the page's visits and of its site's pages, and changes both.
// Visits of one host overlap: a host is released before its page is completed. A plan made from an
// earlier snapshot would overwrite what another visit has added to the site's sums meanwhile. So
// the frontier passes the page and its site as they are in its group, and writes the result in the
// same transaction. A decision takes about five microseconds, and is made only while pages are
// revisited.
//
// # What the sums count
//
// A page counts for its site from its first plan until it is forgotten, with the belief, the weight
// and the interval of its newest record. Each plan subtracts what the previous record has added, as
// it was decoded, so that repeats and wrong clocks cannot make the sums drift. The sums of the node
// (Replanned) leave a page out while it is queued.
//
// # Visits without information
//
// A page that was done before the crawl revisited pages has no statistics: each plan spreads such
// pages over the interval until their first revisit. The first revisit says nothing about the rate
// of change, and neither does a visit before which the partition's timeline stood still. A visit
// without a response says nothing about the page: the statistics are kept, and the page is planned
// again after its old interval.
//
// # What it does not do
//
// It reads no clock and no store, and keeps no state between two calls. It does not compute the
// price: package recrawl, which knows the whole cluster, passes it in Terms.
package judge
