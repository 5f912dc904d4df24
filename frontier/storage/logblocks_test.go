//go:build linux

package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestLogsHaveTheirBlocks: the log that the store writes to has its blocks, the first one
// and each that follows, so that no write there needs one of a disk that is full by then.
// With little space left none are taken.
func TestLogsHaveTheirBlocks(t *testing.T) {
	t.Parallel()
	const table = 8 << 20
	dir := t.TempDir()
	var nearlyFull atomic.Bool
	kv, err := OpenBadger(dir, BadgerOptions{MemTableBytes: table, FreeSpace: func(dir string) (int64, error) {
		if nearlyFull.Load() {
			return ReserveBytes + logBytes(table) - 1, nil
		}
		return freeSpace(dir)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kv.Close() })
	log := func(number int) (blocks int64, made bool) {
		var st syscall.Stat_t
		if err := syscall.Stat(filepath.Join(dir, fmt.Sprintf("%05d.mem", number)), &st); err != nil {
			return 0, false
		}
		return st.Blocks * 512, true
	}
	if !setsAside(t, dir) {
		const why = "the file system of temporary files sets no blocks aside: name one of another kind by TMPDIR"
		if os.Getenv("CI") != "" {
			t.Fatal(why, "; CI is set, and there everything that can run has to")
		}
		t.Skip(why)
	}
	if blocks, made := log(1); !made || blocks < logBytes(table) {
		t.Errorf("made %v: log 1 has %d bytes of blocks, want %d", made, blocks, logBytes(table))
	}
	write := func(until int) (blocks int64) {
		t.Helper()
		for i := range 300 {
			if err := kv.Write([]Entry{{Key: []byte(fmt.Sprint("key", until, "/", i)), Value: make([]byte, 64<<10)}}); err != nil {
				t.Fatal(err)
			}
			if blocks, made := log(until); made {
				return blocks
			}
		}
		t.Fatalf("log %d has not been made", until)
		return 0
	}
	for _, number := range []int{2, 3} {
		if blocks := write(number); blocks < logBytes(table) {
			t.Errorf("log %d has %d bytes of blocks, want %d", number, blocks, logBytes(table))
		}
	}
	nearlyFull.Store(true)
	if blocks := write(4); blocks >= logBytes(table) {
		t.Errorf("log 4 has %d bytes of blocks on a disk that is nearly full", blocks)
	}
	nearlyFull.Store(false)
	if err := kv.Write([]Entry{{Key: []byte("k"), Value: []byte("v")}}); err != nil {
		t.Fatal(err)
	}
	if blocks, _ := log(4); blocks < logBytes(table) {
		t.Errorf("log 4 has %d bytes of blocks once there is space, want %d", blocks, logBytes(table))
	}
}

// setsAside reports whether the file system of a folder sets blocks aside.
func setsAside(t *testing.T, dir string) bool {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, "probe"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := SetAside(file, 1<<20); err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Blocks*512 >= 1<<20
}
