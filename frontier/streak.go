package frontier

import (
	"slices"
	"strings"

	"crawlnode/crawl"
)

// nearStreak is how many pages in a row have to be like pages that were seen before
// until a host's links wait behind those of others. A host that makes pages without
// end makes them alike; so do mirrors, and neither is worth its turn.
const nearStreak = 8

// countNear brings the streak up to date with a page that was fetched. What has no
// fingerprint and is no duplicate says nothing.
func (h *hostEntry) countNear(o *crawl.Outcome) {
	switch {
	case o.Kind != crawl.Fetched:
	case o.NearOf != "" || o.DuplicateOf != "":
		h.NearStreak = min(h.NearStreak+1, 2*nearStreak)
	case o.Simhash != 0:
		h.NearStreak = 0
	}
}

// demoted returns the page's links that go with its transaction. During a streak
// those to its own host take the lowest band; when it is that host's own pages that
// the page is like, they count against the host's trap budget too.
func (pg *partGroup) demoted(host crawl.Host, c *Completion) []crawl.Routed {
	like := c.Outcome.NearOf + c.Outcome.DuplicateOf // at most one of the two is known
	if like == "" || pg.host(host).NearStreak < nearStreak {
		return c.Own
	}
	trap := hostOfText(like) == string(host)
	own := slices.Clone(c.Own)
	for i := range own {
		t := &own[i].Target
		if hostOf(t.URL) != host || t.Via != crawl.ViaLink && t.Via != crawl.ViaAsset {
			continue
		}
		t.Band, t.Suspicious = crawl.Bands-1, t.Suspicious || trap
	}
	return own
}

// hostOfText returns the host of a canonical URL, without its port.
func hostOfText(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[:end]
	}
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		rest = rest[:i]
	}
	return rest
}
