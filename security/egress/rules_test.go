package egress

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/membership"
)

// TestRules is the table of where a node never connects a fetch to, whatever the
// cluster's settings allow.
func TestRules(t *testing.T) {
	t.Parallel()
	snap := &membership.Snapshot{Peers: []membership.Peer{
		{RPC: "10.1.0.2:7000", HTTP: "198.51.100.7:7001", Gossip: "[2606:4700::7]:7002"},
		{RPC: "peer.example:1"},
	}}
	for _, c := range []struct {
		flags  string // deny-net; allow-net; allow-ports
		at     string
		reason string // "" may be dialled
	}{
		{";;", "8.8.8.8:80", ""},
		{";;", "8.8.8.8:8443", ""},
		{";;", "8.8.8.8:22", "--allow-ports"},
		{";;", "8.8.8.8:7999", "--allow-ports"},
		{";;", "8.8.8.8:4242", ""}, // a seed's
		{";;443", "8.8.8.8:4242", "--allow-ports"},
		{";;443,1000-2000", "8.8.8.8:1500", ""},
		{";;443", "8.8.8.8:80", "--allow-ports"},
		{"8.8.0.0/16;;", "8.8.8.8:80", "--deny-net"},
		{"8.8.0.0/16;8.8.8.8/32;", "8.8.8.8:80", "--deny-net"},
		{"10.0.0.0/8;10.0.0.0/8;", "10.9.9.9:80", "--deny-net"},
		{"10.0.0.0/8;::/0;", "[::ffff:10.9.9.9]:80", "--deny-net"},
		{"::ffff:10.0.0.0/104;10.0.0.0/8;", "10.9.9.9:80", "--deny-net"},
		{"10.0.0.0/8;::/0;", "[64:ff9b::a09:909]:80", "--deny-net"},
		{"10.0.0.0/8;::/0;", "[2002:a09:909::1]:80", "--deny-net"},
		{";;", "169.254.169.254:80", "metadata"},
		{";0.0.0.0/0;", "169.254.169.254:80", "metadata"},
		{";::/0;", "[::ffff:169.254.169.254]:80", "metadata"},
		{";::/0;", "[64:ff9b::a9fe:a9fe]:80", "translated"},
		{";::/0,0.0.0.0/0;", "[64:ff9b::a9fe:a9fe]:80", "translated"},
		{";169.254.0.0/16;", "169.254.169.254:80", ""},
		{";169.254.1.0/24;", "169.254.1.9:80", ""},
		{";169.254.1.0/24;", "169.254.169.254:80", "metadata"},
		{";0.0.0.0/0;", "0.0.0.0:80", "this machine"},
		{"10.0.0.0/8;::/0;", "[::10.0.0.1]:80", "--deny-net"},
		{";0.0.0.0/0;", "168.63.129.16:80", "metadata"},
		{";168.63.129.16/32;", "168.63.129.16:80", ""},
		{";::/0;", "[fd00:ec2::254]:80", "metadata"},
		{";::/0;", "[fe80::1]:80", "link-local"},
		{";::/0;", "[fe80::1%eth0]:80", "link-local"},
		{";;", "192.0.2.9:80", "of this node"},
		{";192.0.2.0/24;", "192.0.2.9:80", ""},
		{";192.0.2.0/24;", "192.0.2.9:8001", "listens"},
		{";192.0.2.0/24;", "[::ffff:192.0.2.9]:8001", "listens"},
		{";;", "10.1.0.2:80", "of a peer"},
		{";10.0.0.0/8;", "10.1.0.2:80", ""},
		{";10.0.0.0/8;1-65535", "10.1.0.2:7000", "listens"},
		{";;", "198.51.100.7:80", "of a peer"},
		{";;", "[2606:4700::7]:80", "of a peer"},
		{";;", "[2606:4700::8]:80", ""},
		{";;", "[2001:67c:64::a00:1]:80", "translated"}, // 10.0.0.1
		{";;", "[2001:67c:64::808:808]:80", ""},
		{"8.8.8.8/32;;", "[2001:67c:64::808:808]:80", "--deny-net"},
	} {
		flags := strings.Split(c.flags, ";")
		cfg := config.Default()
		cfg.DenyNet, cfg.AllowNet = prefixesOf(t, flags[0]), prefixesOf(t, flags[1])
		if flags[2] != "" {
			cfg.AllowPorts = nil
			for word := range strings.SplitSeq(flags[2], ",") {
				var p config.PortRange
				if err := p.UnmarshalText([]byte(word)); err != nil {
					t.Fatal(err)
				}
				cfg.AllowPorts = append(cfg.AllowPorts, p)
			}
		}
		r := rulesOf(&cfg, []string{"192.0.2.9:8001"}, false)
		found := translatorsIn([]netip.Addr{netip.MustParseAddr("2001:67c:64::192.0.0.170")})
		r.translators.Store(&found)
		err := r.Judge(netip.MustParseAddrPort(c.at), snap, func(p uint16) bool { return p == 4242 },
			time.Now())
		if (err == nil) != (c.reason == "") || !strings.Contains(fmt.Sprint(err), c.reason) {
			t.Errorf("%s with %q: %v, want %q", c.at, c.flags, err, c.reason)
		}
	}
}

