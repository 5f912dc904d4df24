// Package export has the verbs that write what a crawl has left behind: its index, its pages as files, tables for analysis
// (Parquet), a collection for viewers of archives (WACZ), and documents for search engines (bulk, jsonl).
//
// All of them read a running cluster through any node, or the data directories of nodes that need not run. What they write is
// streamed: memory does not depend on the size of the crawl. Where records are read, the index is kept in a nameless temporary
// file meanwhile, since a node does not wait hours for the reader of an answer.
package export
