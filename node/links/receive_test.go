package links

import (
	"testing"

	"crawlnode/frontier"
	"crawlnode/peer"
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
