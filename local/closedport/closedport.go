package closedport

import (
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
)

// Port is an address that refuses connections until Listen. It is freed at the end of the test.
type Port struct {
	Addr string // host:port

	fd   int
	file *os.File // owns fd
}

// Reserve binds a socket and does not listen on it: connections are refused (RFC 9293, 3.5.2), and
// the port is taken.
func Reserve(t testing.TB) *Port {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(os.NewSyscallError("socket", err))
	}
	syscall.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "a closed port")
	t.Cleanup(func() { _ = file.Close() }) // nothing was written to it, or Listen has closed it
	loopback := [4]byte{127, 0, 0, 1}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: loopback}); err != nil {
		t.Fatal(os.NewSyscallError("bind", err))
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(os.NewSyscallError("getsockname", err))
	}
	port := name.(*syscall.SockaddrInet4).Port
	at := netip.AddrPortFrom(netip.AddrFrom4(loopback), uint16(port)) //nolint:gosec // a port
	return &Port{Addr: at.String(), fd: fd, file: file}
}

// Listen opens the port: from now on it takes connections. It is called once, and the caller closes
// what it returns.
func (p *Port) Listen(t testing.TB) net.Listener {
	t.Helper()
	if err := syscall.Listen(p.fd, syscall.SOMAXCONN); err != nil {
		t.Fatal(os.NewSyscallError("listen", err))
	}
	l, err := net.FileListener(p.file) // a copy: the port is closed when the copy and the file are
	_ = p.file.Close()                 // the copy has all that it had
	if err != nil {
		t.Fatal(err)
	}
	return l
}
