package storage_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"crawlnode/frontier/storage"
)

// TestNoInodes: a store on a volume that has no inodes left takes nothing and stays whole, and says so; a start there
// names the cause in a way that others can tell.
func TestNoInodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=500m,nr_inodes=400"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("needs root, to mount a volume: %v; CI is set, and there everything that can run has to", err)
		}
		t.Skipf("needs root, to mount a volume: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	folder := filepath.Join(dir, "frontier")
	kv, err := storage.OpenBadger(folder, storage.BadgerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	roomy := kv.(interface{ Room() error })
	if err := roomy.Room(); err != nil {
		t.Fatalf("with inodes: %v", err)
	}
	for i := 0; err == nil; i++ {
		err = os.WriteFile(filepath.Join(dir, string(rune(0x4e00+i))), nil, 0o600)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := roomy.Room(); !errors.Is(err, storage.ErrNoSpace) {
		t.Errorf("without inodes: %v", err)
	}
	if err := kv.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	// What a failed start removes leaves room for a file or two: it is full all the same.
	if err := os.Remove(filepath.Join(dir, string(rune(0x4e00)))); err != nil {
		t.Fatal(err)
	}
	if kv, err = storage.OpenBadger(folder, storage.BadgerOptions{}); err == nil {
		_ = kv.Close()
		t.Fatal("a store was opened that cannot make its log")
	}
	if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, storage.ErrNoSpace) {
		t.Errorf("opening: %v", err)
	}
}
