package storage

import (
	"os"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// SetPatience sets how long Close of a store on disk waits for Badger.
func SetPatience(kv KV, patience time.Duration) { kv.(*badgerKV).patience = patience }

// WaitClosed returns when Badger itself is closed.
func WaitClosed(kv KV) { _ = kv.(*badgerKV).db.Close() }

// SetFsync replaces how a store on disk syncs a file.
func SetFsync(kv KV, fsync func(*os.File) error) { kv.(*badgerKV).files.fsync = fsync }

// Folder is the folder of a store on disk.
func Folder(kv KV) string { return kv.(*badgerKV).files.dir }

// OpenHeld opens a small store whose tables are verified when verify is called, or when they are
// read.
func OpenHeld(dir string, most int) (kv KV, verify func(), err error) {
	sweep := func() {} // there may be nothing to verify
	kv, err = openBadger(SmallOptions(dir), freeSpace, most, func(f func()) { sweep = f })
	return kv, sweep, err
}

// SmallOptions are what Badger opens a small store with.
func SmallOptions(dir string) badger.Options {
	o := BadgerOptions{MemTableBytes: 1 << 20, ValueLogBytes: 1 << 20, BlockCacheBytes: 8 << 20,
		IndexCacheBytes: 4 << 20}
	return o.badger(dir)
}

// Flatten compacts all, and returns when that has taken effect.
func Flatten(kv KV) error { return kv.(*badgerKV).db.Flatten(1) }

// SetOpen replaces how the files of tables are opened that are not verified.
func SetOpen(kv KV, open func(path string) (*os.File, error)) {
	for _, t := range kv.(*badgerKV).tables.left() {
		t.open = open
	}
}

// Most is more blocks than a small store has.
const Most = 1 << 20

// Waiting is closed when a compaction waits for the tables.
func Waiting(kv KV) <-chan struct{} { return kv.(*badgerKV).tables.hurry }

// Unverified is how many blocks of how many tables are not verified.
func Unverified(kv KV) (tables int, blocks int64) {
	left := kv.(*badgerKV).tables.left()
	for _, t := range left {
		blocks += t.left.Load()
	}
	return len(left), blocks
}

// Mistrusted reports whether the next open verifies all.
func Mistrusted(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, mistrustFile))
	return err == nil
}

// Between returns a table whose blocks have these first keys, as the function that finds the blocks of
// a key, or of the keys with a prefix.
func Between(firsts [][]byte) func(key []byte, prefix bool) (from, to int) {
	n := len(firsts)
	t := &tableFile{common: commonPrefix(firsts[0], firsts[n-1]), offsets: make([]uint32, n+1)}
	for _, key := range firsts {
		t.first = append(t.first, t.start(key))
	}
	t.first = append(t.first, ^uint64(0))
	return func(key []byte, prefix bool) (from, to int) {
		if prefix {
			return t.between(t.start(key), t.lastStart(key))
		}
		return t.between(t.start(key), t.start(key))
	}
}
