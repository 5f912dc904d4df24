package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestPlaceOf(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(in("file"), in("link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(in("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", in("null")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want, wrong string }{
		{in("new"), in("new"), ""},
		{in("file"), in("file"), ""},
		{in("link"), in("file"), ""},
		{in("none/new"), "", "the folder " + in("none") + " does not exist: make it first"},
		{dir, "", "is a folder"},
		{in("pipe"), "", "is a device or a pipe"},
		{in("null"), "", "is a device or a pipe"},
		{"/dev/null", "", "is a device or a pipe"},
	} {
		got, err := PlaceOf(c.path)
		if got != c.want || (err == nil) != (c.wrong == "") ||
			err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %q, %v", c.path, got, err)
		}
	}
}

// TestUnwritable: the error names the file that was asked for, not the one that becomes it.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "open", Path: "/a/x.part", Err: syscall.EACCES},
			"/a/x cannot be written: permission denied: give a folder that this user may write to"},
		{&fs.PathError{Op: "open", Path: "/a/x.part", Err: syscall.ENOSPC}, "/a/x cannot be written: no space left on device"},
		{fs.ErrClosed, "/a/x cannot be written: file already closed"},
	} {
		if got := Unwritable("/a/x", c.err).Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
