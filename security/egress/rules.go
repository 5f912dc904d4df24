package egress

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/web/fetcher"
)

// sensitive are link-local addresses and the metadata services of clouds, which hand out the
// machine's credentials. Only a network of this node's own --allow-net that lies inside one
// of them opens it; 0.0.0.0/0 does not.
var sensitive = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("192.0.0.192/32"), netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fd00:ec2::254/128"), netip.MustParsePrefix("fd20:ce::254/128"),
}

// Options are the flags of this node that Rules go by.
type Options struct {
	Deny, Allow []netip.Prefix     // --deny-net, --allow-net as given to this very node
	Ports       []config.PortRange // --allow-ports
	Listeners   []string           // host:port at which this node listens
	Interfaces  bool               // this machine's own addresses count: not in a simulation

	Settings func() *crawl.Settings // the crawl's, of the moment; nil: no refusal is told of
	Log      *slog.Logger           // of refusals
}

// Rules are the addresses that this node never connects a fetch to. They come from its own
// flags and from what it sees, so neither the cluster's settings nor a token nor a page
// can change them. In this order:
//
//	--deny-net         never
//	listeners          never: an address with a port at which this node or a peer listens
//	sensitive          unless --allow-net names it, or a part of it
//	own and peers'     unless --allow-net has it
//	translated         an IPv6 address that a NAT64 turns into an IPv4 one that is not public
//	--allow-ports      no other port
type Rules struct {
	Options
	own         atomic.Pointer[ownAddresses]
	translators atomic.Pointer[[]netip.Prefix] // NAT64, /96 and shorter
	refusal     atomic.Pointer[Refusal]
}

// New makes the rules.
func New(o Options) *Rules { return &Rules{Options: o} }

// Judge says why at must not be connected to; nil: it may be. snap has the peers' addresses,
// seedPort reports whether a seed has a port.
func (r *Rules) Judge(
	at netip.AddrPort,
	snap *membership.Snapshot,
	seedPort func(uint16) bool,
	now time.Time,
) error {
	addr := at.Addr().Unmap().WithZone("")
	at = netip.AddrPortFrom(addr, at.Port())
	own := r.ownAddresses(snap, now)
	switch {
	case r.denied(addr):
		return fmt.Errorf("%s is in --deny-net of this node", addr)
	case addr.IsUnspecified():
		return fmt.Errorf("%s is no address of a web server: it would be this machine", addr)
	case own.listening[at], own.ports[at.Port()] && own.has(addr):
		return fmt.Errorf("%s is where this node or a peer listens: the crawl never goes there", at)
	case isSensitive(addr) && !r.opensSensitive(addr):
		return fmt.Errorf("%s is link-local or a cloud's metadata service: to crawl it %s", addr,
			add(sensitiveOf(addr)))
	case own.has(addr) && !within(r.Allow, addr):
		r.refused(addr, now)
		return fmt.Errorf("%s is an address of this node or of a peer: to crawl it %s", addr,
			add(fetcher.Network(addr)))
	}
	if inner, ok := r.translated(addr); ok && !fetcher.IsPublic(inner) &&
		(isSensitive(inner) || !within(r.Allow, inner)) {
		if isSensitive(inner) {
			return fmt.Errorf("%s is translated to %s, which is link-local or a cloud's metadata service: "+
				"the crawl never goes there that way", addr, inner)
		}
		return fmt.Errorf("%s is translated to %s, which is not public: to crawl it %s", addr, inner,
			add(fetcher.Network(inner)))
	}
	for _, p := range r.Ports {
		if p.Has(at.Port(), func() bool { return seedPort(at.Port()) }) {
			return nil
		}
	}
	all := ""
	for _, p := range r.Ports {
		all += p.String() + ","
	}
	return fmt.Errorf(
		"%w: %d is none of this node's --allow-ports: to crawl it give --allow-ports %s%[2]d",
		fetcher.ErrPort, at.Port(), all)
}

// JudgeProxy says why a proxy at an address must not be asked; nil: it may be. An owner may run one
// on this machine or in a private network, so only --deny-net counts, and the metadata services of
// clouds.
func (r *Rules) JudgeProxy(at netip.AddrPort) error {
	addr := at.Addr().Unmap().WithZone("")
	switch {
	case r.denied(addr):
		return fmt.Errorf("%s is in --deny-net of this node", addr)
	case isSensitive(addr) && !r.opensSensitive(addr):
		return fmt.Errorf("%s is link-local or a cloud's metadata service: to ask a proxy there %s",
			addr, add(sensitiveOf(addr)))
	}
	return nil
}

// add is what opens a network. Only a flag of this very node does; what the cluster has agreed on
// does not.
func add(network netip.Prefix) string {
	return fmt.Sprintf("add --allow-net %v to this node's own flags", network)
}

// sensitiveOf is the sensitive network that has addr.
func sensitiveOf(addr netip.Addr) netip.Prefix {
	for _, p := range sensitive {
		if p.Contains(addr) {
			return p
		}
	}
	return fetcher.Network(addr)
}

// denied reports whether --deny-net has addr, or what it is translated to.
func (r *Rules) denied(addr netip.Addr) bool {
	if inner, ok := r.translated(addr); ok && within(r.Deny, inner) {
		return true
	}
	return within(r.Deny, addr)
}

// withoutDenied leaves out those of a host's addresses that are denied whatever the
// port, so that another one is taken. When none is left all stay: the fetcher refuses
// them, and says why.
func (r *Rules) withoutDenied(addrs []netip.Addr) []netip.Addr {
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
func (r *Rules) opensSensitive(addr netip.Addr) bool {
	for _, s := range sensitive {
		for _, p := range r.Allow {
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
