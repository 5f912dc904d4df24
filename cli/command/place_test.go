package command

import (
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
		{dir, "", "is a folder"},
		{in("pipe"), "", "is a device or a pipe"},
		{in("null"), "", "is a device or a pipe"},
		{"/dev/null", "", "is a device or a pipe"},
	} {
		got, err := PlaceOf(c.path)
		if got != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %q, %v", c.path, got, err)
		}
	}
}
