package fetcher

import (
	"net"
	"syscall"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of tcp(7), in milliseconds; package
// syscall does not name it.
const tcpUserTimeout = 18

// limitDelivery makes the kernel end nc when what was written is not
// acknowledged within deliveryLimit. A connection that is no socket has nothing
// to repeat; one that refuses the option is left with the write's deadline.
func limitDelivery(nc net.Conn) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return
	}
	_ = rc.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(deliveryLimit.Milliseconds()))
	})
}
