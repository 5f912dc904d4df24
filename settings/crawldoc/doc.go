// Package crawldoc keeps the crawl document, on which all nodes must agree: the settings, the state
// of the crawl, the reason of its end, and the revoked tokens. The scope entries, a set that only
// grows, are stored beside it (package settings/scopeset).
//
// # Which document wins
//
// A node that changes the document raises its version and sends it to every member. The greater
// (version, node id) wins on every node, so of two changes at the same time one wins everywhere.
// Revocations of both are kept: see Store.Merge. The caller sends documents to other nodes
// (package spread).
//
// # Flags of a start
//
// The crawl has its settings from its founder (which may be an earlier start of this node) or from
// crawl-config. [Flags] compares them with the flags of this start: it tells the operator which are
// ignored or, in a crawl of one node, makes them settings of the crawl.
//
// # Time
//
// A document is sent and stored with durations, not times of day (ownership rule
// 14). Time in which no node runs does not count: each node records every few seconds how long the
// crawl has run (ran.go), continues from there at its next start, and adopts a larger value of a
// member that has run meanwhile.
//
// # On disk
//
// crawl.json has a checksum, so that a flipped byte is not read as another setting (checksum.go).
//
// # Concurrency
//
// Documents and Rulebooks are immutable; a method that changes one returns a copy. A Store may be
// used from any goroutine: Current is one atomic load, and writers wait for each other and for the
// disk.
package crawldoc
