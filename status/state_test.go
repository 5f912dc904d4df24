package status

import (
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestDerivedState holds what people read of a node against what gossip says.
func TestDerivedState(t *testing.T) {
	t.Parallel()
	failed := Departure{Boot: 3, State: crawl.NodeFailed, At: noon}
	left := Departure{Boot: 3, State: crawl.NodeLeft, At: noon}
	for _, c := range []struct {
		name string
		np   Node
		gone Departure
		want string
	}{
		{"a member that speaks", Node{State: crawl.NodeAlive, Counts: true, Heard: true, Age: time.Second}, Departure{}, crawl.NodeAlive},
		{"a silent member", Node{State: crawl.NodeAlive, Counts: true, Heard: true, Age: 2100 * time.Millisecond}, Departure{}, crawl.NodeSuspect},
		{"a silent member that drains", Node{State: crawl.NodeDraining, Counts: true, Heard: true, Age: time.Minute}, Departure{}, crawl.NodeSuspect},
		{"one never heard of", Node{State: crawl.NodeAlive, Counts: true}, Departure{}, crawl.NodeAlive},
		{"one that joins", Node{State: crawl.NodeAlive}, Departure{}, crawl.NodeAlive},
		{"given up by gossip", Node{State: crawl.NodeFailed, Counts: true, Heard: true, Age: time.Minute}, Departure{}, crawl.NodeFailed},
		{"excluded, and gossip still sees it", Node{State: crawl.NodeAlive, Boot: 3, Heard: true}, failed, crawl.NodeFailed},
		{"excluded, and it starts again", Node{State: crawl.NodeAlive, Boot: 4}, failed, crawl.NodeAlive},
		{"excluded and back", Node{State: crawl.NodeAlive, Boot: 3, Counts: true, Heard: true}, failed, crawl.NodeAlive},
		{"left, and gossip calls it failed", Node{State: crawl.NodeFailed, Boot: 3}, left, crawl.NodeLeft},
		{"forgotten", Node{State: crawl.NodeFailed, Boot: 3, Forgotten: true}, failed, crawl.NodeLeft},
	} {
		c.np.DeriveState(c.gone)
		if c.np.State != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.np.State, c.want)
		}
	}
}
