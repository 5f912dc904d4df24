package node

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
	"crawlnode/web/urlnorm"
)

// TestPromise checks that no sender hears that a link is kept before its replicas have it.
func TestPromise(t *testing.T) {
	for _, a := range []frontier.Admission{frontier.Added, frontier.Known, frontier.NotHolder} {
		if got := promiseOf(a, false); got != peer.Verdict_VERDICT_NOT_HOLDER {
			t.Errorf("%v, and not safe: %v is promised", a, got)
		}
	}
	if got := promiseOf(frontier.Added, true); got != peer.Verdict_VERDICT_ADDED {
		t.Errorf("safe: %v", got)
	}
	if got := promiseOf(frontier.NotHolder, true); got != peer.Verdict_VERDICT_NOT_HOLDER {
		t.Errorf("not held: %v", got)
	}
}

// TestTaken checks that a link stays in its outbox until its owner has answered for it.
func TestTaken(t *testing.T) {
	link := func(text string) crawl.Routed {
		u, err := urlnorm.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return crawl.Routed{Target: crawl.Target{URL: u}}
	}
	a, b := link("http://a.test/"), link("http://b.test/")
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
