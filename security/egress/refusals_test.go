package egress

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
)

// TestRefusals: an own or a peer's address that the crawl allows, and this node does not, is told
// of, once in the log, for an hour after the last refusal and while the settings allow it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	loopback, at := netip.MustParsePrefix("127.0.0.0/8"), time.Unix(1_000_000, 0)
	snap := &membership.Snapshot{
		Peers: []membership.Peer{{RPC: "127.0.0.1:7000"}, {RPC: "10.0.0.7:7000"}},
	}
	for _, c := range []struct {
		name       string
		own, crawl []netip.Prefix
		addr       string
		told       bool
	}{
		{"the flag is missing here", nil, []netip.Prefix{loopback}, "127.0.0.1:80", true},
		{"the flag is given", []netip.Prefix{loopback}, []netip.Prefix{loopback}, "127.0.0.1:80", false},
		{"the crawl does not allow it either", nil, []netip.Prefix{loopback}, "10.0.0.7:80", false},
		{"it is no peer's", nil, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "10.0.0.8:80", false},
		{"a listener is never meant", nil, []netip.Prefix{loopback}, "127.0.0.1:7000", false},
	} {
		var log bytes.Buffer
		settings := crawl.Settings{AllowNet: c.crawl}
		r := New(Options{
			Allow:    c.own,
			Settings: func() *crawl.Settings { return &settings },
			Log:      slog.New(slog.NewTextHandler(&log, nil)),
		})
		addr := netip.MustParseAddrPort(c.addr)
		for i := range 3 {
			_ = r.Judge(addr, snap, func(uint16) bool { return false }, at.Add(time.Duration(i)*time.Minute))
		}
		got, told := r.Refusing(at.Add(time.Hour))
		if told != c.told ||
			told && (got.Addr != addr.Addr() || got.Network != loopback || !got.Since.Equal(at)) {
			t.Errorf("%s: %+v, %v", c.name, got, told)
		}
		if lines := strings.Count(log.String(), "--allow-net 127.0.0.0/8"); lines != 1 && c.told ||
			lines > 0 && !c.told {
			t.Errorf("%s: the log says %q", c.name, log.String())
		}
		if _, told := r.Refusing(at.Add(2*time.Minute + refusalLife)); told {
			t.Errorf("%s: told for ever", c.name)
		}
		settings.AllowNet = nil
		if _, told := r.Refusing(at.Add(time.Minute)); told {
			t.Errorf("%s: told although the settings have changed", c.name)
		}
	}
}
