package shares

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Domain is the registered domain of a host name: the name directly below a public suffix,
// where those of hosting platforms count as well. An address literal counts as its block,
// and a name without a registered domain as itself.
func Domain(host string) string {
	if len(host) > 2 && host[0] == '[' {
		host = host[1 : len(host)-1]
	}
	if maybeAddr(host) {
		if addr, err := netip.ParseAddr(host); err == nil {
			return Block(addr).String()
		}
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return domain
}

// maybeAddr is false for nearly all names: parsing a name as an address allocates an error.
// No top-level domain ends with a digit (RFC 3696, section 2), but each IPv4 address does.
func maybeAddr(host string) bool {
	return host != "" && '0' <= host[len(host)-1] && host[len(host)-1] <= '9' ||
		strings.IndexByte(host, ':') >= 0
}

// Block is the block of addresses that one owner is likely to have: a /24 of IPv4, a
// /48 of IPv6. The zero Prefix means no address.
func Block(addr netip.Addr) netip.Prefix {
	if !addr.IsValid() {
		return netip.Prefix{}
	}
	addr = addr.Unmap()
	bits := 48
	if addr.Is4() {
		bits = 24
	}
	p, _ := addr.WithZone("").Prefix(bits) // the bits fit
	return p
}
