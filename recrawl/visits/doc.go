// Package visits decides when a page is visited again, from the results of its visits.
//
// It is the pure part of revisits: no I/O, no clock, no goroutine. Visits come in as values, with
// elapsed times; what is decided goes out as values, with remaining times. The whole design, with
// what is stored where and what moves with a partition, is
// docs/decisions/0210-adaptive-revisits.md.
//
//	recrawl/policy/estimate  how often a page changes, from its visits and its site's pages
//	recrawl/policy           after how long a visit is worth its price; the price
//	Claims                   what a site's sitemap, feeds and dates are worth
//
// # The life of a page here
//
//	Planned   after the first fetch: the belief is that of its site, the price gives the interval
//	Visited   after each visit: verdict, statistics, belief, interval; a missing page is tried
//	          after intervals that double, until it is Forgotten
//	Planned   at a check (policy.Check), when site or price have changed meanwhile
//	Claimed   when its site claims a change, or lists the page as unchanged: what that is worth
//	          shortens or lengthens the interval
//
// A Record is all that is kept of this, 40 to 90 bytes. It has durations and no time of day.
package visits
