// Package layout encodes and decodes the keys and values of a frontier on disk: records, queue
// entries, hosts, robots rules, links in the outbox, first captures of payloads, due pages, cash,
// documents for the index, the books of partitions and recorded in-sync sets.
//
// It is pure: it reads no store, no clock and no file, and keeps no state. The format only grows: a
// new field of a value is optional and marked by a flag (encode.go), so that older stores remain
// readable.
//
// # Keys
//
// See keys.go. A key begins with a partition and a generation, so a generation of a partition is
// one range of keys. The rest is the relative key, which means the same on every node.
//
// # An inline URL
//
// A host whose only URL was never tried has no record and no queue entry: the URL
// is stored in the host's entry (inline.go).
//
// # Blocks
//
// New URLs of a host that are added together share a key of its queue (block.go).
//
// # Books
//
// The books of a partition, its sequence number and counters, are stored under a key of its own, or
// with those of other partitions in a slot (books.go).
//
// # Times
//
// Times in values are on the partition's own timeline, not on a wall clock (timeline.go).
package layout
