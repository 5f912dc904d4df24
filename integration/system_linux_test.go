package integration

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file has the calls that only Linux has. Elsewhere the tests of real processes that need them
// fail; the simulations run.

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

// execWithoutNetlink replaces this process by a program that can open no netlink socket: it does
// not hear when an interface or an address of the machine comes or goes.
func execWithoutNetlink(path string, args []string) error {
	// the filter is of this thread, which is the one that execve leaves
	runtime.LockOSThread()
	const number, firstArgument = 0, 16 // offsets in struct seccomp_data, of little-endian machines
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SOCKET, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: firstArgument},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.AF_NETLINK, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER,
		uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}
