package archive

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"crawlnode/local/files"
)

// tornFile takes half of a write and cannot be cut while full is set, as on a file system that
// writes nothing in place.
type tornFile struct {
	files.File
	full *atomic.Bool
}

func (f tornFile) Write(b []byte) (int, error) {
	if !f.full.Load() {
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:len(b)/2])
	return n, errors.Join(err, &os.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT})
}

func (f tornFile) Truncate(size int64) error {
	if f.full.Load() {
		return &os.PathError{Op: "truncate", Path: "x", Err: syscall.EDQUOT}
	}
	return f.File.Truncate(size)
}

// TestNoRoomToCut: what a refused write has left is cut off once there is room, by the next write,
// or when the file is finished.
func TestNoRoomToCut(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"tried again": true, "given up": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var full atomic.Bool
			dir := t.TempDir()
			a := open(t, dir, Options{
				OnError: func(err error) { t.Errorf("it has stopped: %v", err) },
				OpenFile: func(path string, flag int) (files.File, error) {
					f, err := files.OpenFile(path, flag)
					return tornFile{f, &full}, err
				},
			})
			put(t, a, capture(t, "http://a.test/1", "first"))
			full.Store(true)
			second := capture(t, "http://a.test/2", strings.Repeat("second", 1000))
			for range 3 {
				if _, err := a.Put(t.Context(), second); !files.NoRoom(err) {
					t.Fatalf("without room: %v", err)
				}
			}
			if err := a.Sync(); !files.NoRoom(err) {
				t.Errorf("a sync without room: %v", err)
			}
			full.Store(false)
			want := 2 // the first, with its request
			if again {
				put(t, a, second)
				want += 2
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if got := len(readAll(t, dir)) - 1; got != want { // warcinfo
				t.Errorf("%d records, want %d", got, want)
			}
		})
	}
}
