package fetcher

import "golang.org/x/sys/unix"

// spool is a nameless file that is mapped into memory. Nothing of it remains after a crash. It
// grows with the payload: memory beyond the allocated size must not be touched.
type spool struct {
	fd     int
	memory []byte // the largest size
	size   int64  // bytes that are allocated on disk
}

// newSpool makes an empty spool in dir that can grow to largest bytes. It is nil when that is not
// possible.
func newSpool(dir string, largest int64) *spool {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil
	}
	m, err := unix.Mmap(fd, 0, int(largest), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Close(fd)
		return nil
	}
	return &spool{fd: fd, memory: m}
}

// grow allocates the first size bytes on the disk, of which reserve bytes stay free. False: there
// is no room. A full disk is noticed here, and not as a fault at the first write.
func (s *spool) grow(size, reserve int64) bool {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(s.fd, &fs); err != nil || int64(fs.Bavail)*fs.Bsize < size-s.size+reserve {
		return false
	}
	if err := unix.Fallocate(s.fd, 0, s.size, size-s.size); err != nil {
		return false
	}
	s.size = size
	return true
}

// close gives the spool back.
func (s *spool) close() {
	if err := unix.Munmap(s.memory); err != nil {
		panic("BUG: closing a spool that is not mapped: " + err.Error())
	}
	_ = unix.Close(s.fd) // it is not read any more
}
