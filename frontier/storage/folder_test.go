package storage_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestFolderNamedLikeAPattern: the files of a store are found whatever the folder is called, so
// that a lost MANIFEST is noticed and no new store takes the place of the old one.
func TestFolderNamedLikeAPattern(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "crawl[1]*?")
	kv, err := storagetest.OpenSmall(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Write([]storage.Entry{{Key: []byte("k"), Value: []byte("v")}}); err != nil {
		t.Fatal(err)
	}
	closed(t, kv)
	if err := os.Remove(filepath.Join(dir, "MANIFEST")); err != nil {
		t.Fatal(err)
	}
	kv, err = storagetest.OpenSmall(dir)
	if err == nil {
		closed(t, kv)
	}
	if !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("a store without its MANIFEST: %v", err)
	}
}
