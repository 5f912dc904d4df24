package links

import (
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/ring"
	"crawlnode/web/urlnorm"
)

// toWire makes the messages of links, all in one piece of memory.
func toWire(links []crawl.Routed) []*peer.Link {
	all, places := make([]peer.Link, len(links)), make([]*peer.Link, len(links))
	for i := range links {
		l, t := &all[i], &links[i].Target
		l.Url, l.Partition, l.Depth, l.Band = t.URL.String(), uint32(links[i].Partition), uint32(t.Depth),
			uint32(t.Band)
		l.Hops, l.Via, l.Again, l.Suspicious = uint32(t.Hops), uint32(t.Via), t.Again, t.Suspicious
		l.ClaimedNs, l.From, l.Anchor = claimedNs(t.Claimed), t.From, t.Anchor
		places[i] = l
	}
	return places
}

// claimedNs is a claimed time on the wire; 0: none, or one that cannot be meant.
func claimedNs(t time.Time) int64 {
	if t.Year() < 1970 || t.Year() > 2200 {
		return 0
	}
	return t.UnixNano()
}

// maxDepth bounds the depth in a peer's message; no crawl is that deep.
const maxDepth = 1 << 20

// fromWire checks a peer's link. It refuses only links that no correct node sends.
func fromWire(l *peer.Link, partitions int) (crawl.Routed, error) {
	u, err := urlnorm.ParseStored(l.Url)
	if err != nil {
		return crawl.Routed{}, fmt.Errorf("link %.200q: %w", l.Url, err)
	}
	p := ring.PartitionOf(crawl.Host(u.Host()), partitions)
	if uint32(p) != l.Partition {
		return crawl.Routed{}, fmt.Errorf("link %.200q is of partition %d, not %d", l.Url, p, l.Partition)
	}
	if l.Band >= crawl.Bands ||
		l.Via > uint32(crawl.ViaSitemapFile) && l.Via != uint32(crawl.ViaGuess) || l.Depth > maxDepth ||
		l.Hops > 255 {
		return crawl.Routed{}, errors.New("a link's band, kind, depth or hops are out of range")
	}
	if l.From != "" {
		if _, err := urlnorm.ParseStored(l.From); err != nil {
			return crawl.Routed{}, fmt.Errorf("link %.200q was found on %.200q: %w", l.Url, l.From, err)
		}
	}
	return crawl.Routed{
		Partition: p,
		Target: crawl.Target{URL: u, Depth: int(l.Depth), Band: crawl.Band(l.Band),
			Hops: int(l.Hops), Via: crawl.Via(l.Via), Again: l.Again, Suspicious: l.Suspicious,
			Claimed: claimedAt(l.ClaimedNs), From: l.From, Anchor: crawl.CutAnchor(l.Anchor)},
	}, nil
}

// claimedAt is a claimed time of the wire.
func claimedAt(ns int64) time.Time {
	if ns <= 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
