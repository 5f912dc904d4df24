// Package readback reads archived pages as the crawl saw them. It is the only reader of records for
// the code that shows, exports, indexes or ranks pages. A Page has:
//
//	payload       without its content codings, as far as it can be decoded; that of the original
//	              for a duplicate, the whole response for a 304
//	kind          page, text, style sheet or other: by the header, or by the content when the
//	              header says nothing
//	shown         the page as a browser rendered it (--render), whose text, title and links then
//	              count
//	converted     the page that the crawl made of a document, such as a PDF; a plain text is made
//	              one again
//	preferences   noindex in any header line, for all robots or for this one, in the page, or
//	              as stored
//
// A Source finds captures: a running cluster (Cluster) or folders of WARC files (Folders). Open
// accepts the data directories, folders and files that a person names, and builds temporary indexes
// for files without a usable one. A Scanner reads files from beginning to end, without an index.
// Rewrite copies the files without some URLs. Passive returns a page for a sandboxed
// frame: without anything that loads, runs, redirects or embeds.
//
// Archived content is hostile: its size is bounded by a limit that the caller gives, and Text
// leaves out control characters. The package starts no goroutine, except for merging and filtering
// indexes; those end before WriteIndex and WriteWithout return.
package readback
