package node

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"crawlnode/config"
	"crawlnode/membership"
	"crawlnode/web/fetcher"
)

// ownSight is how long what was seen of this machine's interfaces counts.
const ownSight = time.Minute

// sensitive are link-local addresses and the metadata services of clouds: whoever asks
// there may get the machine's credentials. Only a network of this node's own --allow-net
// that lies inside one of them opens it; 0.0.0.0/0 does not mean them.
var sensitive = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("168.63.129.16/32"), netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("192.0.0.192/32"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("fd00:ec2::254/128"), netip.MustParsePrefix("fd20:ce::254/128"),
}

// addressRules are where this node never connects a fetch to. They come from its own
// flags and from what it sees, so neither the cluster's settings nor a token nor a page
// can change them (docs/decisions/0181-denied-addresses.md). In this order:
//
//	--deny-net         never
//	listeners          never: an address with a port at which this node or a peer listens
//	sensitive          unless --allow-net names it, or a part of it
//	own and peers'     unless --allow-net has it
//	translated         an IPv6 address that a NAT64 makes one of IPv4 that is not public
//	--allow-ports      no other port
//
// The networks, and sensitive ones, are as --allow-net was given to this very node.
type addressRules struct {
	deny, allow []netip.Prefix
	ports       []config.PortRange
	listeners   []string
	interfaces  bool // whether this machine's own count: not in a simulation
	seen        atomic.Pointer[ownPlaces]
	translators atomic.Pointer[[]netip.Prefix] // NAT64, /96 and shorter
}

// ownPlaces are the addresses of this cluster as they were seen at one moment.
type ownPlaces struct {
	of     *membership.Snapshot
	at     time.Time
	places map[netip.AddrPort]bool
	ports  map[uint16]bool // at which this node listens at all its addresses
	addrs  map[netip.Addr]bool
	nets   []netip.Prefix // loopback
}

// begin takes the flags over; listeners are host:port.
func (r *addressRules) begin(c *config.Config, listeners []string, interfaces bool) {
	r.deny, r.allow, r.ports, r.listeners, r.interfaces = c.DenyNet, c.AllowNet, c.AllowPorts, listeners, interfaces
}

// judge says why at must not be connected to, or nil. seedPort tells whether a seed has
// a port.
func (r *addressRules) judge(at netip.AddrPort, snap *membership.Snapshot, seedPort func(uint16) bool, now time.Time) error {
	addr := at.Addr().Unmap().WithZone("")
	at = netip.AddrPortFrom(addr, at.Port())
	own := r.ownPlaces(snap, now)
	switch {
	case r.denied(addr):
		return fmt.Errorf("%s is in --deny-net of this node", addr)
	case addr.IsUnspecified():
		return fmt.Errorf("%s is no address of a web server: it would be this machine", addr)
	case own.places[at], own.ports[at.Port()] && own.has(addr):
		return fmt.Errorf("%s is where this node or a peer listens: the crawl never goes there", at)
	case isSensitive(addr) && !r.opensSensitive(addr):
		return fmt.Errorf("%s is link-local or a cloud's metadata service: only this node's own --allow-net could name it", addr)
	case own.has(addr) && !within(r.allow, addr):
		return fmt.Errorf("%s is an address of this node or of a peer: only this node's own --allow-net could name it", addr)
	}
	if inner, ok := r.translated(addr); ok && !fetcher.IsPublic(inner) && (isSensitive(inner) || !within(r.allow, inner)) {
		return fmt.Errorf("%s is translated to %s, which is not public", addr, inner)
	}
	for _, p := range r.ports {
		if p.Has(at.Port(), func() bool { return seedPort(at.Port()) }) {
			return nil
		}
	}
	return fmt.Errorf("%w: %d is none of this node's --allow-ports", fetcher.ErrPort, at.Port())
}

// denied reports whether --deny-net has addr, or what it is translated to.
func (r *addressRules) denied(addr netip.Addr) bool {
	if inner, ok := r.translated(addr); ok && within(r.deny, inner) {
		return true
	}
	return within(r.deny, addr)
}

// withoutDenied leaves out those of a host's addresses that are denied whatever their
// port, so that another one is taken. When none is left all stay: the fetcher refuses
// them, and says why.
func (r *addressRules) withoutDenied(addrs []netip.Addr) []netip.Addr {
	denied := func(a netip.Addr) bool {
		a = a.Unmap().WithZone("")
		return r.denied(a) || isSensitive(a) && !r.opensSensitive(a)
	}
	if !slices.ContainsFunc(addrs, denied) {
		return addrs
	}
	kept := slices.DeleteFunc(slices.Clone(addrs), denied)
	if len(kept) == 0 {
		return addrs
	}
	return kept
}

