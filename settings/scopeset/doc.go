// Package scopeset keeps the scope entries of a crawl on disk: any number of them,
// with a bounded part in memory.
//
// # Logs
//
// An entry is one line in the log of the node that added it, its origin. Every
// node has a prefix of the log of every origin, byte for byte. So two
// nodes compare their entries by one length for each log, and a missing part
// is a byte range of a file. Lines are only ever appended: by the origin itself, and
// elsewhere as a copy. Two origins may have the same entry.
//
//	scope/<id>.log   lines of at most 4,096 bytes, each ending in \n; UTF-8
//
// A line counts, and its length is reported, once it is synced to disk. The next Open truncates
// a partial line after it. A log that is shorter than the copies of other nodes, even the
// node's own log, is completed from theirs.
//
// # Index
//
// The keys that the entries add to the scope (scope.AppendKeys) are indexed by fingerprint: xxh3,
// 128 bits, with a secret seed of this process, so that nobody can construct colliding names. It is
// consulted for every link, in this order:
//
//	cache    32,768 keys that were found recently: one read, no lock
//	filter   Bloom, 10 to 19 bits a key: answers no, or maybe
//	fresh    at most 32,768 keys that are not in a run yet
//	runs     sorted files, each at least twice as large as the next: one read of a
//	         block in each, by a table of the blocks' first keys
//
// Only the filter and that table grow with the number of entries: by 20 bits a key
// at most. The index is rebuilt from the logs at each Open; its files have no names, so
// that a crash leaves none.
//
// # What it does not do
//
// It judges no URL (package scope), calls no other node (package node) and starts no
// goroutine. Entries are never removed.
package scopeset
