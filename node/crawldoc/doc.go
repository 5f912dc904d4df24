// Package crawldoc keeps the crawl document: what all nodes must agree on about the crawl. It
// holds the settings, the state and how it ended, and the tokens that were revoked. Beside it
// are the scope entries, a set that only grows (package store/scopeset).
//
// # Which document wins
//
// A node that changes the document raises its version and sends it to every member. The greater
// (version, node id) wins on every node, so two changes at once end in one of them everywhere.
// Revocations of the other one are kept: see Store.Merge. Carrying documents to other nodes is the
// caller's part (package spread).
//
// # Time
//
// A document goes to other nodes and to the disk with durations, not times of day: rule 14
// of ownership. Clock tells how much time has passed between two processes.
//
// # Concurrency
//
// Documents and Rulebooks are immutable; a method that changes one returns a copy. A Store may be
// used from anywhere: Current is one atomic load, and writers wait for each other and for the disk.
package crawldoc