func isSensitive(addr netip.Addr) bool { return within(sensitive, addr) }

// opensSensitive reports whether --allow-net names a network inside the sensitive one of
// addr, and addr in it.
func (r *addressRules) opensSensitive(addr netip.Addr) bool {
	for _, s := range sensitive {
		for _, p := range r.allow {
			if s.Contains(addr) && p.Contains(addr) && s.Bits() <= p.Bits() {
				return true
			}
		}
	}
	return false
}

func within(nets []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(nets, func(p netip.Prefix) bool {
		if p.Addr().Is4In6() && p.Bits() >= 96 { // ::ffff:10.0.0.0/104 means 10.0.0.0/8
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		return p.Contains(addr)
	})
}

// ownPlaces are what the cluster's addresses are now. It costs a load while nothing
// changes.
func (r *addressRules) ownPlaces(snap *membership.Snapshot, now time.Time) *ownPlaces {
	if o := r.seen.Load(); o != nil && o.of == snap && now.Sub(o.at) < ownSight {
		return o
	}
	o := &ownPlaces{of: snap, at: now, places: map[netip.AddrPort]bool{}, ports: map[uint16]bool{}, addrs: map[netip.Addr]bool{}}
	own := r.interfaceAddrs()
	for _, l := range r.listeners {
		o.listens(l, true)
	}
	if snap != nil {
		for _, p := range snap.Peers {
			for _, l := range []string{p.RPC, p.HTTP, p.Gossip} {
				o.listens(l, false)
			}
		}
	}
	for _, a := range own {
		o.addrs[a] = true
		if a.IsLoopback() {
			o.nets = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
		}
	}
	r.seen.Store(o)
	return o
}

// listens takes in one listener; one of this node's may be at all its addresses.
func (o *ownPlaces) listens(hostPort string, self bool) {
	at, err := netip.ParseAddrPort(hostPort)
	if err != nil { // a name: whoever resolves it to an address finds that among a peer's
		return
	}
	at = netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
	switch {
	case !at.Addr().IsUnspecified():
		o.places[at], o.addrs[at.Addr()] = true, true
	case self:
		o.ports[at.Port()] = true
	}
}

func (o *ownPlaces) has(addr netip.Addr) bool { return o.addrs[addr] || within(o.nets, addr) }

// interfaceAddrs are this machine's addresses.
func (r *addressRules) interfaceAddrs() []netip.Addr {
	if !r.interfaces {
		return nil
	}
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return nil // they are refused as private ones then, unless they are public
	}
	var addrs []netip.Addr
	for _, n := range nets {
		if p, err := netip.ParsePrefix(n.String()); err == nil {
			addrs = append(addrs, p.Addr().Unmap().WithZone(""))
		}
	}
	return addrs
}

// learnTranslators asks for the NAT64 prefixes of this network (RFC 7050), when there
// are IPv6 addresses that one could have made up. The resolver's cache has the answer
// but for once in a while; without one what was known last stays.
func (n *Node) learnTranslators(ctx context.Context, addrs []netip.Addr) {
	if !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return a.Is6() && fetcher.IsPublic(a) }) {
		return
	}
	if a, err := n.dns.Lookup(ctx, "ipv4only.arpa"); err == nil {
		found := translatorsIn(a.Addrs)
		n.addresses.translators.Store(&found)
	}
}

// lengths are those that a NAT64 prefix may have (RFC 6052).
var lengths = []int{96, 64, 56, 48, 40, 32}

// translatorsIn finds the prefixes in the IPv6 addresses of ipv4only.arpa, which has
// two of IPv4 only.
func translatorsIn(addrs []netip.Addr) []netip.Prefix {
	var found []netip.Prefix
	for _, a := range addrs {
		if !a.Is6() || a.Is4In6() {
			continue
		}
		for _, bits := range lengths {
			inner := embedded(a, bits)
			if inner == netip.AddrFrom4([4]byte{192, 0, 0, 170}) || inner == netip.AddrFrom4([4]byte{192, 0, 0, 171}) {
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

// wellKnown is the NAT64 prefix that any network may use, sixToFour that of tunnels,
// compatible that of addresses that only IPv4 ever had.
var (
	compatible = netip.MustParsePrefix("::/96")
	wellKnown  = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// translated is the IPv4 address that a NAT64 of this network, or a tunnel, makes of
// addr.
func (r *addressRules) translated(addr netip.Addr) (inner netip.Addr, ok bool) {
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
