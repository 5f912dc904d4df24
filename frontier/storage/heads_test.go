package storage_test

import (
	"os"
	"path/filepath"
	"testing"

	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// A byte that says nothing costs nothing when it is damaged: the number of a log's key, and the
// registry of the keys.
func TestDamagedHeads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kv, err := storagetest.OpenSmall(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Write([]storage.Entry{{Key: []byte("k"), Value: []byte("v")}}); err != nil {
		t.Fatal(err)
	}
	killed := storagetest.Clone(t, dir)
	if err := kv.Close(); err != nil {
		t.Fatal(err)
	}
	for pattern, size := range map[string]int64{"*.mem": 20, "*.vlog": 20, "KEYREGISTRY": 28} {
		for at := range size {
			dir := storagetest.Clone(t, killed)
			files, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil || len(files) != 1 {
				t.Fatalf("%s: %v, %v", pattern, files, err)
			}
			flipByte(t, files[0], at)
			kv, err := storagetest.OpenSmall(dir)
			if err != nil {
				t.Errorf("%s, byte %d: %v", pattern, at, err)
				continue
			}
			if got := storagetest.Dump(t, kv, "k"); got["k"] != "v" {
				t.Errorf("%s, byte %d: the store has %q", pattern, at, got)
			}
			if err := kv.Close(); err != nil {
				t.Errorf("%s, byte %d: %v", pattern, at, err)
			}
		}
	}
}

// flipByte changes one byte of a file.
func flipByte(t *testing.T, path string, at int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if _, err := file.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x40
	if _, err := file.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
