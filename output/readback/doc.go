// Package readback answers what a crawl saw of a page, and is the only reader of records for those
// who show, export, index or rank pages. A Page is a capture as the crawl took it:
//
//	payload       without its content codings, as far as it can be decoded; that of the original for
//	              a duplicate, the whole answer for a 304
//	kind          page, text, style sheet or other: by the header, or by the content when the
//	              header says nothing
//	shown         what a browser made of it (--render), whose text, title and links count then
//	preferences   noindex in any header line, for all robots or for this one, in the page, or
//	              as stored
//
// A Source finds captures: a running cluster (Cluster) or folders of WARC files (Folders). Open
// makes folders of what a person names, data directories, folders and files, and indexes in
// temporary files what has no usable index. A Scanner reads files in their order, for those who
// need no index. Rewrite writes the files anew without some URLs. Passive is a page for a sandboxed
// frame: without what loads, runs, redirects or embeds.
//
// What a page sent is hostile: content is bounded by the limit that the caller gives, and Text
// leaves out control characters. The package starts no goroutine, but for the merge and the filter
// of indexes, which end before WriteIndex and WriteWithout return.
package readback
