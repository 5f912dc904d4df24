package frontier

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWriteDuringSync checks that a Write goes on while the disk is busy with a
// Sync.
func TestWriteDuringSync(t *testing.T) {
	t.Parallel()
	kv, reopen := openTestBadger(t)
	busy, release := make(chan string, 64), make(chan struct{})
	SetFsync(kv, func(f *os.File) error {
		busy <- filepath.Base(f.Name())
		<-release
		return f.Sync()
	})
	put := func(key string) {
		t.Helper()
		if err := kv.Write([]Entry{{Key: []byte(key), Value: []byte{1}}}); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	over := make(chan error, 1)
	go func() { over <- kv.Sync() }()
	synced := []string{<-busy}
	put("b") // it would wait for ever
	if got := dump(t, kv, ""); len(got) != 2 {
		t.Fatalf("keys while the disk is busy: %v", got)
	}
	close(release)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	for len(busy) > 0 {
		synced = append(synced, <-busy)
	}
	if !slices.Contains(synced, "00001.mem") || !slices.Contains(synced, filepath.Base(Folder(kv))) {
		t.Fatalf("synced %v; want the log of the table in memory, and the folder", synced)
	}
	if err := kv.Sync(); err != nil {
		t.Fatal(err)
	}
	for len(busy) > 0 {
		if name := <-busy; name == filepath.Base(Folder(kv)) {
			t.Fatal("the folder was synced again, with the same names")
		}
	}
	if got := dump(t, reopen(), ""); len(got) != 2 {
		t.Fatalf("keys after a crash: %v", got)
	}
}
