// Package held tells which documents of a segment are of the partitions that a node is asked for (decision 0237).
//
//	Set      partitions; two of the same ones have the same key
//	Views    of one segment: a bit a document for each of the Sets that it was last asked for
//
// Views are safe for use by several goroutines. They hold MostViews sets of a bit a document. The package does no I/O but by the
// mapped segment, and starts no goroutine.
package held
