package fetcher

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// notPublic4 lists the IPv4 networks that are not the public Internet (IANA
// IPv4 Special-Purpose Address Registry), multicast and reserved ones included.
var notPublic4 = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
	"192.168.0.0/16",
	"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
	"240.0.0.0/4",
)

// global6 is the only part of IPv6 that is in use as public unicast space. notPublic6 lists its
// special ranges (IANA IPv6 Special-Purpose Address Registry): Teredo and other protocol
// assignments, documentation, 6to4. Loopback, unique local, link-local, IPv4-mapped and NAT64 are
// outside it.
var (
	global6    = netip.MustParsePrefix("2000::/3")
	notPublic6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// IsPublic reports whether addr belongs to the public Internet. Addresses that embed another one
// (IPv4-mapped, 6to4, NAT64, Teredo) never do: the resolver should have returned the embedded one.
func IsPublic(addr netip.Addr) bool {
	if !addr.IsValid() || addr.Zone() != "" {
		return false
	}
	special := notPublic4
	if !addr.Is4() {
		if !global6.Contains(addr) {
			return false
		}
		special = notPublic6
	}
	for _, p := range special {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}

// local6 are the networks of IPv6 outside of global6 that people give their own machines.
var local6 = prefixes("::1/128", "fc00::/7", "fe80::/10")

// Network is what a person has to allow so that addr may be reached: the special-purpose network
// that has it, or the address alone.
func Network(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	for _, list := range [...][]netip.Prefix{notPublic4, notPublic6, local6} {
		for _, p := range list {
			if p.Contains(addr) {
				return p
			}
		}
	}
	return netip.PrefixFrom(addr, addr.BitLen())
}

// checkAddr returns why at must not be connected to, or nil.
func (f *Fetcher) checkAddr(at netip.AddrPort) error {
	addr := at.Addr()
	if f.o.Denied != nil && addr.IsValid() {
		if err := f.o.Denied(at); err != nil {
			return err
		}
	}
	if IsPublic(addr) || (addr.IsValid() && f.o.Allowed != nil && f.o.Allowed(addr)) {
		return nil
	}
	if !addr.IsValid() {
		return fmt.Errorf("no address to connect to")
	}
	return fmt.Errorf("%s is not a public address: to crawl it add --allow-net %v", addr,
		Network(addr))
}

// control checks the address that the operating system is about to connect to. It is the last check
// before the connection.
func (f *Fetcher) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q is not an IP address with a port: %w", address, err)
	}
	return f.checkAddr(ap)
}

// proxyControl is control for the address of a proxy.
func (f *Fetcher) proxyControl(_, address string, _ syscall.RawConn) error {
	if f.o.ProxyDenied == nil {
		return nil
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q is not an IP address with a port: %w", address, err)
	}
	return f.o.ProxyDenied(ap)
}

// defaultDialer dials as the operating system does, checked by control.
func (f *Fetcher) defaultDialer() *net.Dialer {
	return &net.Dialer{
		Control:         f.control,
		KeepAliveConfig: net.KeepAliveConfig{Enable: false},
		FallbackDelay:   -1,
	}
}

// from is d with a local address.
func from(d *net.Dialer, source netip.Addr) *net.Dialer {
	out := *d
	out.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0))
	return &out
}

// checkSource returns why a request cannot have its source address, or nil.
func (f *Fetcher) checkSource(req *Request) error {
	if !req.Source.IsValid() {
		return nil
	}
	if f.dialer == nil || len(req.Proxies) > 0 && f.o.DialProxy != nil {
		return fmt.Errorf("source address %s: the network of this node has none to choose from",
			req.Source)
	}
	source, target := req.Source.Unmap(), req.Addr.Unmap()
	if len(req.Proxies) == 0 && source.Is4() != target.Is4() {
		return fmt.Errorf("source address %s is %s, the host's address is %s", source, family(source),
			family(target))
	}
	return nil
}

func family(a netip.Addr) string {
	if a.Is4() {
		return "IPv4"
	}
	return "IPv6"
}
