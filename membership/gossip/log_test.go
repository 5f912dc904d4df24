package gossip

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
)

// An error of memberlist's is a warning, except for errors that are logged elsewhere and
// those of this node's own end.
func TestGossipLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		warn bool
	}{
		{"[ERR] memberlist: Push/Pull with n2 failed: i/o timeout", true},
		{"[WARN] memberlist: Refuting a suspect message", false},
		{fmt.Sprintf("[ERR] memberlist: Failed push/pull merge: %v: node n9", ErrMismatch), false},
		{"[ERR] memberlist: Conflicting address for n2. Mine: 127.0.0.1:1 Theirs: 127.0.0.1:2", false},
		{fmt.Sprintf("[ERR] memberlist: Failed to send gossip to 127.0.0.1:1: write udp: %v", net.ErrClosed), false},
	} {
		var out bytes.Buffer
		bridge(slog.New(slog.NewTextHandler(&out, nil))).Print(c.line)
		if got := strings.Contains(out.String(), "level=WARN"); got != c.warn {
			t.Errorf("%q: a warning %v, want %v:\n%s", c.line, got, c.warn, out.String())
		}
	}
}