func rulesOf(c *config.Config, listeners []string, interfaces bool) *Rules {
	return New(Options{
		Deny:       c.DenyNet,
		Allow:      c.AllowNet,
		Ports:      c.AllowPorts,
		Listeners:  listeners,
		Interfaces: interfaces,
	})
}

func prefixesOf(t *testing.T, list string) []netip.Prefix {
	t.Helper()
	var out []netip.Prefix
	for word := range strings.SplitSeq(list, ",") {
		if word != "" {
			p, err := netip.ParsePrefix(word)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, p)
		}
	}
	return out
}

// TestOwnInterfaces denies this machine's own addresses, and the ports of a listener at
// all of them, at each.
func TestOwnInterfaces(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	r := rulesOf(&cfg, []string{"0.0.0.0:8888"}, true)
	none := func(uint16) bool { return false }
	for at, reason := range map[string]string{
		"127.0.0.1:8888": "listens",
		"127.0.0.1:80":   "of this node",
		"127.9.9.9:80":   "of this node",
		"127.9.9.9:8888": "listens",
		"0.0.0.0:80":     "this machine",
		"[::]:80":        "this machine",
	} {
		if err := r.Judge(netip.MustParseAddrPort(at), nil, none, time.Now()); err == nil ||
			!strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", at, err)
		}
	}
	now := time.Now()
	first := r.ownAddresses(nil, now)
	if r.ownAddresses(nil, now.Add(time.Second)) != first ||
		r.ownAddresses(nil, now.Add(2*ownMaxAge)) == first ||
		r.ownAddresses(&membership.Snapshot{}, now) == first {
		t.Error("the addresses are looked at too often, or not again")
	}
}

// TestTranslators finds NAT64 prefixes of all lengths (RFC 6052, section 2.4).
func TestTranslators(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"64:ff9b::192.0.0.170":         "64:ff9b::/96",
		"2001:db8:122:344::c0:0:ab":    "",
		"2001:db8:c000:aa::":           "2001:db8::/32",
		"2001:db8:1c0:0:aa::":          "2001:db8:100::/40",
		"2001:db8:122:c000:0:ab00::":   "2001:db8:122::/48",
		"2001:db8:122:3c0:0:aa::":      "2001:db8:122:300::/56",
		"2001:db8:122:344:c0:0:aa00:0": "2001:db8:122:344::/64",
		"192.0.0.170":                  "",
		"2606:4700::1":                 "",
	} {
		got := translatorsIn([]netip.Addr{netip.MustParseAddr(addr)})
		if text := strings.Trim(fmt.Sprint(got), "[]"); text != want {
			t.Errorf("%s: %s, want %s", addr, text, want)
		}
	}
}

// TestDeniedAddressesAreLeftOut takes another of a host's addresses.
func TestDeniedAddressesAreLeftOut(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.DenyNet = prefixesOf(t, "8.8.8.0/24")
	r := rulesOf(&cfg, nil, false)
	for in, want := range map[string]string{
		"8.8.8.8 1.1.1.1":     "1.1.1.1",
		"169.254.0.1 1.1.1.1": "1.1.1.1",
		"8.8.8.8":             "8.8.8.8",
		"1.1.1.1":             "1.1.1.1",
	} {
		got := r.withoutDenied(parseAddrs(in))
		if text := strings.Trim(fmt.Sprint(got), "[]"); text != want {
			t.Errorf("%s: %s, want %s", in, text, want)
		}
	}
}

// TestJudgeProxy: a proxy may be private, and never in --deny-net or a cloud's metadata service.
func TestJudgeProxy(t *testing.T) {
	t.Parallel()
	r := New(Options{
		Deny: []netip.Prefix{netip.MustParsePrefix("127.0.0.5/32"), netip.MustParsePrefix("10.1.0.0/16")},
	})
	for addr, may := range map[string]bool{
		"127.0.0.1:3128": true, "10.0.0.1:3128": true, "192.0.2.1:80": true, "[::1]:1080": true,
		"127.0.0.5:6379": false, "[::ffff:127.0.0.5]:6379": false, "10.1.2.3:80": false,
		"169.254.169.254:80": false, "[fd00:ec2::254]:80": false,
	} {
		if err := r.JudgeProxy(netip.MustParseAddrPort(addr)); (err == nil) != may {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
