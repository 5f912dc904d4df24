package fetcher

import (
	"bufio"
	"net"
	"syscall"
	"testing"
)

// TestLimitDelivery reads the option back from a connection.
func TestLimitDelivery(t *testing.T) {
	t.Parallel()
	srv := newRawServer(t, func(*rawServer, net.Conn, *bufio.Reader) {})
	f := newFetcher(t, Options{})
	r := ask(t, "http", srv.addr, "/")
	x, err := f.newExchange(t.Context(), &r)
	if err != nil {
		t.Fatal(err)
	}
	c, failure := x.dial()
	if failure != nil {
		t.Fatal(failure)
	}
	defer c.close()
	rc, err := c.raw.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var ms int
	if cerr := rc.Control(func(fd uintptr) {
		ms, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout)
	}); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	if ms != int(deliveryLimit.Milliseconds()) {
		t.Errorf("unacknowledged bytes are repeated for %d ms, want %v", ms, deliveryLimit)
	}
}
