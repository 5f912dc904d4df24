//go:build !linux

package storage

import "os"

// preallocate gives a file its blocks, one more than size asks for.
func preallocate(file *os.File, size int64) error { return fillZero(file, size+1) }

// tryBlocks is nil where blocks cannot be set aside.
func tryBlocks(string, int64) error { return nil }

// SetAside does nothing where blocks cannot be set aside.
func SetAside(*os.File, int64) error { return nil }
