// Package linkgraph builds a link graph from the output of crawls: from the lists of links,
// pages and hosts of package lists, and from WARC files.
//
//	Builder  ── Read(file) ──┐
//	                         ├─ names: one number for each URL or host, from 0
//	                         └─ links: 4 Mi of them in memory, then a sorted run in a file
//	Finish   ── merges the runs ── Graph: links sorted by target, without repeats
//
// # Memory and disk
//
// Memory grows with the nodes, by about 100 bytes each (the index from fingerprints of names to
// numbers, with the overhead of garbage collection; Finish drops it), and not with the links: these
// take 32 MiB while they are read, and 64 KiB for each run while the runs are merged. The names,
// the runs and the graph are files in a folder that the Builder makes and Close deletes. WARC files
// add some 60 bytes for each payload, so that the content of duplicates can be found. A link takes
// 2 to 5 bytes of the graph.
//
// # The file of the graph
//
// For each node with in-links, in ascending order, as unsigned varints: the distance from the node
// before (the first from -1), the number of sources, and of each source the distance from the one
// before (the first from 0). The file is read from its beginning to its end.
//
// # What counts as a link
//
// By default hyperlinks: a, area, frame, iframe, meta refresh, and from WARC files also redirects.
// Links of a node to itself are left out, and repeated links count once.
//
// One goroutine uses a Builder or a Graph; the package starts none. It ranks nothing.
package linkgraph
