package membership

import (
	"testing"

	"crawlnode/crawl"
)

// TestSnapshotOfNodes: what a snapshot tells of members, joiners and strangers.
func TestSnapshotOfNodes(t *testing.T) {
	t.Parallel()
	s := Snapshot{
		View: &View{Members: []Member{{ID: "a", Boot: 1}, {ID: "away", Boot: 1}, {ID: "b", Boot: 1}}},
		Peers: []Peer{
			{ID: "a", Boot: 1, State: crawl.NodeAlive, Listed: true},
			{ID: "b", Boot: 2, State: crawl.NodeAlive}, // restarted: the view lists an earlier boot
			{ID: "gone", Boot: 1, State: crawl.NodeFailed},
			{ID: "new", Boot: 1, Name: "n4", RPC: "127.0.0.1:9", State: crawl.NodeAlive},
			{ID: "self", Boot: 1, State: crawl.NodeAlive},
		},
	}
	if got := s.Joiners("self"); len(got) != 1 || got[0].ID != "new" || got[0].Name != "n4" || got[0].RPC != "127.0.0.1:9" {
		t.Errorf("joiners %+v, want new alone", got)
	}
	for id, want := range map[crawl.NodeID]string{"a": crawl.NodeAlive, "gone": crawl.NodeFailed, "away": ""} {
		if got := s.State(id); got != want {
			t.Errorf("state of %s: %q, want %q", id, got, want)
		}
	}
	for id, want := range map[crawl.NodeID]bool{"away": true, "gone": true, "nobody": false} {
		if got := s.Knows(id); got != want {
			t.Errorf("%s is known: %v, want %v", id, got, want)
		}
	}
	if got := (&Snapshot{Peers: s.Peers}).Joiners("self"); len(got) != 0 {
		t.Errorf("without a view %+v join", got)
	}
}
