package storage_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestWriteDuringSync checks that a Write goes on while the disk is busy with a
// Sync.
//
//race:meets
func TestWriteDuringSync(t *testing.T) {
	t.Parallel()
	kv, reopen := storagetest.OpenBadger(t)
	busy, release := make(chan string, 64), make(chan struct{})
	storage.SetFsync(kv, func(f *os.File) error {
		busy <- filepath.Base(f.Name())
		<-release
		return f.Sync()
	})
	put := func(key string) {
		t.Helper()
		if err := kv.Write([]storage.Entry{{Key: []byte(key), Value: []byte{1}}}); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	over := make(chan error, 1)
	go func() { over <- kv.Sync() }()
	synced := []string{<-busy}
	put("b") // it would wait for ever
	if got := storagetest.Dump(t, kv, ""); len(got) != 2 {
		t.Fatalf("keys while the disk is busy: %v", got)
	}
	close(release)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	for len(busy) > 0 {
		synced = append(synced, <-busy)
	}
	if !slices.Contains(synced, "00001.mem") || !slices.Contains(synced, filepath.Base(storage.Folder(kv))) {
		t.Fatalf("synced %v; want the log of the table in memory, and the folder", synced)
	}
	if err := kv.Sync(); err != nil {
		t.Fatal(err)
	}
	for len(busy) > 0 {
		if name := <-busy; name == filepath.Base(storage.Folder(kv)) {
			t.Fatal("the folder was synced again, with the same names")
		}
	}
	if got := storagetest.Dump(t, reopen(), ""); len(got) != 2 {
		t.Fatalf("keys after a crash: %v", got)
	}
}
