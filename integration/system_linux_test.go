package integration

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// This file has the calls that only Linux has. Elsewhere the tests of real processes that need them fail; the simulations run.

// mountMemory mounts a file system in memory, or mounts one anew as readOnly says.
func mountMemory(path, options string, again, readOnly bool) error {
	var flags uintptr
	if again {
		flags |= syscall.MS_REMOUNT
	}
	if readOnly {
		flags |= syscall.MS_RDONLY
	}
	return syscall.Mount("crawlnode-test", path, "tmpfs", flags, options)
}

func unmount(path string) error { return syscall.Unmount(path, syscall.MNT_DETACH) }

// enterNetwork moves this thread into the network namespace of a file.
func enterNetwork(f *os.File) error { return unix.Setns(int(f.Fd()), unix.CLONE_NEWNET) }

// diesWithTest is for a process that ends at the latest with the thread that has started it.
func diesWithTest(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup, Pdeathsig: syscall.SIGKILL}
}

// forgetFile takes a file out of the page cache.
func forgetFile(f *os.File) error {
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// beLowly gives this thread the lowest priority.
func beLowly() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), 19) }
