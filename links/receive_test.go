package links

import (
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
)

// TestPromise checks that no link is acknowledged to its sender before its replicas have it.
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

// TestReceiverAnswers checks the answers to a member for its links. Only a node that knows all
// entries, as its sender does, refuses finally.
func TestReceiverAnswers(t *testing.T) {
	t.Parallel()
	in, late, out, elsewhere := linkTo(t, "http://in.test/"), linkTo(t, "http://late.test/"),
		linkTo(t, "http://out.test/"), linkTo(t, "http://elsewhere.test/")
	const (
		added   = peer.Verdict_VERDICT_ADDED
		refused = peer.Verdict_VERDICT_REFUSED
		keep    = peer.Verdict_VERDICT_NOT_HOLDER
	)
	for name, c := range map[string]struct {
		unready bool
		scope   scopeAround
		want    []peer.Verdict // of in, late, out, elsewhere, nonsense
		counted int64
	}{
		"it knows all": {false, scopeAround{},
			[]peer.Verdict{added, keep, refused, keep, refused}, 1},
		"other rules": {false, scopeAround{differs: true},
			[]peer.Verdict{added, keep, keep, keep, refused}, 0},
		"it may lack entries": {false, scopeAround{lacks: true},
			[]peer.Verdict{added, keep, keep, keep, refused}, 0},
		"it knows no rule yet": {true, scopeAround{}, []peer.Verdict{keep, keep, keep, keep, keep}, 0},
	} {
		a := &around{
			held:  map[crawl.Partition]bool{in.Partition: true, late.Partition: true, out.Partition: true},
			late:  map[crawl.Partition]bool{late.Partition: true},
			scope: c.scope,
		}
		batch := []*peer.Link{wireOf(in), wireOf(late), wireOf(out), wireOf(elsewhere), {Url: "nonsense"}}
		got, err := NewReceiver(a.router(), func() bool { return !c.unready }).Store(t.Context(), "b",
			batch, nil)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
		if n := a.counts[out.Partition][crawl.SkipOutOfScope]; n != c.counted {
			t.Errorf("%s: %d are counted as refused, want %d", name, n, c.counted)
		}
	}
}
