// Package pagerank computes PageRank exactly, by power iteration (Brin and Page 1998, "The anatomy
// of a large-scale hypertextual Web search engine").
//
// The variant: a page passes the share Damping of its rank to the distinct pages that it links
// to, in equal parts. The rest, and the whole rank of pages without links (dangling), goes to all
// pages alike ("strongly preferential" with a uniform vector, in the words of Boldi and others
// 2005). So the ranks sum to 1. A link of a page to itself does not count, and links from one
// page to the same other count once.
//
// An iteration reads every in-link once, in the order of targets, so links may be on disk. In
// memory is a fixed number of bytes for each node and none for a link: 24 bytes.
//
// The package is pure: it starts no goroutine, and the links come from an interface.
package pagerank
