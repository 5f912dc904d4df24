package files

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

// TestNoRoom: a full disk and a used-up quota are a lack of room, a failing disk is not.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, true},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT}, true},
		{fmt.Errorf("write: %w", errors.Join(errors.New("first"), syscall.EDQUOT)), true},
		{syscall.EIO, false},
		{syscall.EROFS, false},
		{syscall.EFBIG, false},
	} {
		if got := NoRoom(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
