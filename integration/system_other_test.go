//go:build !linux

package integration

import (
	"errors"
	"os"
	"syscall"
)

func mountMemory(_, _ string, _, _ bool) error { return errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }

func enterNetwork(*os.File) error { return errors.ErrUnsupported }

func diesWithTest(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup}
}

func forgetFile(*os.File) error { return errors.ErrUnsupported }

func beLowly() {}

func execWithoutNetlink(path string, args []string) error {
	return syscall.Exec(path, args, os.Environ())
}
