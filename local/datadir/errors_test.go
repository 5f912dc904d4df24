package datadir

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// TestFailed: a disk or a quota without room does not end a node, a failing disk does; each says
// what to do.
func TestFailed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		fatal  bool
		advice string
	}{
		{syscall.ENOSPC, false, "free some space, and"},
		{syscall.EDQUOT, false, "quota"},
		{syscall.EIO, true, "the disk fails"},
		{syscall.EROFS, true, "read-only"},
	} {
		err := Failed("write x", &fs.PathError{Op: "write", Path: "x", Err: c.err})
		if !errors.Is(err, ErrStorage) || errors.Is(err, ErrNoRoom) == c.fatal || Fatal(err) != c.fatal ||
			!strings.Contains(err.Error(), c.advice) {
			t.Errorf("%v: %v, fatal %v", c.err, err, Fatal(err))
		}
	}
}
