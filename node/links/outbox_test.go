package links

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
)

// TestTaken checks that a link stays in its outbox until its owner has answered for it.
func TestTaken(t *testing.T) {
	a, b := linkTo(t, "http://a.test/"), linkTo(t, "http://b.test/")
	entries := []frontier.OutboxEntry{{Routed: a}, {Routed: b}}
	for _, tc := range []struct {
		left []crawl.Routed
		want int
	}{{nil, 2}, {[]crawl.Routed{a}, 1}, {[]crawl.Routed{a, b}, 0}} {
		done := taken(entries, tc.left)
		if len(done) != tc.want {
			t.Errorf("%d of 2 were left: %d are taken", len(tc.left), len(done))
		}
		if len(done) == 1 && done[0].Routed.Target.URL != b.Target.URL {
			t.Error("the wrong one is taken")
		}
	}
}
