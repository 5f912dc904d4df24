package config

import (
	"net/netip"
	"slices"

	"crawlnode/crawl"
)

// Unsafe lists the flags in which a change of settings needs the owner's intent: networks that are
// not public, robots.txt, the name of the crawler, also to robots.txt, proxies, and what rules for
// sites give of these or of secrets. A changed contact is not unsafe.
func Unsafe(before, after *crawl.Settings) []string {
	var names []string
	for _, p := range after.AllowNet {
		if !slices.ContainsFunc(before.AllowNet,
			func(q netip.Prefix) bool { return q.Bits() <= p.Bits() && q.Overlaps(p) }) {
			names = append(names, "allow-net")
			break
		}
	}
	if after.RobotsIgnore && !before.RobotsIgnore {
		names = append(names, "robots")
	}
	if a, b := ofSettings(after, ""), ofSettings(before, ""); a.UserAgent != b.UserAgent {
		names = append(names, "user-agent")
	} else if a.RobotsAgent != b.RobotsAgent {
		names = append(names, "robots-agent")
	}
	for _, p := range after.Proxies {
		if !slices.Contains(before.Proxies, p) {
			names = append(names, "proxy")
			break
		}
	}
	if sites := unsafeSites(before, after); sites != "" {
		names = append(names, sites)
	}
	return names
}
