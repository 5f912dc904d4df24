package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestCopyOfRenamedFiles copies a directory while its owner gives each file its final name, as a
// killed process of a simulation does that still closes its archive: each file is in the copy, by
// one of its names.
func TestCopyOfRenamedFiles(t *testing.T) {
	const files = 300
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	if err := os.Mkdir(from, 0o755); err != nil {
		t.Fatal(err)
	}
	name := func(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("%03d", i)) }
	for i := range files {
		if err := os.WriteFile(name(from, i)+".open", []byte("record"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	renamed := make(chan error, 1)
	go func() {
		var failed error
		// from the end, so that it meets the copy, which is slower
		for i := files - 1; i >= 0 && failed == nil; i-- {
			failed = os.Rename(name(from, i)+".open", name(from, i))
		}
		renamed <- failed
	}()
	if err := copyFiles(from, to); err != nil {
		t.Error(err)
	}
	if err := <-renamed; err != nil {
		t.Fatal(err)
	}
	for i := range files {
		_, closed := os.Stat(name(to, i))
		if _, open := os.Stat(name(to, i) + ".open"); open != nil && closed != nil {
			t.Fatalf("%s is in the copy by neither name", name(from, i))
		}
	}
}
