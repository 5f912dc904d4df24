// Package layout says what the keys and values of a frontier look like on disk: records,
// places in queues, hosts, robots rules, links in the outbox, first captures of payloads,
// the books of partitions and recorded in-sync sets.
//
// It is pure: bytes in, values out. It reads no store, no clock and no file, and keeps no
// state. The format is fixed: what a value gains stands behind a flag (encode.go), so that
// older stores are read as they are.
//
// # Keys
//
// See keys.go. A key begins with a partition and a generation, so a partition is one range
// of keys. What follows is the relative key, which means the same on every node.
//
// # An inline URL
//
// A host with one URL that was never tried has no record and no place in a queue: the URL
// stands in the host's entry (inline.go).
//
// # Blocks
//
// New URLs of a host that are added together share a key of its queue (block.go).
//
// # Books
//
// The sequence number and the counters of a partition stand under a key of its own, or with those of
// other partitions in a slot (books.go).
//
// # Times
//
// Times in values are on the partition's own timeline, not on a wall clock (timeline.go).
package layout
