package config

import (
	"net/netip"
	"slices"

	"crawlnode/crawl"
)

// Unsafe names the flags in which a change of settings opens what the crawl's owner
// must have meant: networks that are not public, sites that said no, and the name
// under which the crawler is known. A changed contact is none of them.
func Unsafe(before, after *crawl.Settings) []string {
	var names []string
	for _, p := range after.AllowNet {
		if !slices.ContainsFunc(before.AllowNet, func(q netip.Prefix) bool { return q.Bits() <= p.Bits() && q.Overlaps(p) }) {
			names = append(names, "allow-net")
			break
		}
	}
	if after.RobotsIgnore && !before.RobotsIgnore {
		names = append(names, "robots")
	}
	if a, b := ofSettings(after, ""), ofSettings(before, ""); a.UserAgent != b.UserAgent {
		names = append(names, "user-agent")
	}
	return names
}
