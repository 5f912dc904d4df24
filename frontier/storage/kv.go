package storage

import (
	"errors"

	"crawlnode/crawl"
)

// KV is the ordered store under a frontier. Write is called by one goroutine
// at a time; everything else may be called at any time.
type KV interface {
	// Write applies the entries in one atomic step and returns when they
	// survive the death of the process. Of several entries with one key the last
	// counts. It keeps no
	// reference to the slice, and may keep the keys and values.
	Write(entries []Entry) error
	// Snapshot opens an immutable view of everything written so far.
	Snapshot() (Snapshot, error)
	// Limits bounds one Write.
	Limits() Limits
	// Sync returns when everything written before the call survives a loss of
	// power. Writes go on meanwhile; it may be called at any time.
	Sync() error
	// Close frees the store. All snapshots must be closed before.
	Close() error
}

// Snapshot is a consistent view of a KV, for one goroutine. Close it.
type Snapshot interface {
	// Get appends the value of key to buf[:0]. ok is false when there is none.
	Get(key, buf []byte) (value []byte, ok bool, err error)
	// Iterate walks the keys with this prefix in order, from the place that
	// Seek gives it. Only one iterator of a snapshot may be open at a time.
	Iterate(prefix []byte) Iterator
	Close()
}

// Iterator is a position in the ordered keys. It begins nowhere: call Seek.
type Iterator interface {
	// Seek goes to the first key at or behind key.
	Seek(key []byte)
	// Valid reports whether the position is on a key with the prefix.
	Valid() bool
	Next()
	// Key and Value are good until the position changes.
	Key() []byte
	Value() ([]byte, error)
	Close()
}

// Entry is one key with its new value. A Value without bytes deletes the key;
// no value of the store is empty.
type Entry = crawl.Entry

// Limits says what fits into one Write.
type Limits struct {
	Entries int // number of entries
	Bytes   int // sum of the lengths of keys and values, with room for overheads
}

// Errors of a KV.
var (
	// ErrTooBig says that a Write is beyond the store's Limits.
	ErrTooBig = errors.New("frontier: too much for one transaction of the store")
	// ErrClosed says that the store was closed or has crashed.
	ErrClosed = errors.New("frontier: the store is closed")
	// ErrDamaged says that a file of the store cannot be read as what it should be.
	ErrDamaged = errors.New("is damaged")
)
