package closedport

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
)

func TestReserve(t *testing.T) {
	t.Parallel()
	p := Reserve(t)
	if _, err := net.Dial("tcp", p.Addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("before Listen: %v, want refused", err)
	}
	if l, err := net.Listen("tcp", p.Addr); err == nil {
		l.Close()
		t.Error("somebody else could listen on it")
	}
	l := p.Listen(t)
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = io.WriteString(conn, "here") // the test sees it
			_ = conn.Close()
		}
	}()
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if said, err := io.ReadAll(conn); string(said) != "here" || err != nil {
		t.Errorf("after Listen: %q, %v", said, err)
	}
}
