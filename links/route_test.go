package links

import (
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/peer"
)

// TestSubmitGoesToWhoHoldsIt checks which node a link goes to: this one, else the one that last
// reported to hold the partition, else its owner.
func TestSubmitGoesToWhoHoldsIt(t *testing.T) {
	t.Parallel()
	own, said, owned := linkTo(t, "http://own.test/"), linkTo(t, "http://said.test/"), linkTo(t,
		"http://owned.test/")
	// this node held both a moment ago
	nobody, gone := linkTo(t, "http://nobody.test/"), linkTo(t, "http://gone.test/")
	a := &around{
		held: map[crawl.Partition]bool{own.Partition: true},
		says: map[crawl.Partition]crawl.NodeID{
			said.Partition:   "b",
			nobody.Partition: "a",
			gone.Partition:   "a",
		},
		owns: map[crawl.Partition]crawl.NodeID{
			said.Partition:   "c",
			owned.Partition:  "c",
			gone.Partition:   "d",
			nobody.Partition: "a",
		},
	}
	r := a.router()
	got, err := r.Submit(t.Context(), []crawl.Routed{said, own, nobody, owned, gone})
	if err != nil || got.Added != 4 || !slices.Equal(hosts(got.Left), []string{"nobody.test"}) {
		t.Errorf("%+v, %v", got, err)
	}
	for l, want := range map[string]crawl.NodeID{
		"own.test":    "a",
		"said.test":   "b",
		"gone.test":   "d",
		"nobody.test": "",
	} {
		if got := r.Holder(linkTo(t, "http://"+l+"/").Partition); got != want {
			t.Errorf("%s is held by %q, want %q", l, got, want)
		}
	}
	slices.Sort(a.did)
	if want := []string{"add", "forward to b", "forward to c", "forward to d",
		"wait"}; !slices.Equal(a.did, want) || !slices.Equal(a.stored, []string{"http://own.test/"}) {
		t.Errorf("%v, want %v; stored %v", a.did, want, a.stored)
	}
	if c := r.Counts(); c.Forwarded != 3 || c.Local != 0 {
		t.Errorf("%+v", c)
	}
}

// TestSubmitKeepsWhatNobodyAcknowledged checks which links stay with the caller: those that
// replicas lack, and those that another node does not hold, or does not answer for.
func TestSubmitKeepsWhatNobodyAcknowledged(t *testing.T) {
	t.Parallel()
	safe, late := linkTo(t, "http://safe.test/"), linkTo(t, "http://late.test/")
	moved, silent, refused := linkTo(t, "http://moved.test/"), linkTo(t, "http://silent.test/"),
		linkTo(t, "http://refused.test/")
	a := &around{
		held: map[crawl.Partition]bool{safe.Partition: true, late.Partition: true},
		late: map[crawl.Partition]bool{late.Partition: true},
		says: map[crawl.Partition]crawl.NodeID{
			moved.Partition:   "m",
			silent.Partition:  "s",
			refused.Partition: "r",
		},
		silent: map[crawl.NodeID]bool{"s": true},
		answers: map[crawl.NodeID]peer.Verdict{
			"m": peer.Verdict_VERDICT_NOT_HOLDER,
			"r": peer.Verdict_VERDICT_REFUSED,
		},
	}
	got, err := a.router().Submit(t.Context(), []crawl.Routed{safe, late, moved, silent, refused})
	if want := []string{"late.test", "moved.test", "silent.test"}; err != nil || got.Added != 1 ||
		got.Refused != 1 || !slices.Equal(hosts(got.Left), want) {
		t.Errorf("%+v, %v; left %v, want %v", got, err, hosts(got.Left), want)
	}
}
