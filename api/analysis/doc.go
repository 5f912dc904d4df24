// Package analysis says what is known of a URL and of a host in the words that other crawlers use
// (crawl.URLAnalysis, crawl.HostAnalysis).
//
// A URL's analysis is its report with other names. A host's one needs the list of its URLs, which is
// read page by page; nothing but counts is kept. Reading ends after a few seconds: so a host with
// millions of URLs costs no more than one with a hundred thousand, and the answer says that it is not
// complete. Minutes are counted from the last visits of the URLs, so they survive restarts and moves,
// and cost a crawl nothing that nobody looks at.
//
// The package starts no goroutine.
package analysis
