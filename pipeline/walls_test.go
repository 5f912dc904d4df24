package pipeline

import (
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
	"crawlnode/web/wall"
)

// challenge is a wall whose page has a link.
const challenge = `<html><head><title>Just a moment...</title></head><body><a href="/cdn-cgi/next">next</a></body></html>`

// TestWall: an answer that is a wall is archived, and has no links, no text and no payload that
// later pages refer to. The host backs off, whatever the status. With --blocked off it is a page.
func TestWall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status  int
		header  string
		blocked string
		kind    crawl.Kind
		wall    wall.Product
	}{
		"forbidden": {403, "Cf-Mitigated: challenge", "", crawl.RateLimited, wall.Cloudflare},
		"by name": {403, "Cf-Mitigated: challenge", crawl.BlockedBackOff, crawl.RateLimited,
			wall.Cloudflare},
		"looks like a page": {200, "Cf-Mitigated: challenge", "", crawl.RateLimited, wall.Cloudflare},
		"status to retry":   {503, "Cf-Mitigated: challenge", "", crawl.RateLimited, wall.Cloudflare},
		"off":               {403, "Cf-Mitigated: challenge", crawl.BlockedOff, crawl.Fetched, wall.None},
		"a page":            {200, "", "", crawl.Fetched, wall.None},
	} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Archive, b.rules.Settings.Blocked = true, tc.blocked
		b.serve("http://a.test/", tc.status, tc.header, challenge)
		b.visit("http://a.test/")
		r, o := b.one()
		isWall := tc.wall != wall.None
		if r.Kind != tc.kind || o.Kind != tc.kind || o.Wall != tc.wall || r.Wall != isWall ||
			r.RetryAfter != 0 {
			t.Errorf("%s: %v, %v, wall %q, %v", name, r.Kind, o.Kind, o.Wall, r.Wall)
		}
		if len(b.captures) != 1 || o.Archive.File == "" || b.captures[0].Wall != tc.wall.String() {
			t.Fatalf("%s: captures %+v", name, b.captures)
		}
		if !isWall {
			continue
		}
		if len(o.Targets) != 0 || o.LinksFound != 0 || o.Document != nil || o.Simhash != 0 ||
			len(b.questions) != 0 || o.First {
			t.Errorf("%s: something was made of a wall: %+v", name, o)
		}
		if crawl.WallOf(o.Reason) != tc.wall || o.ETag != "" || !b.captures[0].NoIndex ||
			string(b.captures[0].Body) != challenge {
			t.Errorf("%s: reason %q, capture %+v", name, o.Reason, b.captures[0])
		}
		if want := []string{"fetch http://a.test/", "release rate_limited", "archive http://a.test/",
			"complete rate_limited"}; !slices.Equal(b.log, want) {
			t.Errorf("%s: %q", name, b.log)
		}
	}
}

// TestWallNotArchived: without an archive a wall is completed all the same.
func TestWallNotArchived(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	b.serve("http://a.test/", 403, "Cf-Mitigated: challenge", "")
	b.visit("http://a.test/")
	if _, o := b.one(); o.Kind != crawl.RateLimited || o.Wall != wall.Cloudflare ||
		len(b.captures) != 0 {
		t.Errorf("%+v, %d captures", o, len(b.captures))
	}
}

// TestWalledSitemap: a sitemap behind a wall is none, and counts as a wall.
func TestWalledSitemap(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	b.serve("http://a.test/sitemap.xml", 403, "Cf-Mitigated: challenge", challenge)
	b.visit("http://a.test/sitemap.xml", func(v *crawl.Visit) { v.Item.Via = crawl.ViaSitemapFile })
	if r, o := b.one(); r.Kind != crawl.RateLimited || !r.Wall || len(o.Targets) != 0 {
		t.Errorf("%+v, %+v", r, o)
	}
}

// TestWalledRobots: a robots.txt behind a wall is unreachable (RFC 9309, section 2.3.1.4), with
// whatever status the wall comes; as if there were no wall it allows everything, or is a file
// without rules.
func TestWalledRobots(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 403, 503} {
		for blocked, want := range map[string]crawl.Kind{
			"":               crawl.HostFailed,
			crawl.BlockedOff: crawl.RobotsFetched,
		} {
			if status == 503 {
				want = crawl.HostFailed
			}
			b := newBench(t, scope.Options{})
			b.rules.Settings.Blocked = blocked
			b.serve("http://a.test/robots.txt", status, "Cf-Mitigated: challenge", challenge)
			b.visit("http://a.test/", func(v *crawl.Visit) { v.Robots = nil })
			r, o := b.one()
			if isWall := blocked == ""; r.Kind != want || o.Kind != want || r.Wall != isWall ||
				(o.Wall == wall.Cloudflare) != isWall {
				t.Errorf("%d, %q: %v, wall %v %q, %q", status, blocked, r.Kind, r.Wall, o.Wall, o.Reason)
			}
			if blocked == "" && (crawl.WallOf(o.Reason) != wall.Cloudflare ||
				!strings.HasPrefix(o.Reason, "robots.txt of http://a.test") || r.Robots != nil) {
				t.Errorf("%d: reason %q, robots %v", status, o.Reason, r.Robots)
			}
		}
	}
}

// TestWalledRobotsElsewhere: the holder of the host to which a robots.txt redirects tells of a
// wall, and its own host backs off.
func TestWalledRobotsElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	b.serve("http://a.test/robots.txt", 403, "Cf-Mitigated: challenge", challenge)
	b.visit("http://a.test/robots.txt", func(v *crawl.Visit) { v.Item.Via = crawl.ViaRobots })
	r, o := b.one()
	if r.Kind != crawl.RateLimited || !r.Wall || o.Answer == nil || o.Answer.Status != 0 ||
		crawl.WallOf(o.Answer.Failure) != wall.Cloudflare {
		t.Errorf("%+v, %+v", r, o.Answer)
	}
}

// TestWallFillsNoArchive: when the archive fails, the URL is not completed as tried.
func TestWallFillsNoArchive(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	b.rules.Settings.Archive, b.archiveErr = true, fetcher.ErrRefused
	b.serve("http://a.test/", 403, "Cf-Mitigated: challenge", challenge)
	b.visit("http://a.test/")
	if err := b.run(); err == nil || len(b.outcomes) != 1 || b.outcomes[0].Kind != crawl.Aborted {
		t.Errorf("%v, %+v", err, b.outcomes)
	}
}
