// Package held selects the documents of a segment that belong to the partitions of a query
// (decision 0237).
//
//	Set      a set of partitions; equal sets have equal keys
//	Views    of one segment: for each of the Sets of the latest queries, one bit a document
//
// Views may be used by several goroutines. They hold at most MostViews bitmaps. The package reads
// only the mapped segment, and starts no goroutine.
package held
