//go:build unix

package fetcher

import (
	"net"
	"syscall"
)

// lookout looks at an idle connection. It is made once for each: a look, which each
// request on a kept connection begins with, then allocates nothing.
type lookout struct {
	rc    syscall.RawConn
	blind bool // the connection is no socket
	look  func(fd uintptr)
	b     [1]byte
	alive bool
}

func newLookout(nc net.Conn) *lookout {
	o := &lookout{}
	sc, ok := nc.(syscall.Conn)
	if !ok {
		o.blind = true
		return o
	}
	o.rc, _ = sc.SyscallConn() // nil: it is closed
	o.look = func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), o.b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		o.alive = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
	}
	return o
}

// quiet reports whether the connection stands and has said nothing. A server
// that closed it, or that speaks without being asked, makes it useless.
// Connections that are no sockets are believed to stand. It is Control and not Read
// because the deadline of the fetch before may have passed, which says nothing of
// the server.
func (o *lookout) quiet() bool {
	if o.blind || o.rc == nil {
		return o.blind
	}
	o.alive = false
	return o.rc.Control(o.look) == nil && o.alive
}
