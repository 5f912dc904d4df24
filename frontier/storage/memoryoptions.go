package storage

import "log/slog"

// OptionsFor are the options of a node with so much memory. With little its tables and caches
// are smaller: with the usual ones, three tables of 42 MiB and the caches alone took more
// than a --memory of 128 MiB, and the garbage collector never stopped.
func OptionsFor(memory int64, sync bool, log *slog.Logger) BadgerOptions {
	o := BadgerOptions{Sync: sync, Logger: log}
	if memory < 512<<20 {
		o.MemTableBytes = 16 << 20
		o.BaseLevelBytes = 10 << 20 // so that a compaction into it takes less at once
		o.BlockCacheBytes, o.IndexCacheBytes = memory/16, memory/32
	}
	return o
}
