package egress

import (
	"net"
	"net/netip"
	"time"

	"crawlnode/membership"
)

// ownMaxAge is how long a reading of this machine's interfaces counts.
const ownMaxAge = time.Minute

// ownAddresses are the addresses of this cluster as they were at one moment.
type ownAddresses struct {
	of        *membership.Snapshot
	at        time.Time
	listening map[netip.AddrPort]bool
	ports     map[uint16]bool // at which this node listens at all of its addresses
	addrs     map[netip.Addr]bool
	nets      []netip.Prefix // loopback
}

// ownAddresses are the cluster's addresses now. While nothing changes it costs one atomic load.
func (r *Rules) ownAddresses(snap *membership.Snapshot, now time.Time) *ownAddresses {
	if o := r.own.Load(); o != nil && o.of == snap && now.Sub(o.at) < ownMaxAge {
		return o
	}
	o := &ownAddresses{
		of:        snap,
		at:        now,
		listening: map[netip.AddrPort]bool{},
		ports:     map[uint16]bool{},
		addrs:     map[netip.Addr]bool{},
	}
	own := r.interfaceAddrs()
	for _, l := range r.Listeners {
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
	r.own.Store(o)
	return o
}

// listens takes in one listener; one of this node's may be at all its addresses.
func (o *ownAddresses) listens(hostPort string, self bool) {
	at, err := netip.ParseAddrPort(hostPort)
	if err != nil { // a name: the peer's other listeners have its address
		return
	}
	at = netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
	switch {
	case !at.Addr().IsUnspecified():
		o.listening[at], o.addrs[at.Addr()] = true, true
	case self:
		o.ports[at.Port()] = true
	}
}

func (o *ownAddresses) has(addr netip.Addr) bool { return o.addrs[addr] || within(o.nets, addr) }

// interfaceAddrs are this machine's addresses.
func (r *Rules) interfaceAddrs() []netip.Addr {
	if !r.Interfaces {
		return nil
	}
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return nil // then they are refused as private addresses, unless they are public
	}
	var addrs []netip.Addr
	for _, n := range nets {
		if p, err := netip.ParsePrefix(n.String()); err == nil {
			addrs = append(addrs, p.Addr().Unmap().WithZone(""))
		}
	}
	return addrs
}
