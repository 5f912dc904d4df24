package egress

import (
	"net/netip"
	"regexp"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/membership"
)

// TestARefusalSaysWhatOpensTheAddress: the flag in the sentence is the network that the IANA
// registries of special-purpose addresses have, and with it the address is not refused any more.
func TestARefusalSaysWhatOpensTheAddress(t *testing.T) {
	t.Parallel()
	snap := &membership.Snapshot{Peers: []membership.Peer{
		{RPC: "10.1.0.2:7000", HTTP: "8.8.4.4:7001", Gossip: "[2606:4700::7]:7002"},
		{RPC: "192.168.7.7:1", HTTP: "172.20.1.1:2", Gossip: "[fd12::1]:3"}}}
	for addr, network := range map[string]string{
		"127.0.0.1": "127.0.0.0/8", "127.1.2.3": "127.0.0.0/8", "::1": "::1/128",
		"::ffff:127.0.0.1": "127.0.0.0/8", "10.1.0.2": "10.0.0.0/8", "192.168.7.7": "192.168.0.0/16",
		"172.20.1.1": "172.16.0.0/12", "fd12::1": "fc00::/7", "169.254.9.9": "169.254.0.0/16",
		"169.254.169.254": "169.254.0.0/16", "fe80::1": "fe80::/10", "8.8.4.4": "8.8.4.4/32",
		"2606:4700::7": "2606:4700::7/128", "100.100.100.200": "100.100.100.200/32",
		"fd00:ec2::254": "fd00:ec2::254/128", "168.63.129.16": "168.63.129.16/32",
	} {
		at := netip.AddrPortFrom(netip.MustParseAddr(addr), 80)
		judge := func(allow ...netip.Prefix) error {
			r := New(Options{Allow: allow, Ports: config.Default().AllowPorts,
				Listeners: []string{"127.0.0.1:7", "[::1]:7"}, Interfaces: true})
			return r.Judge(at, snap, func(uint16) bool { return false }, time.Now())
		}
		err := judge()
		if err == nil {
			t.Errorf("%s is not refused", addr)
			continue
		}
		m := regexp.MustCompile(`add --allow-net (\S+)`).FindStringSubmatch(err.Error())
		if m == nil || m[1] != network {
			t.Errorf("%s: %q, want --allow-net %s", addr, err, network)
			continue
		}
		if err := judge(netip.MustParsePrefix(m[1])); err != nil {
			t.Errorf("%s is refused in spite of the flag that was named: %v", addr, err)
		}
	}
}

// TestARefusedPortSaysWhatOpensIt: the list that is named keeps what was allowed.
func TestARefusedPortSaysWhatOpensIt(t *testing.T) {
	t.Parallel()
	judge := func(ports []config.PortRange, port uint16) error {
		at := netip.AddrPortFrom(netip.MustParseAddr("8.8.8.8"), port)
		return New(Options{Ports: ports}).Judge(at, &membership.Snapshot{},
			func(uint16) bool { return false }, time.Now())
	}
	err := judge(config.Default().AllowPorts, 22)
	m := regexp.MustCompile(`give --allow-ports (\S+)`).FindStringSubmatch(err.Error())
	if m == nil {
		t.Fatalf("%v names no flag", err)
	}
	var ports []config.PortRange
	for _, word := range regexp.MustCompile(",").Split(m[1], -1) {
		var p config.PortRange
		if err := p.UnmarshalText([]byte(word)); err != nil {
			t.Fatal(err)
		}
		ports = append(ports, p)
	}
	for _, port := range []uint16{22, 80, 443, 8080} {
		if err := judge(ports, port); err != nil {
			t.Errorf("with the list that was named: %v", err)
		}
	}
}
