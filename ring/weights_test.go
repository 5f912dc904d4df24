//race:none

package ring

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crawlnode/crawl"
)

func mustWeigh(t testing.TB, members []Member, partitions, replicas int) *Table {
	t.Helper()
	table, err := Build(members, partitions, replicas)
	if err != nil {
		t.Fatalf("Build(%v, %d, %d): %v", members, partitions, replicas, err)
	}
	return table
}

// weighed are node0, node1... with these weights, without zones.
func weighed(weights ...int) []Member {
	out := Equals(ids(len(weights)))
	for i, w := range weights {
		out[i].Weight = w
	}
	return out
}

// zoned are node0, node1... of weight 1 in these zones, a letter each; - is none.
func zoned(zones string) []Member {
	out := Equals(ids(len(zones)))
	for i, z := range zones {
		if z != '-' {
			out[i].Zone = string(z)
		}
	}
	return out
}

func removeMembers(members []Member, gone ...crawl.NodeID) []Member {
	return slices.DeleteFunc(slices.Clone(members),
		func(m Member) bool { return slices.Contains(gone, m.ID) })
}

func zoneOf(members []Member, id crawl.NodeID) string {
	for _, m := range members {
		if m.ID == id && m.Zone != "" {
			return m.Zone
		} else if m.ID == id {
			return "alone:" + string(id)
		}
	}
	panic("no member " + string(id))
}

func zonesIn(members []Member, nodes []crawl.NodeID) map[string]bool {
	out := map[string]bool{}
	for _, id := range nodes {
		out[zoneOf(members, id)] = true
	}
	return out
}

func allZones(members []Member) map[string]bool {
	out := map[string]bool{}
	for _, m := range members {
		out[zoneOf(members, m.ID)] = true
	}
	return out
}

// boundOf is how many partitions a member may own.
func boundOf(members []Member, m Member, partitions int) int {
	total := 0
	for _, other := range members {
		total += other.Weight
	}
	if total > partitions {
		panic("the weights are divided: the bound is another")
	}
	return m.Weight * int(math.Ceil(Load*float64(partitions/total)))
}

// TestWeights: a member owns in proportion to its weight, within the load bound.
func TestWeights(t *testing.T) {
	t.Parallel()
	for _, weights := range [][]int{{1, 1, 4}, {1, 2}, {16, 1}, {3, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8},
		{16, 16, 16, 16, 1, 1}} {
		members, total := weighed(weights...), 0
		for _, w := range weights {
			total += w
		}
		for _, partitions := range []int{512, 1024, 4099} {
			table := mustWeigh(t, members, partitions, 1)
			for _, m := range members {
				got, fair := len(table.OwnedBy(m.ID)), float64(partitions*m.Weight)/float64(total)
				if bound := boundOf(members, m, partitions); got > bound {
					t.Errorf("weights %v, %d partitions: %s owns %d, the bound is %d", weights, partitions, m.ID,
						got, bound)
				}
				// What the others cannot take because they are full is the least that it owns.
				if least := partitions -
					int(math.Ceil(Load*float64(partitions/total)))*(total-m.Weight); got < least {
					t.Errorf("weights %v, %d partitions: %s owns %d, at least %d fall to it", weights, partitions,
						m.ID, got, least)
				}
				if m.Weight > 1 && math.Abs(float64(got)-fair) > 0.25*fair {
					t.Errorf("weights %v, %d partitions: %s of weight %d owns %d, %.0f would be fair", weights,
						partitions, m.ID, m.Weight, got, fair)
				}
			}
		}
	}
}

// TestOneZoneChangesNothing: zones that say nothing give the table that there was
// before there were zones (TestTablesStay has its digests).
func TestOneZoneChangesNothing(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 9; n++ {
		for replicas := range MaxReplicas + 1 {
			want := mustBuild(t, ids(n), 1024, replicas).Digest()
			one, own := Equals(ids(n)), Equals(ids(n))
			for i := range one {
				one[i].Zone, own[i].Zone = "a", fmt.Sprint("z", i)
			}
			if got := mustWeigh(t, one, 1024, replicas).Digest(); got != want {
				t.Errorf("%d members in one zone: digest %s, want %s", n, got, want)
			}
			if got := mustWeigh(t, own, 1024, replicas).Digest(); got != want {
				t.Errorf("%d members in as many zones: digest %s, want %s", n, got, want)
			}
		}
	}
}

