// Package judge says what a visit of a page means for the next ones: it joins the pure package recrawl
// to the frontier, which calls it within the write that makes the page done.
//
// # Why within the write
//
// A plan depends on what the page's visits and its site's pages have taught, and changes both. Visits of one
// host overlap: a host is released before its page is completed. A plan that was made from what was read before
// would overwrite what another visit has added to the site's sums meanwhile. So the frontier hands the page
// and its site over as they stand in its group, and writes what comes back in the same transaction. A decision
// takes about five microseconds, and only when pages are visited again.
//
// # What the sums count
//
// A page counts for its site from its first plan until it is forgotten, with the belief, the weight and the interval
// of its newest record. Each plan takes out what the record before has put in, as it was decoded, so that
// repeats and damaged clocks cannot make the sums drift. The sums of the node (Replanned) leave it out while it is queued.
//
// # What is not known
//
// A page that was done before pages were visited again has no visits: until its first one each plan spreads such
// pages over the interval. That one teaches nothing of its rate,
// as one teaches nothing before which the partition's timeline has stood still. A visit without an answer says
// nothing of the page: it keeps what is known, and is planned again after its old interval.
//
// # What it does not do
//
// It reads no clock and no store, keeps nothing between two calls, and knows no price by itself: Terms come from
// who knows the whole cluster (package recrawl).
package judge
