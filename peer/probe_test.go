package peer_test

import (
	"net"
	"strings"
	"testing"

	"crawlnode/peer"
)

// TestProbe: what greets as HTTP/2 does is a node; what says something else, or nothing, is not.
func TestProbe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ says, want string }{
		"a node":           {"\x00\x00\x00\x04\x00\x00\x00\x00\x00", ""},
		"something else":   {"220 mail.test ready\r\n", "no crawlnode"},
		"closed at once":   {"", "does not greet"},
		"closed too early": {"\x00\x00", "does not greet"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if conn, err := l.Accept(); err == nil {
				_, _ = conn.Write([]byte(c.says))
				_ = conn.Close()
			}
		}()
		err = peer.Probe(t.Context(), l.Addr().String(), nil)
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		_ = l.Close()
		<-done
	}
}
