// Package readback finds what a crawl has stored of a URL and makes it readable: the bytes that
// came, the content without its codings, the head, the visible text. A Source is a running cluster
// (Cluster) or the data directory of a node that does not run (Folder).
// Passive is a page for a sandboxed frame: without what loads, runs, redirects or embeds.
//
// What a page sent is hostile: content is bounded by MaxContent, and Text leaves out control
// characters. The package starts no goroutine.
package readback
