package storage

import (
	"os"
	"time"
)

// SetPatience sets how long Close of a store on disk waits for Badger.
func SetPatience(kv KV, patience time.Duration) { kv.(*badgerKV).patience = patience }

// WaitClosed returns when Badger itself is closed.
func WaitClosed(kv KV) { _ = kv.(*badgerKV).db.Close() }

// SetFsync replaces how a store on disk syncs a file.
func SetFsync(kv KV, fsync func(*os.File) error) { kv.(*badgerKV).files.fsync = fsync }

// Folder is the folder of a store on disk.
func Folder(kv KV) string { return kv.(*badgerKV).files.dir }
