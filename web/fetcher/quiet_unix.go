//go:build unix

package fetcher

import (
	"net"
	"syscall"
)

// lookout checks an idle connection. It is made once for each connection, so that the check before
// each request allocates nothing.
type lookout struct {
	rc    syscall.RawConn
	blind bool // the connection is not a socket
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

// quiet reports whether the connection is open and has no unread bytes. A connection that the
// server closed, or on which it sent bytes unasked, is useless. Connections that are not sockets
// are assumed to be open. It uses Control and not Read because the deadline of the earlier fetch
// may have passed, which says nothing about the server.
func (o *lookout) quiet() bool {
	if o.blind || o.rc == nil {
		return o.blind
	}
	o.alive = false
	return o.rc.Control(o.look) == nil && o.alive
}
