// Package table exports an archive as Parquet files: captures, with the columns and types of Common
// Crawl's index (cc-index-table), pages, and links.
//
// A table is one file, or a folder of parts with a maximum number of rows. A part is written under
// a temporary name, and gets its final name when it is whole. Rows are kept in memory until a row
// group of at most RowGroupBytes is full, so memory does not depend on the number of rows. The
// package starts no goroutine.
package table
