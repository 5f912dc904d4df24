package frontier

import (
	"slices"
	"strings"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
)

// nearStreak is how many near-duplicate pages in a row a host may serve before its
// links queue behind those of other hosts. Endless generated sites and mirrors serve
// such pages.
const nearStreak = 8

// countNear updates the streak with a fetched page. A page without a fingerprint that is
// no duplicate does not count.
func countNear(h *commit.Host, o *crawl.Outcome) {
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
func (pg part) demoted(host crawl.Host, c *Completion) []crawl.Routed {
	like := c.Outcome.NearOf + c.Outcome.DuplicateOf // at most one of the two is known
	if like == "" || pg.Host(host).NearStreak < nearStreak {
		return c.Own
	}
	trap := hostOfText(like) == string(host)
	own := slices.Clone(c.Own)
	for i := range own {
		t := &own[i].Target
		if layout.HostOf(t.URL) != host || t.Via != crawl.ViaLink && t.Via != crawl.ViaAsset {
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
