// Package scopeset keeps the scope entries of a crawl on disk: any number of them,
// with a bounded part in memory.
//
// # Logs
//
// An entry is one line in the log of the node that added it first, its origin. A
// node has the log of every origin, or the beginning of it, byte for byte: so two
// nodes compare what they have by one length for each log, and what the other lacks
// is a piece of a file. Lines are only ever appended, by the origin at its end and
// elsewhere as a copy. Two origins may have the same entry.
//
//	scope/<id>.log   lines of at most 4,096 bytes, each ending in \n; UTF-8
//
// A length is told, and an entry counts, when the line is synced to disk. What
// a crash leaves of a line behind that is cut off at the next Open. A log that is
// shorter than others know it, its node's own as well, is filled from theirs.
//
// # Index
//
// What the entries open (scope.AppendKeys) is an index of fingerprints: xxh3, 128
// bits, with a secret seed of this process, so that nobody can make names that
// collide. It is asked for every link, in this order:
//
//	cache    32,768 keys that were found of late: one read, no lock
//	filter   Bloom, 10 to 19 bits a key: says no, or maybe
//	fresh    at most 32,768 keys that are not in a run yet
//	runs     sorted files, each at least twice as large as the next: one read of a
//	         block in each, by a table of the blocks' first keys
//
// Only the filter and that table grow with the number of entries: by 20 bits a key
// at the most. The index is made anew from the logs at each Open; its files have no names, so
// that a crash leaves none.
//
// # What it does not do
//
// It judges no URL (package scope), talks to nobody (package node) and starts no
// goroutine. Entries are never removed.
package scopeset
