package membership

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// TestSightingsOfTheSameNodesAreEqual: the core takes another order for a change, and the loop gives
// it the nodes after every event.
func TestSightingsOfTheSameNodesAreEqual(t *testing.T) {
	t.Parallel()
	m := &Membership{core: consensus.New(consensus.Identity{ID: "n05", Boot: 1}, consensus.State{}), self: Member{ID: "n05", Boot: 1}}
	l := newLoop(m)
	for i := range 20 {
		id := crawl.NodeID(fmt.Sprintf("n%02d", i))
		if id != m.self.ID {
			l.nodes[id] = &node{Sighting: consensus.Sighting{ID: id, Boot: 1, Status: consensus.Active}, alive: i != 7}
		}
	}
	first := slices.Clone(l.sightings())
	if len(first) != 19 || first[5].ID != m.self.ID || first[7].ID != "n08" || !slices.IsSortedFunc(first, byID) {
		t.Errorf("seen: %v", first)
	}
	for range 20 {
		if again := l.sightings(); !slices.Equal(first, again) {
			t.Fatalf("the same nodes are seen as %v, then as %v", first, again)
		}
	}
	l.nodes["n08"].Boot = 2
	if again := l.sightings(); slices.Equal(first, again) {
		t.Error("a restart is not seen")
	}
}

func byID(a, b consensus.Sighting) int { return cmp.Compare(a.ID, b.ID) }
