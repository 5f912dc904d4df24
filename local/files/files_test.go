//race:none

package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFinish(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a"+OpenSuffix, "first")
	if err := Finish(dir, "a"); err != nil {
		t.Fatal(err)
	}
	write("a"+OpenSuffix, "second")
	if err := Finish(dir, "a"); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a file with the final name is there: %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "a")); string(b) != "first" {
		t.Errorf("the final file was replaced: %q", b)
	}
	if err := Finish(dir, "b"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no open file: %v", err)
	}
	if err := SyncDir(filepath.Join(dir, "no")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

func TestSafeName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"n1": "n1", "crawl_2.x-Y": "crawl_2.x-Y", "../../etc/passwd": "_.._etc_passwd", "..": "",
		".n1": "n1", "": "",
		"a b\x00c\nü": "a_b_c__", strings.Repeat("x", 200): strings.Repeat("x", maxNameLen),
	} {
		if got := SafeName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// An end is not a failure, and a failure is kept however the reader above words it.
func TestSource(t *testing.T) {
	t.Parallel()
	s := &Source{R: strings.NewReader("12345"), N: 7}
	if b, err := io.ReadAll(s); err != nil || string(b) != "12345" || s.N != 12 || s.Err != nil {
		t.Errorf("%q, %v, at %d, kept %v", b, err, s.N, s.Err)
	}
	bad := errors.New("the disk")
	s = &Source{R: io.MultiReader(strings.NewReader("12"), iotest.ErrReader(bad))}
	if _, err := io.ReadAll(s); err == nil || s.N != 2 || !errors.Is(s.Err, bad) {
		t.Errorf("%v, at %d, kept %v", err, s.N, s.Err)
	}
}
