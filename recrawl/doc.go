// Package recrawl decides when a page is visited again, and what a visit of a known page means.
//
// It is the pure part of revisits: no I/O, no clock, no goroutine. Visits come in as values, with
// elapsed times; what is decided goes out as values, with remaining times. The whole design, with what is stored
// where and what moves with a partition, is docs/decisions/0210-recrawl.md.
//
//	estimate  how often a page changes, believed from its visits and its site's pages
//	policy    after how long a visit is worth its price; the price
//	claims    what a site's sitemap, feeds and dates are worth
package recrawl