// TestZones: the nodes of a partition are in as many zones as there are, at most one for each.
func TestZones(t *testing.T) {
	t.Parallel()
	for _, zones := range []string{"ab", "aab", "aabb", "aaab", "aabbc", "abc", "aabbccdd",
		"aaaaaaaaab", "aa-", "a--", "---aa", "aaa"} {
		members := zoned(zones)
		for _, weights := range [][]int{{1}, {1, 4, 16}} {
			for i := range members {
				members[i].Weight = weights[i%len(weights)]
			}
			for replicas := range MaxReplicas + 1 {
				checkZones(t, members, mustWeigh(t, members, 1024, replicas), replicas)
			}
		}
	}
}

func checkZones(t *testing.T, members []Member, table *Table, replicas int) {
	t.Helper()
	there := allZones(members)
	for p := range crawl.Partition(table.Partitions()) {
		nodes := append([]crawl.NodeID{table.Owner(p)}, table.Replicas(p)...)
		distinct := slices.Compact(slices.Sorted(slices.Values(nodes)))
		if want := min(replicas+1, len(members)); len(distinct) != want || len(nodes) != want {
			t.Fatalf("%v: partition %d is on %v, want %d nodes", members, p, nodes, want)
		}
		if got, want := len(zonesIn(members, nodes)), min(len(nodes), len(there)); got != want {
			t.Fatalf("%v: partition %d is on %v, in %d zones of %d", members, p, nodes, got, len(there))
		}
	}
}

// TestZonesMoveNoOwner: zones decide who has the copies, never who owns.
func TestZonesMoveNoOwner(t *testing.T) {
	t.Parallel()
	plain, members := mustBuild(t, ids(6), 1024, 1), zoned("aabbcc")
	table := mustWeigh(t, members, 1024, 1)
	for p := range crawl.Partition(1024) {
		if plain.Owner(p) != table.Owner(p) {
			t.Fatalf("partition %d is owned by %s, with zones by %s", p, plain.Owner(p), table.Owner(p))
		}
	}
}

// model is the replicas by the definition in doc.go, each from a circle of the rest of the members.
// Build would compare each with the library, which takes too long here.
type model struct {
	members []Member
	tables  map[string][]crawl.NodeID
	n       int // partitions
}

func (m *model) without(p crawl.Partition, gone func(Member) bool) crawl.NodeID {
	rest := slices.DeleteFunc(slices.Clone(m.members), gone)
	key := fmt.Sprint(rest)
	if m.tables[key] == nil {
		units, owners := unitsOf(rest, m.n), make([]uint16, m.n)
		newWalk(units, m.n).place(owners, nil)
		for _, u := range owners {
			m.tables[key] = append(m.tables[key], units[u].id)
		}
	}
	return m.tables[key][p]
}

func (m *model) replicas(p crawl.Partition, owner crawl.NodeID, most int) (out []crawl.NodeID) {
	if len(m.members) == 1 {
		return nil
	}
	heir := m.without(p, func(o Member) bool { return o.ID == owner })
	all := len(allZones(m.members))
	for len(out) < min(most, len(m.members)-1) {
		nodes := append([]crawl.NodeID{owner}, out...)
		used := zonesIn(m.members, nodes)
		next := m.without(p, func(o Member) bool { return slices.Contains(nodes, o.ID) })
		switch {
		case len(used) == all && !slices.Contains(out, heir):
			next = heir
		case len(used) < all && used[zoneOf(m.members, next)]:
			next = m.without(p, func(o Member) bool { return used[zoneOf(m.members, o.ID)] })
		}
		out = append(out, next)
	}
	return out
}

// checkModel compares replicas with the definition, for weights that are not divided.
func checkModel(t *testing.T, members []Member, partitions, replicas int) {
	t.Helper()
	table := mustWeigh(t, members, partitions, replicas)
	m := &model{members: members, tables: map[string][]crawl.NodeID{}, n: partitions}
	for p := range crawl.Partition(partitions) {
		if got, want := table.Replicas(p),
			m.replicas(p, table.Owner(p), replicas); !slices.Equal(got, want) {
			t.Fatalf("%v: partition %d of %s has replicas %v, the definition says %v", members, p,
				table.Owner(p), got, want)
		}
	}
}

