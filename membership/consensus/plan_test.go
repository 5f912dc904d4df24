package consensus

import (
	"fmt"
	"strings"
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
	at := func(s Sighting, weight int, zone string, changes uint32) Sighting {
		s.Place = Place{Weight: weight, Zone: zone, Changes: changes}
		return s
	}
	heavy := b
	heavy.Place = Place{Weight: 4, Zone: "east", Changes: 2}
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
		{"then removes", []Member{a, draining}, nil, []Sighting{live, sight("b", "nb", 3, Leaving)}, "view 6 [a/1 since 1] removed b/3 proved"},
		{"draining alone removes nobody", []Member{a, draining}, nil, []Sighting{live, sight("b", "nb", 3, Draining)}, ""},
		{"all want to drain", []Member{a, b}, nil, []Sighting{sight("a", "na", 1, Draining), sight("b", "nb", 3, Leaving)}, ""},
		{"the last active one wants to", []Member{a, draining}, nil, []Sighting{sight("a", "na", 1, Leaving)}, ""},
		{"a joiner takes over from all", []Member{a}, nil, []Sighting{sight("a", "na", 1, Draining), sight("b", "nb", 1, Joining)}, "view 6 [a/1 since 1 draining b/1 since 6]"},
		{"a dead one", []Member{a, b}, nil, []Sighting{live, sight("b/dead", "", 3, 0)}, "view 6 [a/1 since 1] removed b/3 proved"},
		{"a silent one", []Member{a, b}, nil, []Sighting{live, sight("b/silent", "", 3, 0)}, "view 6 [a/1 since 1] removed b/3"},
		{"a dead one that was draining", []Member{a, draining}, nil, []Sighting{live, sight("b", "nb", 3, Leaving), sight("b/dead", "", 3, 0)}, "view 6 [a/1 since 1] removed b/3 proved"},
		{"a forgotten one", []Member{a, b}, nil, []Sighting{live, sight("b/forgotten", "", 3, 0)}, "view 6 [a/1 since 1] removed b/3 barred b"},
		{"a forgotten one that is no member", []Member{a}, nil, []Sighting{live, sight("b/forgotten", "", 3, 0)}, "view 6 [a/1 since 1] barred b"},
		{"a forgotten one that restarts", []Member{a, b}, nil, []Sighting{live, sight("b/forgotten", "", 3, 0), sight("b", "nb", 4, Joining)}, "view 6 [a/1 since 1] removed b/3 barred b"},
		{"a dead one that is back", []Member{a, b}, nil, []Sighting{live, sight("b/dead", "", 3, 0), sight("b", "nb", 4, Joining)}, "view 6 [a/1 since 1 b/4 since 2]"},
		{"only the draining one lives", []Member{a, draining}, nil, []Sighting{sight("b", "nb", 3, Leaving), sight("a/dead", "", 1, 0)}, ""},
		{"and is forgotten", []Member{a, draining}, nil, []Sighting{sight("b", "nb", 3, Leaving), sight("a/forgotten", "", 1, 0)}, ""},
		{"a joiner takes over from the dead", []Member{a, draining}, nil, []Sighting{sight("c", "nc", 1, Joining), sight("a/dead", "", 1, 0)}, "view 6 [b/3 since 2 draining c/1 since 6] removed a/1 proved"},
		{"the last live one does not drain", []Member{a, b}, nil, []Sighting{sight("a", "na", 1, Draining), sight("b/silent", "", 3, 0)}, "view 6 [a/1 since 1] removed b/3"},
		{"the excluded one joins anew", []Member{a}, nil, []Sighting{live, sight("b", "nb", 3, Joining)}, "view 6 [a/1 since 1 b/3 since 6]"},
		{"but not while it thinks it is active", []Member{a}, nil, []Sighting{live, sight("b", "nb", 3, Active)}, ""},
		{"nor unheard", []Member{a}, nil, []Sighting{live, sight("b/unheard", "", 0, 0), sight("b", "nb", 3, Joining)}, ""},
		{"a change of weight", []Member{a, b}, nil, []Sighting{live, at(sight("b", "nb", 3, Active), 4, "", 1)}, "view 6 [a/1 since 1 b/3 since 2 weight 4]"},
		{"a change of zone", []Member{a, b}, nil, []Sighting{live, at(sight("b", "nb", 3, Active), 1, "east", 1)}, "view 6 [a/1 since 1 b/3 since 2 zone east]"},
		{"back to nothing", []Member{a, heavy}, nil, []Sighting{live, at(sight("b", "nb", 3, Active), 0, "", 3)}, "view 6 [a/1 since 1 b/3 since 2]"},
		{"a late place", []Member{a, heavy}, nil, []Sighting{live, at(sight("b", "nb", 3, Active), 7, "west", 1)}, ""},
		{"the same place", []Member{a, heavy}, nil, []Sighting{live, at(sight("b", "nb", 3, Active), 4, "east", 2)}, ""},
		{"a place of an older boot", []Member{a, heavy}, nil, []Sighting{live, at(sight("b", "nb", 2, Active), 7, "west", 9)}, ""},
		{"a place of the next boot", []Member{a, heavy}, nil, []Sighting{live, at(sight("b", "nb", 4, Joining), 2, "west", 0)}, "view 6 [a/1 since 1 b/4 since 2 weight 2 zone west]"},
		{"a heavy joiner", []Member{a}, nil, []Sighting{live, at(sight("b", "nb", 1, Joining), 16, "west", 0)}, "view 6 [a/1 since 1 b/1 since 6 weight 16 zone west]"},
		{"weight, join and drain at once", []Member{a, b}, nil, []Sighting{at(live, 2, "", 1), sight("b", "nb", 3, Draining), sight("c", "nc", 1, Joining)}, "view 6 [a/1 since 1 weight 2 b/3 since 2 draining c/1 since 6]"},
		{"late news of one that left", []Member{a}, []Departure{{"b", 3}}, []Sighting{sight("b", "nb", 3, Joining)}, ""},
		{"its next boot", []Member{a}, []Departure{{"b", 3}}, []Sighting{sight("b", "nb", 4, Joining)}, "view 6 [a/1 since 1 b/4 since 6]"},
	} {
		v := &View{Number: 5, Cluster: testCluster, Members: c.members, Left: c.left}
		before := v.Digest()
		got := next(v, outlookOf(c.seen))
		if (got == nil) != (c.want == "") || got != nil && got.String() != c.want {
			t.Errorf("%s: %s, want %q", c.name, got, c.want)
		}
		if got != nil {
			if err := got.Validate(); err != nil {
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
	var seen []Sighting
	for i := range 3 * testCluster.Partitions {
		id := crawl.NodeID(fmt.Sprintf("n%03d", i))
		seen = append(seen, Sighting{ID: id, Name: string(id), Boot: 1, Status: Joining})
	}
	v := &View{Number: 1, Cluster: testCluster, Members: []Member{{ID: "a", Name: "a", Boot: 1, Since: 1}}}
	look := outlookOf(nil)
	look.seen = sightingsOf(seen)
	v = next(v, look)
	if len(v.Members) != testCluster.Partitions {
		t.Errorf("%d members admitted for %d partitions", len(v.Members), testCluster.Partitions)
	}
	// All but one leave, wave after wave: the list of departures stays short.
	for i := range seen {
		seen[i].Status = Leaving
	}
	look.seen = sightingsOf(seen)
	for range 2 * len(seen) {
		if w := next(v, look); w != nil {
			v = w
		}
	}
	if len(v.Members) != 1 || len(v.Left) != testCluster.Partitions-1 {
		t.Errorf("%d members and %d departures are left", len(v.Members), len(v.Left))
	}
	v.Left = append(v.Left, v.Left...)[:maxDepartures]
	look.seen = sightingsOf([]Sighting{{ID: "x", Name: "x", Boot: 1, Status: Leaving}})
	v.Members = append(v.Members, Member{ID: "x", Name: "x", Boot: 1, Since: 1, Draining: true})
	v = next(v, look)
	if len(v.Left) != maxDepartures || v.Left[maxDepartures-1].ID != "x" {
		t.Errorf("%d departures, the newest is %v", len(v.Left), v.Left[len(v.Left)-1])
	}
}

// outlookOf reads what is in sight. An id with a suffix says something else of
// the node: dead, silent, forgotten, or unheard.
func outlookOf(sightings []Sighting) outlook {
	var seen []Sighting
	verdicts := map[crawl.NodeID]verdict{}
	unheard := map[crawl.NodeID]bool{}
	var forgotten []crawl.NodeID
	for _, s := range sightings {
		id, what, _ := strings.Cut(string(s.ID), "/")
		switch node := crawl.NodeID(id); what {
		case "":
			seen = append(seen, s)
		case "dead":
			verdicts[node] = dropDead
		case "silent":
			verdicts[node] = dropSilent
		case "forgotten":
			verdicts[node], forgotten = dropForgotten, append(forgotten, node)
		case "unheard":
			unheard[node] = true
		}
	}
	return outlook{
		seen: sightingsOf(seen), forgotten: forgotten,
		verdict:    func(m Member) verdict { return verdicts[m.ID] },
		admissible: func(id crawl.NodeID) bool { return !unheard[id] },
	}
}

func TestQuorum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		members, voters, dead, forgotten string // ids; a capital voter has restarted
		off                              bool
		want                             bool
	}{
		{"a", "", "", "", false, false},
		{"a", "a", "", "", false, true},
		{"a", "A", "", "", false, true}, // by id: it is more than half
		{"ab", "a", "", "", false, false},
		{"ab", "ab", "", "", false, true},
		{"ab", "AB", "", "", false, true},
		{"ab", "a", "b", "", false, true},
		{"ab", "A", "b", "", false, false},
		{"ab", "x", "ab", "", false, false},
		{"ab", "", "ab", "", false, false},
		{"abc", "a", "bc", "", false, false},
		{"abc", "ab", "", "", false, true},
		{"abcd", "ab", "", "", false, false},
		{"abcd", "ab", "c", "", false, false},
		{"abcd", "ab", "cd", "", false, true},
		{"abcd", "aB", "cd", "", false, false},
		{"abcd", "aBC", "", "", false, true},
		{"ab", "a", "", "b", false, true},
		{"ab", "b", "", "b", false, false},
		{"abc", "a", "", "c", false, false},
		{"abc", "a", "b", "c", false, true},
		{"abc", "ac", "", "c", false, false},
		{"abc", "a", "", "bc", false, true},
		{"abc", "a", "bc", "", true, true},
		{"abc", "A", "bc", "", true, true},
		{"abc", "a", "b", "", true, false},
		{"abc", "", "abc", "", true, false},
		{"abc", "ab", "", "", true, true},
	} {
		v := &View{}
		for _, r := range c.members {
			v.Members = append(v.Members, Member{ID: crawl.NodeID(r), Boot: 1})
		}
		voters := map[crawl.NodeID]crawl.Boot{}
		for _, r := range c.voters {
			id := strings.ToLower(string(r))
			voters[crawl.NodeID(id)] = 1
			if id != string(r) {
				voters[crawl.NodeID(id)] = 2
			}
		}
		dead := func(m Member) bool { return strings.Contains(c.dead, string(m.ID)) }
		e := electorate{view: v, dead: dead}
		for _, r := range c.forgotten {
			e.forgotten = append(e.forgotten, crawl.NodeID(r))
		}
		if c.off {
			e.gone = dead
		}
		if got := e.decides(voters); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
