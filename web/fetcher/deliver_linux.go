package fetcher

import (
	"net"
	"syscall"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of tcp(7), which package syscall does not define. Its value is
// in milliseconds.
const tcpUserTimeout = 18

// limitDelivery makes the kernel close nc when written bytes are not acknowledged within
// deliveryLimit. A connection that is not a socket retransmits nothing; one that refuses the option
// has only the write's deadline.
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
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout,
			int(deliveryLimit.Milliseconds()))
	})
}
