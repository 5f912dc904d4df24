package importance

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"

	"crawlnode/crawl"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/layout"
	"crawlnode/importance/opic"
)

// Cites is what a finished page passes cash on to, for its completion; nil: importance does not
// count, or the outcome is no page's. links are all targets of the outcome. Any goroutine may call
// it.
func (k *Keeper) Cites(v *crawl.Visit, o *crawl.Outcome, links []crawl.Routed) []byte {
	if !k.On() || !passesOn(v, o) {
		return nil
	}
	page := v.Item.URL
	cited := make([]opic.Target, 0, len(links))
	var number layout.Numberer
	for i := range links {
		l := &links[i]
		if via := l.Target.Via; via == crawl.ViaLink || via == crawl.ViaRedirect ||
			via == crawl.ViaAsset {
			if l.Target.URL != page {
				cited = append(cited, opic.Target{Partition: l.Partition, URL: number.Of(l.Target.URL)})
			}
		}
	}
	return cash.CitesOf(page, domainOf(page.Host()), cited)
}

// passesOn reports whether the links that an outcome brings are those of the page. A page that is
// gone has none, which counts when it had some before.
func passesOn(v *crawl.Visit, o *crawl.Outcome) bool {
	switch {
	case o.Kind != crawl.Fetched || o.IsSitemap || v.Item.Via == crawl.ViaSitemapFile ||
		o.Status == 304 || o.Unchanged:
		return false
	case o.Status/100 == 2 || o.Status/100 == 3:
		return true
	}
	return v.Item.Revisit && (o.Status == 404 || o.Status == 410)
}

// domainOf is the registered domain of a host: a farm of host names below one is one site.
func domainOf(host string) string {
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return host
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}
