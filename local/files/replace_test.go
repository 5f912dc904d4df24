package files

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// holds checks the content of a file, blanks aside, and returns what it is.
func holds(t *testing.T, path, want string) os.FileInfo {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(bytes.TrimSpace(b)) != want {
		t.Errorf("%s holds %.40q, %v; want %.40q", filepath.Base(path), bytes.TrimSpace(b), err, want)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestReplaceNeedsNoSpace: a file and its spare alternate, and neither changes its size, so that no
// disk block is needed.
func TestReplaceNeedsNoSpace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	replace := func(text string) os.FileInfo {
		t.Helper()
		if err := Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		return holds(t, path, text)
	}
	first, second := replace("one"), replace(strings.Repeat("two", 3000))
	if os.SameFile(first, second) {
		t.Fatal("the file was overwritten in place: a crash would tear it")
	}
	for i, text := range []string{"three", "four", "five"} {
		if now := replace(text); !os.SameFile(now, []os.FileInfo{first, second}[i%2]) ||
			now.Size() != leastBytes {
			t.Errorf("%s stands in a new file, or in one of %d bytes", text, now.Size())
		}
	}
	grown := strings.Repeat("x", leastBytes+1)
	for range 3 {
		if now := replace(grown); now.Size() != 2*leastBytes {
			t.Errorf("a file that has grown has %d bytes", now.Size())
		}
	}
}

// TestReplaceAfterACrash: after any crash, the next call replaces the file.
func TestReplaceAfterACrash(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(path string) error{
		"the old one has two names": func(path string) error { return os.Link(path, path+oldSuffix) },
		"the old one has no name yet": func(path string) error {
			return os.Rename(path+spareSuffix, path+oldSuffix)
		},
		"the spare one is the file": func(path string) error {
			if err := os.Remove(path + spareSuffix); err != nil {
				return err
			}
			return os.Link(path, path+spareSuffix)
		},
		"the spare one is torn": func(path string) error {
			return os.WriteFile(path+spareSuffix, []byte("to"), 0o600)
		},
		"an older program's": func(path string) error { return os.Truncate(path, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state")
			for _, text := range []string{"one", "two"} {
				if err := Replace(path, []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			if err := leave(path); err != nil {
				t.Fatal(err)
			}
			holds(t, path, "two")
			for _, text := range []string{"three", "four"} {
				if err := Replace(path, []byte(text)); err != nil {
					t.Fatal(err)
				}
				if info := holds(t, path, text); info.Size() != leastBytes {
					t.Errorf("it has %d bytes", info.Size())
				}
			}
		})
	}
	if err := Replace(filepath.Join(t.TempDir(), "missing", "state"), nil); !os.IsNotExist(err) {
		t.Errorf("in a folder that is missing: %v", err)
	}
}

// TestReplaceAfterACrashNeedsNoSpace: a crash between the two renames leaves the blocks of
// the spare file under another name; the disk may have filled up since.
func TestReplaceAfterACrashNeedsNoSpace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	for _, text := range []string{"one", "two"} {
		if err := Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(path+spareSuffix, path+oldSuffix); err != nil {
		t.Fatal(err)
	}
	left, err := os.Stat(path + oldSuffix)
	if err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("three")); err != nil {
		t.Fatal(err)
	}
	if now := holds(t, path, "three"); !os.SameFile(now, left) {
		t.Error("the content stands in a new file, for which a full disk has no blocks")
	}
}