func FuzzWeightsAndZones(f *testing.F) {
	f.Add(uint8(5), uint16(128), uint64(1))
	f.Add(uint8(7), uint16(600), uint64(2))
	f.Add(uint8(0), uint16(3), uint64(3))
	f.Fuzz(func(t *testing.T, n uint8, partitions uint16, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		members := Equals(ids(int(n)%8 + 1))
		total := 0
		for i := range members {
			members[i].Weight = []int{1, 1, 2, 3, 5, MaxWeight}[rnd.IntN(6)]
			members[i].Zone = []string{"", "a", "b", "c"}[rnd.IntN(4)]
			total += members[i].Weight
		}
		count := len(members) + int(partitions)%300
		for replicas := range MaxReplicas + 1 {
			table := mustWeigh(t, members, count, replicas)
			checkZones(t, members, table, replicas)
			if total > count {
				continue
			}
			checkModel(t, members, count, replicas)
			for _, m := range members {
				if got, bound := len(table.OwnedBy(m.ID)), boundOf(members, m, count); got > bound {
					t.Errorf("%v, %d partitions: %s owns %d, the bound is %d", members, count, m.ID, got, bound)
				}
			}
		}
		shuffled := slices.Clone(members)
		rnd.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got, want := mustWeigh(t, append(shuffled, shuffled[0]), count, 2).Digest(),
			mustWeigh(t, members, count, 2).Digest(); got != want {
			t.Errorf("%v in another order: digest %s, want %s", members, got, want)
		}
	})
}

// TestWeightsBeyondThePartitions: the weights are divided until there are enough partitions, down
// to one unit for each member.
func TestWeightsBeyondThePartitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		weights    []int
		partitions int
		units      []int
	}{
		{[]int{16, 16, 16, 16}, 64, []int{16, 16, 16, 16}},
		{[]int{16, 16, 16, 16}, 63, []int{8, 8, 8, 8}},
		{[]int{16, 4, 1}, 20, []int{8, 2, 1}},
		{[]int{16, 16, 1}, 3, []int{1, 1, 1}},
	} {
		var got []int
		for _, u := range unitsOf(weighed(c.weights...), c.partitions) {
			if int(u.member) == len(got) {
				got = append(got, 0)
			}
			if got[u.member]++; got[u.member] != u.number {
				t.Errorf("weights %v: unit %v is the %dth of its member", c.weights, u, got[u.member])
			}
		}
		if !slices.Equal(got, c.units) {
			t.Errorf("weights %v on %d partitions: units %v, want %v", c.weights, c.partitions, got, c.units)
		}
		mustWeigh(t, weighed(c.weights...), c.partitions, MaxReplicas)
	}
}

// TestWeightMovement: a weight that goes from w to w+1 moves as much as a member of weight 1 that
// joins; nearly nothing moves between the others, and nothing away from the node.
func TestWeightMovement(t *testing.T) {
	t.Parallel()
	const partitions = 1024
	for _, c := range [][]int{{1, 1, 1}, {1, 1, 4}, {2, 2, 2, 2}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		{16, 16, 15}} {
		heavier := slices.Clone(c)
		heavier[len(c)-1]++
		node := ids(len(c))[len(c)-1]
		before, after := mustWeigh(t, weighed(c...), partitions, 0), mustWeigh(t, weighed(heavier...),
			partitions, 0)
		moved, sideways, total := 0, 0, 0
		for _, w := range heavier {
			total += w
		}
		for p := range crawl.Partition(partitions) {
			if before.Owner(p) != after.Owner(p) {
				moved++
				if after.Owner(p) != node {
					sideways++
				}
			}
		}
		fair := float64(partitions) / float64(total)
		t.Logf(
			"weights %v -> %v: %d partitions move (one unit's share: %.0f), %d of them not to the node",
			c, heavier, moved, fair, sideways)
		if float64(moved) > 1.3*fair+partitions/50 || sideways > partitions/50 {
			t.Errorf(
				"weights %v -> %v: %d partitions move (one unit's share: %.0f), %d of them not to the node",
				c, heavier, moved, fair, sideways)
		}
	}
}

