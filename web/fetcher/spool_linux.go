package fetcher

import "golang.org/x/sys/unix"

// spool is a file without a name that is mapped into memory. Nothing is left
// behind of it, whatever happens. It grows as the payload does: what was not
// given its place on the disk must not be touched.
type spool struct {
	fd     int
	memory []byte // the largest size
	size   int64  // bytes of it that have their place
}

// newSpool makes an empty spool in dir that can grow to so many bytes. Nil: this
// cannot be had.
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

// grow gives the first size bytes their place on the disk, of which reserve bytes
// stay free. False: there is no room; a full disk shows here, and not as a fault
// at the first write.
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
		panic("BUG: a spool that is none: " + err.Error())
	}
	_ = unix.Close(s.fd) // nobody can read it any more
}
