package egress

import "net/netip"

// lengths are the lengths that a NAT64 prefix may have (RFC 6052).
var lengths = []int{96, 64, 56, 48, 40, 32}

// translatorsIn finds NAT64 prefixes in the IPv6 addresses of ipv4only.arpa. That name has two
// IPv4 addresses only, so an IPv6 one was made by a translator.
func translatorsIn(addrs []netip.Addr) []netip.Prefix {
	var found []netip.Prefix
	for _, a := range addrs {
		if !a.Is6() || a.Is4In6() {
			continue
		}
		for _, bits := range lengths {
			inner := embedded(a, bits)
			if inner == netip.AddrFrom4([4]byte{192, 0, 0, 170}) ||
				inner == netip.AddrFrom4([4]byte{192, 0, 0, 171}) {
				found = append(found, netip.PrefixFrom(a, bits).Masked())
				break
			}
		}
	}
	return found
}

// embedded is the IPv4 address inside an IPv6 one behind a prefix of some bits. Octet 8
// is left out (RFC 6052, section 2.2).
func embedded(a netip.Addr, bits int) netip.Addr {
	b := a.As16()
	var inner [4]byte
	at := bits / 8
	for i := range inner {
		if at == 8 && bits != 96 {
			at++
		}
		inner[i] = b[at]
		at++
	}
	return netip.AddrFrom4(inner)
}

// wellKnown is the NAT64 prefix that any network may use, sixToFour that of 6to4 tunnels,
// compatible that of the old IPv4-compatible addresses.
var (
	compatible = netip.MustParsePrefix("::/96")
	wellKnown  = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// translated is the IPv4 address that a NAT64 of this network, or a tunnel, turns addr into.
func (r *Rules) translated(addr netip.Addr) (inner netip.Addr, ok bool) {
	switch {
	case compatible.Contains(addr) && !addr.IsLoopback(), wellKnown.Contains(addr):
		return embedded(addr, wellKnown.Bits()), true
	case sixToFour.Contains(addr):
		return embedded(addr, sixToFour.Bits()), true
	}
	if known := r.translators.Load(); known != nil && addr.Is6() {
		for _, p := range *known {
			if p.Contains(addr) {
				return embedded(addr, p.Bits()), true
			}
		}
	}
	return netip.Addr{}, false
}