// TestHeirs measures how often the node that takes over has the copy: always without zones, and
// less often with them, since the heir of a partition may be in its owner's zone. It then takes
// over from the copy in the other zone, and makes one of its own. With two copies beside the
// owner's and two zones the heir always has one.
func TestHeirs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zones    string
		replicas int
		least    float64
	}{
		{"------", 1, 1},
		{"aaaaaa", 1, 1},
		{"abcdef", 1, 1},
		{"aaabbb", 1, 0.50}, // 3 of 5 others are in the other zone
		{"aabbcc", 1, 0.70}, // 4 of 5
		{"aaabbbccc", 1, 0.65},
		{"aaaab", 1, 0.20},
		{"aaabbb", 2, 1},
		{"aabbcc", 2, 0.70},
	} {
		members := zoned(c.zones)
		table := mustWeigh(t, members, 1024, c.replicas)
		with := 0
		for _, gone := range members {
			rest := mustWeigh(t, removeMembers(members, gone.ID), 1024, 0)
			for _, p := range table.OwnedBy(gone.ID) {
				if slices.Contains(table.Replicas(p), rest.Owner(p)) {
					with++
				}
			}
		}
		share := float64(with) / 1024
		t.Logf("zones %s, %d copies beside the owner's: %.0f %% of the heirs have one", c.zones,
			c.replicas, 100*share)
		if share < c.least {
			t.Errorf("zones %s, %d copies beside the owner's: %.0f %% of the heirs have one", c.zones,
				c.replicas, 100*share)
		}
	}
}

// TestZoneLost: when a whole zone is gone, the table of the rest can serve every partition from a
// copy that is left.
func TestZoneLost(t *testing.T) {
	t.Parallel()
	members := zoned("aaabbbcc")
	members[1].Weight = 5
	table := mustWeigh(t, members, 1024, 1)
	for _, zone := range []string{"a", "b", "c"} {
		for p := range crawl.Partition(1024) {
			nodes := append([]crawl.NodeID{table.Owner(p)}, table.Replicas(p)...)
			if !slices.ContainsFunc(nodes,
				func(id crawl.NodeID) bool { return zoneOf(members, id) != zone }) {
				t.Fatalf("partition %d is in zone %s only: %v", p, zone, nodes)
			}
		}
	}
}

func TestBuildRefusesWeights(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		members []Member
		want    error
	}{
		{"no weight", weighed(1, 0), ErrWeight},
		{"a negative weight", weighed(-1), ErrWeight},
		{"too heavy", weighed(MaxWeight + 1), ErrWeight},
		{"twice with two weights", append(weighed(1, 1), Member{ID: "node1", Weight: 2}), ErrTwice},
		{"twice with two zones", append(weighed(1, 1), Member{ID: "node1", Weight: 1, Zone: "a"}), ErrTwice},
	} {
		if table, err := Build(c.members, 64, 1); !errors.Is(err, c.want) || table != nil {
			t.Errorf("%s: table %v, error %v, want %v", c.name, table != nil, err, c.want)
		}
	}
}

// TestUnitsNames: no two units have a common place, whatever the ids.
func TestUnitsNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	members := weighed(16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16)
	members = append(members, Member{ID: "node", Weight: 16}, Member{ID: "node111", Weight: 16})
	for _, u := range unitsOf(members, 1024) {
		for i := range VirtualNodes {
			name := fmt.Sprint(u.String(), i)
			if seen[name] {
				t.Errorf("two virtual nodes are called %s", name)
			}
			seen[name] = true
		}
	}
}

// BenchmarkBuildWeighed is what a heavy cluster costs.
func BenchmarkBuildWeighed(b *testing.B) {
	for _, n := range []int{3, 8, 128} {
		members := Equals(ids(n))
		for i := range members {
			members[i].Weight, members[i].Zone = MaxWeight, string(rune('a'+i%3))
		}
		for _, replicas := range []int{1, 2} {
			b.Run(fmt.Sprintf("members=%d/partitions=4096/replicas=%d", n, replicas), func(b *testing.B) {
				for b.Loop() {
					mustWeigh(b, members, 4096, replicas)
				}
			})
		}
	}
}
