//go:build unix

package fetcher

import (
	"net"
	"syscall"
)

// quiet reports whether an idle connection stands and has said nothing. A
// server that closed it, or that speaks without being asked, makes it useless.
// Connections that are no sockets are believed to stand.
func quiet(nc net.Conn) bool {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return true
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	alive := false
	var b [1]byte
	err = rc.Read(func(fd uintptr) bool {
		_, _, rerr := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		alive = rerr == syscall.EAGAIN || rerr == syscall.EWOULDBLOCK
		return true // never wait for data
	})
	return err == nil && alive
}
