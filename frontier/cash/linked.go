package cash

import (
	"fmt"

	"crawlnode/frontier/layout"
	"crawlnode/frontier/order"
	"crawlnode/importance/opic"
)

// linked is a host with the sites that link to its URLs.
type linked struct {
	sites opic.Sites
	key   []byte
	dirty bool
}

// rank notes what links say of a URL from now on, and names it when it is to be looked up in its
// queue.
func (f *fold) rank(u opic.URL, before opic.Account, now *opic.Account) {
	h := f.host(u)
	was := h.sites
	h.sites.Merge(&now.Sites)
	h.dirty = h.dirty || h.sites != was
	if now.Fetched {
		return
	}
	link := f.order.Link(now.Total(), &h.sites)
	c := order.Change{Before: -1, Now: link}
	if before != (opic.Account{}) {
		c.Before = f.order.Link(before.Total(), &was)
	}
	f.plan.Scores = append(f.plan.Scores, c)
	if level, worth := f.order.Worth(now.Level, link); worth {
		now.Level = level
		f.plan.Rises = append(f.plan.Rises, order.Rise{URL: u, Link: link})
	}
}

// host reads the sites that link to a URL's host.
func (f *fold) host(u opic.URL) *linked {
	if h := f.linked[u.Host()]; h != nil {
		return h
	}
	h := &linked{key: layout.AppendHostNumberKey(nil, layout.CashSites, u)}
	b, ok, err := f.v.Get(h.key)
	if err == nil && ok {
		h.sites, err = layout.DecodeSites(b)
	}
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("sites that link to a host: %w", err)
	}
	if f.linked == nil {
		f.linked = map[uint64]*linked{}
	}
	f.linked[u.Host()] = h
	return h
}

// writeLinked writes the sites of hosts that have new ones.
func (f *fold) writeLinked() {
	for _, h := range f.linked {
		if h.dirty {
			f.set(h.key, layout.EncodeSites(&h.sites))
		}
	}
}
