package egress

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"crawlnode/crawl"
	"crawlnode/dnscache"
	"crawlnode/web/fetcher"
)

// Lookuper resolves a host name: a *dnscache.Cache.
type Lookuper interface {
	Lookup(ctx context.Context, host string) (dnscache.Answer, error)
}

// Resolver resolves host names and keeps the addresses that may be connected to.
type Resolver struct {
	rules    *Rules
	names    Lookuper
	settings func() *crawl.Settings
}

// NewResolver makes a Resolver; settings returns the crawl's settings of the moment.
func NewResolver(rules *Rules, names Lookuper, settings func() *crawl.Settings) *Resolver {
	return &Resolver{rules: rules, names: names, settings: settings}
}

// Lookup finds the addresses of a host. The error says why none of them may be used, or that
// there is none.
func (r *Resolver) Lookup(ctx context.Context, host string) (dnscache.Answer, error) {
	a, err := r.names.Lookup(ctx, host)
	if err != nil {
		return a, err
	}
	r.learnTranslators(ctx, a.Addrs)
	a.Addrs, err = usable(r.rules.withoutDenied(a.Addrs), r.settings())
	return a, err
}

// learnTranslators looks up the NAT64 prefixes of this network (RFC 7050), when there are IPv6
// addresses that a translator could have made up. Mostly the resolver's cache has the answer;
// without an answer the last known prefixes stay.
func (r *Resolver) learnTranslators(ctx context.Context, addrs []netip.Addr) {
	if !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return a.Is6() && fetcher.IsPublic(a) }) {
		return
	}
	if a, err := r.names.Lookup(ctx, "ipv4only.arpa"); err == nil {
		found := translatorsIn(a.Addrs)
		r.rules.translators.Store(&found)
	}
}

// errNoContact is why a public host is not fetched from.
var errNoContact = fmt.Errorf(
	"%w: nothing outside --allow-net is fetched without --contact, whom a site can ask",
	crawl.ErrRefused)

// usable leaves out the addresses of a host that the settings do not allow: a name may have a
// private address among others. Public ones need a contact. When none is left, all stay: the
// fetcher refuses them, and says why. It checks again in any case, at the last moment.
func usable(addrs []netip.Addr, s *crawl.Settings) ([]netip.Addr, error) {
	var kept []netip.Addr
	public := false
	for _, addr := range addrs {
		public = public || fetcher.IsPublic(addr)
		if s.Allowed(addr) || s.Contact != "" && fetcher.IsPublic(addr) {
			kept = append(kept, addr)
		}
	}
	switch {
	case len(kept) > 0:
		return kept, nil
	case public:
		return nil, errNoContact
	}
	return addrs, nil
}
