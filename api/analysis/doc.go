// Package analysis reports what is known of a URL and of a host in the terms that other crawlers
// use (crawl.URLAnalysis, crawl.HostAnalysis).
//
// The analysis of a URL is its report under other names. The analysis of a host reads the list of
// its URLs, page by page; only counts are kept. Reading ends after a few seconds, and the answer
// says then that it is incomplete: so a host with millions of URLs costs no more than one with a
// hundred thousand. Counts by the minute are computed from the last visits of the URLs, so they
// survive restarts and moves, and cost nothing until somebody asks.
//
// The package starts no goroutine.
package analysis
