package membership

import (
	"fmt"
	"testing"

	"crawlnode/crawl"
)

func TestNext(t *testing.T) {
	t.Parallel()
	a, b := Member{ID: "a", Name: "na", Boot: 1, Since: 1}, Member{ID: "b", Name: "nb", Boot: 3, Since: 2}
	draining := b
	draining.Draining = true
	sight := func(id crawl.NodeID, name string, boot crawl.Boot, s Status) Sighting {
		return Sighting{ID: id, Name: name, Boot: boot, Status: s}
	}
	live := sight("a", "na", 1, Active)
	for _, c := range []struct {
		name    string
		members []Member
		left    []Departure
		seen    []Sighting
		want    string // "" for no change
	}{
		{"nothing new", []Member{a, b}, nil, []Sighting{live, sight("b", "nb", 3, Active)}, ""},
		{"silence removes nobody", []Member{a, b}, nil, []Sighting{live}, ""},
		{"join", []Member{a}, nil, []Sighting{live, sight("b", "nb", 1, Joining)}, "view 6 [a/1 since 1 b/1 since 6]"},
		{"two joins at once", []Member{a}, nil, []Sighting{live, sight("c", "nc", 1, Joining), sight("b", "nb", 1, Joining)}, "view 6 [a/1 since 1 b/1 since 6 c/1 since 6]"},
		{"join under a taken name", []Member{a}, nil, []Sighting{live, sight("b", "na", 1, Joining)}, ""},
		{"two joiners with one name: the lower id", []Member{a}, nil, []Sighting{sight("c", "x", 1, Joining), sight("b", "x", 1, Joining)}, "view 6 [a/1 since 1 b/1 since 6]"},
		{"a stranger that leaves", []Member{a}, nil, []Sighting{sight("b", "nb", 1, Leaving), sight("c", "nc", 1, Left)}, ""},
		{"restart keeps since", []Member{a, b}, nil, []Sighting{sight("b", "nb", 4, Joining)}, "view 6 [a/1 since 1 b/4 since 2]"},
		{"news of an older boot", []Member{a, b}, nil, []Sighting{sight("b", "nb", 2, Joining)}, ""},
		{"restart ends a drain", []Member{a, draining}, nil, []Sighting{sight("b", "nb", 4, Joining)}, "view 6 [a/1 since 1 b/4 since 2]"},
		{"a restarted node that is ending", []Member{a, b}, nil, []Sighting{sight("b", "nb", 4, Left)}, ""},
		{"drain", []Member{a, b}, nil, []Sighting{live, sight("b", "nb", 3, Draining)}, "view 6 [a/1 since 1 b/3 since 2 draining]"},
		{"drain of an older boot", []Member{a, b}, nil, []Sighting{sight("b", "nb", 2, Draining)}, ""},
		{"leaving marks first", []Member{a, b}, nil, []Sighting{live, sight("b", "nb", 3, Leaving)}, "view 6 [a/1 since 1 b/3 since 2 draining]"},
		{"then removes", []Member{a, draining}, nil, []Sighting{live, sight("b", "nb", 3, Leaving)}, "view 6 [a/1 since 1]"},
		{"draining alone removes nobody", []Member{a, draining}, nil, []Sighting{live, sight("b", "nb", 3, Draining)}, ""},
		{"all want to drain", []Member{a, b}, nil, []Sighting{sight("a", "na", 1, Draining), sight("b", "nb", 3, Leaving)}, ""},
		{"the last active one wants to", []Member{a, draining}, nil, []Sighting{sight("a", "na", 1, Leaving)}, ""},
		{"a joiner takes over from all", []Member{a}, nil, []Sighting{sight("a", "na", 1, Draining), sight("b", "nb", 1, Joining)}, "view 6 [a/1 since 1 draining b/1 since 6]"},
		{"late news of one that left", []Member{a}, []Departure{{"b", 3}}, []Sighting{sight("b", "nb", 3, Active)}, ""},
		{"its next boot", []Member{a}, []Departure{{"b", 3}}, []Sighting{sight("b", "nb", 4, Joining)}, "view 6 [a/1 since 1 b/4 since 6]"},
	} {
		v := &View{Number: 5, Cluster: testCluster, Members: c.members, Left: c.left}
		before := v.Digest()
		seen := map[crawl.NodeID]Sighting{}
		for _, s := range c.seen {
			seen[s.ID] = s
		}
		got := next(v, seen)
		if (got == nil) != (c.want == "") || got != nil && showView(got) != c.want {
			t.Errorf("%s: %s, want %q", c.name, showView(got), c.want)
		}
		if got != nil {
			if err := got.validate(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if v.Digest() != before {
			t.Errorf("%s: the view itself was changed", c.name)
		}
	}
}

func TestNextIsBounded(t *testing.T) {
	t.Parallel()
	seen := map[crawl.NodeID]Sighting{}
	for i := range 3 * testCluster.Partitions {
		id := crawl.NodeID(fmt.Sprintf("n%03d", i))
		seen[id] = Sighting{ID: id, Name: string(id), Boot: 1}
	}
	v := &View{Number: 1, Cluster: testCluster, Members: []Member{{ID: "a", Name: "a", Boot: 1, Since: 1}}}
	v = next(v, seen)
	if len(v.Members) != testCluster.Partitions {
		t.Errorf("%d members admitted for %d partitions", len(v.Members), testCluster.Partitions)
	}
	// All but one leave, wave after wave: the list of departures stays short.
	for id, s := range seen {
		s.Status = Leaving
		seen[id] = s
	}
	for range 2 * len(seen) {
		if w := next(v, seen); w != nil {
			v = w
		}
	}
	if len(v.Members) != 1 || len(v.Left) != testCluster.Partitions-1 {
		t.Errorf("%d members and %d departures are left", len(v.Members), len(v.Left))
	}
	v.Left = append(v.Left, v.Left...)[:maxDepartures]
	seen = map[crawl.NodeID]Sighting{"x": {ID: "x", Name: "x", Boot: 1, Status: Leaving}}
	v.Members = append(v.Members, Member{ID: "x", Name: "x", Boot: 1, Since: 1, Draining: true})
	v = next(v, seen)
	if len(v.Left) != maxDepartures || v.Left[maxDepartures-1].ID != "x" {
		t.Errorf("%d departures, the newest is %v", len(v.Left), v.Left[len(v.Left)-1])
	}
}

func TestQuorum(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3} {
		v := &View{}
		for i := range n {
			v.Members = append(v.Members, Member{ID: crawl.NodeID(rune('a' + i))})
		}
		voters := map[crawl.NodeID]bool{"stranger": true}
		for i := range n {
			if got := quorum(v, voters); got != (i >= want) {
				t.Errorf("%d of %d members: quorum = %v", i, n, got)
			}
			voters[v.Members[i].ID] = true
		}
		if !quorum(v, voters) {
			t.Errorf("all %d members are no quorum", n)
		}
	}
}
