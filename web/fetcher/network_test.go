package fetcher

import (
	"net/netip"
	"strings"
	"testing"
)

// TestARefusedAddressNamesItsNetwork: what to add, by the IANA registries.
func TestARefusedAddressNamesItsNetwork(t *testing.T) {
	t.Parallel()
	for addr, network := range map[string]string{
		"127.0.0.1": "127.0.0.0/8", "10.20.30.40": "10.0.0.0/8", "192.168.1.1": "192.168.0.0/16",
		"172.31.0.1": "172.16.0.0/12", "169.254.1.1": "169.254.0.0/16", "100.64.0.1": "100.64.0.0/10",
		"198.19.0.1": "198.18.0.0/15", "203.0.113.9": "203.0.113.0/24", "::1": "::1/128",
		"fc00::1": "fc00::/7", "fdff::1": "fc00::/7", "fe80::1": "fe80::/10",
		"2001:db8::1":     "2001:db8::/32",
		"::ffff:10.0.0.1": "10.0.0.0/8", "64:ff9b::1": "64:ff9b::1/128", "fec0::1": "fec0::1/128",
	} {
		a := netip.MustParseAddr(addr)
		p := Network(a)
		if p.String() != network || !p.Contains(a.Unmap()) {
			t.Errorf("the network of %s is %v, want %s", addr, p, network)
		}
		err := new(Fetcher).checkAddr(netip.AddrPortFrom(a, 80))
		if err == nil || !strings.HasSuffix(err.Error(), "add --allow-net "+network) {
			t.Errorf("%s: %v, want --allow-net %s", addr, err, network)
		}
	}
}
