//go:build linux

package storage

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// TestQuota: a quota that refuses a log its blocks is a store without room, until the blocks are had. The free space says nothing of it.
func TestQuota(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const table = 8 << 20
	store, err := OpenBadger(dir, BadgerOptions{MemTableBytes: table, FreeSpace: func(string) (int64, error) { return 1 << 40, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	kv := store.(*badgerKV)
	var refusal error
	asked := 0
	kv.logs.take = func(in string, log *os.File, size int64) error {
		if asked++; in != dir || size != logBytes(table) {
			t.Errorf("%d bytes are taken for %s in %s", size, log.Name(), in)
		}
		return refusal
	}
	write := func() {
		t.Helper()
		if err := kv.Write([]Entry{{Key: []byte("k"), Value: []byte("v")}}); err != nil {
			t.Fatal(err)
		}
	}
	kv.logs.next = 1 // as if the first log had just been made
	refusal = &os.PathError{Op: "fallocate", Path: dir, Err: syscall.EDQUOT}
	write()
	for range 2 {
		if err := kv.Room(); !errors.Is(err, ErrNoSpace) {
			t.Fatalf("with the quota used up: %v", err)
		}
	}
	if asked != 3 {
		t.Errorf("%d requests for blocks, want one by the write and one for each look", asked)
	}
	if err := kv.WriteReserved([]Entry{{Key: []byte(OwnRange + "k"), Value: []byte("v")}}); err != nil {
		t.Errorf("what has its place set aside: %v", err)
	}
	refusal = nil
	if err := kv.Room(); err != nil || kv.logs.next != 2 {
		t.Errorf("with a larger quota: %v, the next log is %d", err, kv.logs.next)
	}
	write()
	// Another error of the call says nothing of the room, as where it is not known at all.
	kv.logs.next, refusal = 1, syscall.EINVAL
	write()
	if err := kv.Room(); err != nil {
		t.Errorf("where blocks cannot be had in advance: %v", err)
	}
}

// TestTryBlocks: the try leaves nothing.
func TestTryBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := tryBlocks(dir, 1<<20); err != nil {
		t.Error(err)
	}
	if err := tryBlocks(filepath.Join(dir, "none"), 1<<20); err != nil {
		t.Errorf("what cannot be told: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v %v is left", entries, err)
	}
}

// TestReserveWithoutRoom: where the file system needs space even for blocks that were set aside, small changes wait as others do.
func TestReserveWithoutRoom(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/full, which only Linux has")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	b := &badgerKV{reserve: &reserve{file: full, size: reserveSize}}
	if err := b.WriteReserved([]Entry{{Key: []byte(OwnRange), Value: []byte("v")}}); !errors.Is(err, ErrNoSpace) || b.failed.Load() || b.reserve.end != 0 {
		t.Errorf("%v, the store has failed: %v", err, b.failed.Load())
	}
}
