package files

import (
	"errors"
	"syscall"
)

// NoRoom reports whether an error says that a disk, or the part of it that a quota leaves to this
// user, is full: once there is space the same call works. The free space that the system tells says
// nothing about a quota, so a refused write is often the first sign of one.
func NoRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
