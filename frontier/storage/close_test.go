package storage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestCloseOnAFailingDisk: a store whose tables cannot be written is left alone in time, with
// an error. Nobody opens it beside what is left of it, and it is as a kill leaves it.
//
//race:meets
func TestCloseOnAFailingDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kv, err := storagetest.OpenSmall(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Write([]storage.Entry{{Key: []byte("key"), Value: []byte("value")}}); err != nil {
		t.Fatal(err)
	}
	clear := obstruct(t, dir)
	storage.SetPatience(kv, 50*time.Millisecond)
	closed := make(chan error, 1)
	go func() { closed <- kv.Close() }()
	select {
	case err := <-closed:
		if err == nil {
			t.Error("a store that could not be written is said to be closed")
		}
	case <-time.After(15 * time.Minute):
		t.Error("the store waits without end for a disk that takes nothing")
	}
	if beside, err := storagetest.OpenSmall(dir); err == nil || !strings.Contains(err.Error(), "lock") {
		t.Errorf("%v, %v: while something may be written into it the store is not refused for its lock", beside, err)
	}
	killed := storagetest.Clone(t, dir)
	clear()
	storage.WaitClosed(kv) // waits for the first call to end
	for what, dir := range map[string]string{"killed": killed, "healed": dir} {
		holds(t, what, dir)
	}
}

// obstruct lets no table be made in a store: a folder stands where each would be.
func obstruct(t *testing.T, dir string) (clear func()) {
	t.Helper()
	var folders []string
	for i := range 100 {
		folders = append(folders, filepath.Join(dir, fmt.Sprintf("%06d.sst", i)))
		if err := os.Mkdir(folders[i], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, f := range folders {
			if err := os.Remove(f); err != nil {
				t.Error(err)
			}
		}
	}
}

// holds checks that the store in dir has what was written.
func holds(t *testing.T, what, dir string) {
	t.Helper()
	kv, err := storagetest.OpenSmall(dir)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer kv.Close()
	s, err := kv.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if v, ok, err := s.Get([]byte("key"), nil); err != nil || !ok || string(v) != "value" {
		t.Errorf("%s: it has %q, %v, %v", what, v, ok, err)
	}
}
