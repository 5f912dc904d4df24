//race:none

package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b")
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if v, pid := readLine(d.Join("VERSION")), readLine(d.Join("pid")); v != "crawlnode-data 4" ||
		pid != strconv.Itoa(os.Getpid()) {
		t.Errorf("VERSION %q, pid %q", v, pid)
	}
	_, err = Open(path)
	var locked *LockedError
	if !errors.As(err, &locked) || !errors.Is(err, ErrStorage) ||
		!strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("a directory in use: %v", err)
	}
	d.Close()
	if _, err := os.Stat(d.Join("pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the pid file stays: %v", err)
	}
	d, err = Open(path)
	if err != nil {
		t.Fatalf("the second start: %v", err)
	}
	d.Close()
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		says       string // "" is no error
	}{
		"nothing":             {"lock", "", ""},
		"a disk's own folder": {"lost+found", "", ""},
		"a start cut off":     {"VERSION.tmp", "crawln", ""},
		"an empty VERSION":    {"VERSION", "", "VERSION"},
		"ours":                {"VERSION", "crawlnode-data 4\n", ""},
		"older":               {"VERSION", "crawlnode-data 3\n", ""},
		"somebody else's":     {"photo.jpg", "x", "photo.jpg"},
		"another program's":   {"VERSION", "16\n", "not a data directory"},
		"newer": {"VERSION", "crawlnode-data 5\n",
			"its data format is 5, this program reads up to 4"},
		"not even a number":     {"VERSION", "crawlnode-data one\n", "not a data directory"},
		"binary":                {"VERSION", "\x00\x01\xff", "not a data directory"},
		"another's with a pid":  {"pidfile", "1", "pidfile"},
		"a file for an archive": {"warc", "x", "warc"},
		"a volume for one":      {"warc/lost+found", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			if err := os.MkdirAll(filepath.Dir(filepath.Join(path, c.file)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(path, c.file), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			d, err := Open(path)
			if err == nil {
				d.Close()
			}
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (!errors.Is(err, ErrStorage) || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), path)):
				t.Errorf("got %v", err)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); !errors.Is(err, ErrStorage) {
		t.Errorf("a file: %v", err)
	}
}

func TestWriteSyncedReplaces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	for _, text := range []string{"one\n", "a longer two\n", ""} {
		if err := WriteSynced(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q, %v", b, err)
		}
	}
	if free, err := FreeBytes(filepath.Dir(path)); err != nil || free <= 0 {
		t.Errorf("%d bytes are free, %v", free, err)
	}
}

// TestAbandon leaves of a refused start what was there before, and takes nothing from others.
func TestAbandon(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	names := func() string {
		var all []string
		_ = filepath.WalkDir(root, func(path string, _ os.DirEntry, _ error) error {
			all = append(all, strings.TrimPrefix(path, root))
			return nil
		})
		return strings.Join(all, " ")
	}
	before := names()
	d, err := Open(filepath.Join(root, "a", "b"))
	if err != nil || os.WriteFile(d.Join("more"), nil, 0o600) != nil {
		t.Fatal(err)
	}
	if _, err := Open(d.Path()); err == nil || !d.Has("more") {
		t.Errorf("a second start: %v", err)
	}
	d.Abandon()
	if after := names(); after != before {
		t.Errorf("it leaves %q", after)
	}
	kept, err := Open(filepath.Join(root, "a"))
	if err != nil {
		t.Fatal(err)
	}
	kept.Close()
	before = names()
	if d, err = Open(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	if d.Abandon(); names() != before {
		t.Errorf("a directory that was there: %q, want %q", names(), before)
	}
	// An empty directory, such as a new volume, is as it was: with what its owner has put there.
	if err := os.MkdirAll(filepath.Join(root, "volume", "warc", "old"), 0o755); err != nil {
		t.Fatal(err)
	}
	before = names()
	if d, err = Open(filepath.Join(root, "volume")); err != nil ||
		os.Mkdir(d.Join("frontier"), 0o755) != nil ||
		os.WriteFile(d.Join("frontier/1.log"), nil, 0o600) != nil {
		t.Fatal(err)
	}
	if _, err := Open(d.Path()); err == nil || !d.Has("VERSION") {
		t.Errorf("a second start: %v", err)
	}
	if d.Abandon(); names() != before {
		t.Errorf("an empty directory: %q, want %q", names(), before)
	}
	if _, err := Open(filepath.Join(root, "a", "VERSION", "c")); err == nil || names() != before {
		t.Errorf("below a file: %v, %q", err, names())
	}
}

// A damaged VERSION file in a directory of this program is said to be damaged, and how to mend it.
func TestDamagedVersion(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\x63rawlnode-dat\xe1 4\n", "crawlnode-data x\n"} {
		path := t.TempDir()
		for _, name := range []string{"membership.json", "frontier"} {
			if err := os.WriteFile(filepath.Join(path, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(path, "VERSION"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if !errors.Is(err, ErrStorage) ||
			!strings.Contains(err.Error(), "echo crawlnode-data 4 > "+filepath.Join(path, "VERSION")) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
