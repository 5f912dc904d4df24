package membership

import (
	"fmt"
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// TestSightingsInOrder: the same nodes are always the same sightings, so the core notices that
// nothing has changed.
func TestSightingsInOrder(t *testing.T) {
	t.Parallel()
	m := &Membership{core: consensus.New(consensus.Identity{ID: "id05x", Boot: 1}, consensus.State{})}
	m.self.ID = "id05x"
	l := newLoop(m)
	for i := range 12 {
		id := crawl.NodeID(fmt.Sprintf("id%02d", i))
		l.nodes[id] = &node{alive: i != 7, Sighting: consensus.Sighting{ID: id, Boot: 1, Status: consensus.Active}}
	}
	first := l.sightings()
	for range 50 {
		if again := l.sightings(); !slices.Equal(again, first) {
			t.Fatalf("sightings change their order: %v, were %v", again, first)
		}
	}
	var ids []crawl.NodeID
	for _, s := range first {
		ids = append(ids, s.ID)
	}
	if !slices.IsSorted(ids) || len(ids) != 12 || ids[6] != "id05x" || slices.Contains(ids, "id07") {
		t.Errorf("sightings of %v, want the living ones and this node, sorted", ids)
	}
}
