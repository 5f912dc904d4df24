package storage

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var errDisk = errors.New("injected error of the disk")

// TestSyncOfVanishedFile removes a log between listing and opening.
func TestSyncOfVanishedFile(t *testing.T) {
	t.Parallel()
	s := newFileSync(t.TempDir())
	for _, name := range []string{"00001.mem", "00002.mem"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte{1}, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var synced []string
	s.fsync = func(f *os.File) error {
		synced = append(synced, filepath.Base(f.Name()))
		err := os.Remove(filepath.Join(s.dir, "00002.mem"))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := s.sync(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"00001.mem", filepath.Base(s.dir)}; !slices.Equal(synced, want) {
		t.Fatalf("synced %v, want %v", synced, want)
	}
	s.fsync = func(*os.File) error { return errDisk }
	if err := s.sync(); !errors.Is(err, errDisk) {
		t.Fatalf("a disk that fails: %v", err)
	}
}
