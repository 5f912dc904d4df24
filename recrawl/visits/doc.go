// Package visits decides when a page is visited again, and what a visit of a known page means.
//
// It is the pure part of revisits: no I/O, no clock, no goroutine. Visits come in as values, with
// elapsed times; what is decided goes out as values, with remaining times. The whole design, with what is stored
// where and what moves with a partition, is docs/decisions/0210-adaptive-revisits.md.
//
//	estimate  how often a page changes, believed from its visits and its site's pages
//	policy    after how long a visit is worth its price; the price
//	claims    what a site's sitemap, feeds and dates are worth
//
// # The life of a page here
//
//	Planned   after the first fetch: the belief is its site's, the interval what the price says
//	Visited   after each visit: verdict, statistics, belief, interval; a missing page is tried at
//	          distances that double, until Forgotten
//	Planned   at a check (policy.Check), when site or price have changed meanwhile
//	Claimed   when its site claims a change: the interval becomes shorter by what the claim is worth
//
// A Record is all that is kept of this, 40 to 90 bytes. It has durations and no time of day.
package visits
