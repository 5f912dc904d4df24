package spread

import (
	"math/bits"
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/membership"
)

// TestStoredAndFetched checks, for clusters of up to 7, that every member which has heard
// enough has heard of what was acknowledged, whoever was silent: a node that fetches must
// not refuse a link that a scope entry allows.
func TestStoredAndFetched(t *testing.T) {
	for members := 1; members <= 7; members++ {
		v := viewOf(members)
		for have := range 1 << members { // as bits, who was told
			if have&1 == 0 {
				continue // the first one tells
			}
			if enough, _ := storedEnough(members, members-bits.OnesCount(uint(have)), 0); !enough {
				continue
			}
			for heard := range 1 << members {
				for i, m := range v.Members {
					hears := func(id crawl.NodeID) bool { return heard>>indexOf(v, id)&1 == 1 }
					if have>>i&1 == 0 && heard&have&^(1<<i) == 0 && fetchedEnough(v, m.ID, false, hears) {
						t.Fatalf(
							"%d members, %b were told, member %d has heard from %b: it has missed what was acknowledged",
							members, have, i, heard)
					}
				}
			}
		}
	}
}

func TestStoredEnough(t *testing.T) {
	for _, tc := range []struct {
		members, missing, answering int
		enough, done                bool
	}{
		{1, 0, 0, true, true},
		{2, 0, 0, true, true},
		{2, 1, 0, false, false}, // the other one is silent: it may be the one that goes on
		{3, 1, 1, true, false},
		{3, 1, 0, true, true}, // nobody waits for one that is silent
		{4, 2, 0, false, false},
		{5, 2, 0, true, true},
	} {
		if enough, done := storedEnough(tc.members, tc.missing, tc.answering); enough != tc.enough ||
			done != tc.done {
			t.Errorf("storedEnough(%d, %d, %d) = %v, %v; want %v, %v", tc.members, tc.missing, tc.answering,
				enough, done, tc.enough, tc.done)
		}
	}
}

func TestFetchedEnough(t *testing.T) {
	nobody := func(crawl.NodeID) bool { return false }
	only := func(ids ...crawl.NodeID) func(crawl.NodeID) bool {
		return func(id crawl.NodeID) bool { return slices.Contains(ids, id) }
	}
	three := viewOf(3) // a founded the cluster, b joined with view 2, c with view 3
	returned := viewOf(3)
	returned.Members[indexOf(returned, "a")].Since = 5
	for _, tc := range []struct {
		name  string
		view  *membership.View
		id    crawl.NodeID
		fresh bool
		heard func(crawl.NodeID) bool
		want  bool
	}{
		{"alone", viewOf(1), "a", false, nobody, true},
		{"a founder, the others have just joined", three, "a", true, nobody, true},
		{"a founder that was started again", three, "a", false, nobody, false},
		{"joined, has heard from nobody", three, "c", true, nobody, false},
		{"joined, has heard from one before it", three, "c", true, only("b"), true},
		{"joined, has heard only from one after it", three, "b", true, only("c"), false},
		{"joined, the one before it was removed and has come back, has heard from nobody", returned, "b", true, nobody, false},
		{"the same, has heard only from one that knows as little", returned, "b", true, only("c"), false},
		{"the same, has heard from both", returned, "b", true, only("a", "c"), true},
		{"started again, has heard from one of two", three, "b", false, only("c"), true},
		{"started again, has heard from one of four", viewOf(5), "b", false, only("c"), false},
	} {
		if got := fetchedEnough(tc.view, tc.id, tc.fresh, tc.heard); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestInEachMajority counts: a node that hears so many others would hear of each entry that
// was acknowledged without it, whoever has it.
func TestInEachMajority(t *testing.T) {
	for members := 1; members <= 9; members++ {
		for heard := range members {
			least := members/2 + 1        // of a majority
			missed := members - 1 - heard // others that it does not hear
			if got, want := inEachMajority(heard, members), missed < least; got != want {
				t.Errorf("%d of %d others: %v, want %v", heard, members-1, got, want)
			}
		}
	}
}

// viewOf is a view of members a, b, c... that joined one after the other.
func viewOf(members int) *membership.View {
	v := &membership.View{Number: crawl.Epoch(members)}
	for i := range members {
		id := string("abcdefghi"[i])
		v.Members = append(v.Members,
			membership.Member{ID: crawl.NodeID(id), Name: "n-" + id, Boot: 1, Since: crawl.Epoch(i + 1)})
	}
	return v
}

func indexOf(v *membership.View, id crawl.NodeID) int {
	return slices.IndexFunc(v.Members, func(m membership.Member) bool { return m.ID == id })
}
