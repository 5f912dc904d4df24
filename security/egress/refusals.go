package egress

import (
	"net/netip"
	"time"
)

// Refusal is an address that the crawl's settings allow and this node refuses for want of an
// --allow-net of its own.
type Refusal struct {
	Addr    netip.Addr   // the first that was refused
	Network netip.Prefix // the one of the crawl's allow-net that has it
	Since   time.Time

	last time.Time // when one was refused last
}

// refusalLife is how long a refusal is told of: hosts that cannot be reached are tried again within
// this time.
const refusalLife = time.Hour

// refused remembers that addr, one of this node or of a peer, was refused, when the crawl's
// settings allow it: then somebody may have left the flag out on this node alone.
func (r *Rules) refused(addr netip.Addr, now time.Time) {
	network, allowed := r.allowedBy(addr)
	if !allowed {
		return
	}
	before := r.refusal.Load()
	next := &Refusal{Addr: addr, Network: network, Since: now, last: now}
	if before != nil && now.Sub(before.last) < refusalLife {
		next.Addr, next.Network, next.Since = before.Addr, before.Network, before.Since
	} else {
		before = nil
	}
	r.refusal.Store(next) // of two at one time either will do
	if before == nil && r.Log != nil {
		r.Log.Warn("an address of this node or of a peer is refused, although the crawl's settings "+
			"allow its network: their hosts are not fetched here", "addr", addr.String(),
			"remedy", "if they are meant to be crawled, start this node with --allow-net "+network.String()+
				" too")
	}
}

// allowedBy is the network of the crawl's settings that has addr.
func (r *Rules) allowedBy(addr netip.Addr) (netip.Prefix, bool) {
	if r.Settings == nil {
		return netip.Prefix{}, false
	}
	for _, p := range r.Settings().AllowNet {
		if p.Contains(addr) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// Refusing is the refusal that an operator should know of; false: there was none of late, or the
// settings do not allow the address any more.
func (r *Rules) Refusing(now time.Time) (Refusal, bool) {
	last := r.refusal.Load()
	if last == nil || now.Sub(last.last) >= refusalLife {
		return Refusal{}, false
	}
	network, allowed := r.allowedBy(last.Addr)
	return Refusal{Addr: last.Addr, Network: network, Since: last.Since}, allowed
}
