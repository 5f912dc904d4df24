// Package export has the verbs that export the results of a crawl: its index, its pages as files,
// tables for analysis (Parquet), a collection for archive viewers (WACZ), and documents for search
// engines (bulk, jsonl).
//
// All of them read a running cluster through any node, or the data directories of nodes that need
// not run. Output is streamed: memory does not depend on the size of the crawl. Verbs that read
// records first copy the index into a nameless temporary file, since a node does not wait hours for
// a slow reader.
package export
