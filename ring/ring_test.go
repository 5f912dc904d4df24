//race:none

package ring

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/cespare/xxhash/v2"

	"crawlnode/crawl"
)

func ids(n int) []crawl.NodeID {
	out := make([]crawl.NodeID, n)
	for i := range out {
		out[i] = crawl.NodeID(fmt.Sprintf("node%d", i))
	}
	return out
}

func mustBuild(t testing.TB, members []crawl.NodeID, partitions, replicas int) *Table {
	t.Helper()
	table, err := Build(Equals(members), partitions, replicas)
	if err != nil {
		t.Fatalf("Build(%v, %d, %d): %v", members, partitions, replicas, err)
	}
	return table
}

func remove(members []crawl.NodeID, gone ...crawl.NodeID) []crawl.NodeID {
	return slices.DeleteFunc(slices.Clone(members),
		func(id crawl.NodeID) bool { return slices.Contains(gone, id) })
}

// naive places the partitions as the paper says, without the library.
func naive(members []crawl.NodeID, partitions int) []crawl.NodeID {
	type spot struct {
		at uint64
		id crawl.NodeID
	}
	var spots []spot
	for _, id := range members {
		for i := range VirtualNodes {
			spots = append(spots, spot{xxhash.Sum64String(fmt.Sprintf("%s#%d", id, i)), id})
		}
	}
	sort.Slice(spots, func(i, j int) bool { return spots[i].at < spots[j].at })
	room := int(math.Ceil(Load * float64(partitions/len(members))))
	load := map[crawl.NodeID]int{}
	owners := make([]crawl.NodeID, partitions)
	for p := range owners {
		var key [8]byte
		for i := range key {
			key[i] = byte(p >> (8 * i))
		}
		hash := xxhash.Sum64(key[:])
		i := sort.Search(len(spots), func(i int) bool { return spots[i].at >= hash })
		for load[spots[i%len(spots)].id] >= room {
			i++
		}
		owners[p] = spots[i%len(spots)].id
		load[owners[p]]++
	}
	return owners
}

// checkAgainstModel compares a whole table, replicas included, with naive.
func checkAgainstModel(t *testing.T, members []crawl.NodeID, partitions, replicas int) {
	t.Helper()
	table := mustBuild(t, members, partitions, replicas)
	owners := naive(members, partitions)
	rings := map[string][]crawl.NodeID{}
	without := func(gone ...crawl.NodeID) []crawl.NodeID {
		slices.Sort(gone)
		key := fmt.Sprint(gone)
		if rings[key] == nil {
			rings[key] = naive(remove(members, gone...), partitions)
		}
		return rings[key]
	}
	for p := range owners {
		if got := table.Owner(crawl.Partition(p)); got != owners[p] {
			t.Fatalf("partition %d of %d on %v: owner %q, the model says %q", p, partitions, members, got,
				owners[p])
		}
		var want []crawl.NodeID
		for len(want) < min(replicas, len(members)-1) {
			want = append(want, without(append([]crawl.NodeID{owners[p]}, want...)...)[p])
		}
		if got := table.Replicas(crawl.Partition(p)); !slices.Equal(got, want) {
			t.Fatalf("partition %d of %d on %v: replicas %v, the model says %v", p, partitions, members, got,
				want)
		}
	}
}

func TestTableMatchesModel(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 4, 5, 9} {
		for replicas := range MaxReplicas + 1 {
			checkAgainstModel(t, ids(n), 512, replicas)
		}
	}
}

func FuzzTableMatchesModel(f *testing.F) {
	f.Add(uint8(3), uint16(64), uint8(2), uint64(1))
	f.Add(uint8(2), uint16(2), uint8(1), uint64(7))
	f.Add(uint8(6), uint16(271), uint8(0), uint64(9))
	f.Fuzz(func(t *testing.T, n uint8, partitions uint16, replicas uint8, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		members := map[crawl.NodeID]bool{}
		for range int(n)%12 + 1 {
			members[crawl.NodeID(fmt.Sprintf("n%d", rnd.IntN(200)))] = true
		}
		var list []crawl.NodeID
		for id := range members {
			list = append(list, id)
		}
		slices.Sort(list)
		checkAgainstModel(t, list, max(int(partitions)%600, len(list)), int(replicas)%(MaxReplicas+1))
	})
}

func TestLoadBound(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{512, 1021, 1024} {
		for n := 1; n <= 20; n++ {
			table := mustBuild(t, ids(n), partitions, 0)
			bound := int(math.Ceil(Load * float64(partitions/n)))
			total := 0
			for _, id := range table.Members() {
				got := len(table.OwnedBy(id))
				total += got
				if got > bound {
					t.Errorf("%d members, %d partitions: %s owns %d, the bound is %d", n, partitions, id, got,
						bound)
				}
			}
			if total != partitions {
				t.Errorf("%d members: %d of %d partitions owned", n, total, partitions)
			}
		}
	}
}

// TestOrderDoesNotMatter uses names of which one is a prefix of another: with
// a careless naming of the virtual nodes they collide.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	members := append(ids(12), "node100", "node1000", "node111")
	want := mustBuild(t, members, 1024, 1)
	for range 10 {
		shuffled := slices.Clone(members)
		rnd.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		shuffled = append(shuffled, shuffled[0]) // a repeat changes nothing
		before := slices.Clone(shuffled)
		if got := mustBuild(t, shuffled, 1024, 1); got.Digest() != want.Digest() {
			t.Fatalf("order %v gives digest %s, sorted order %s", shuffled, got.Digest(), want.Digest())
		}
		if !slices.Equal(before, shuffled) {
			t.Fatal("Build changed its argument")
		}
	}
	pair := mustBuild(t, []crawl.NodeID{"node1", "node11"}, 1024, 1)
	back := mustBuild(t, []crawl.NodeID{"node11", "node1"}, 1024, 1)
	if pair.Digest() != back.Digest() {
		t.Error("node1, node11 and node11, node1 give different tables")
	}
}

func TestReplicaTakesOver(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 5, 8} {
		members := ids(n)
		table := mustBuild(t, members, 1024, MaxReplicas)
		for _, gone := range members {
			rest := mustBuild(t, remove(members, gone), 1024, 0)
			for _, p := range table.OwnedBy(gone) {
				if got, want := rest.Owner(p), table.Replicas(p)[0]; got != want {
					t.Fatalf("%d members without %s: partition %d falls to %s, its replica is %s", n, gone, p, got,
						want)
				}
			}
		}
		for p := range 1024 {
			reps := table.Replicas(crawl.Partition(p))
			if len(reps) != min(MaxReplicas, n-1) {
				t.Fatalf("%d members: partition %d has %d replicas", n, p, len(reps))
			}
			all := append([]crawl.NodeID{table.Owner(crawl.Partition(p))}, reps...)
			slices.Sort(all)
			if len(slices.Compact(all)) != len(reps)+1 {
				t.Fatalf("%d members: partition %d is twice on one node: %v", n, p, all)
			}
		}
	}
}

// TestMovement bounds what a join moves: the newcomer's fair share, and nearly
// nothing between the survivors. The table is fixed by the names, so the
// figures cannot waver.
func TestMovement(t *testing.T) {
	t.Parallel()
	const partitions = 1024
	for n := 1; n < 20; n++ {
		before := mustBuild(t, ids(n), partitions, 0)
		after := mustBuild(t, ids(n+1), partitions, 0)
		newcomer := ids(n + 1)[n]
		moved, sideways := 0, 0
		for p := range crawl.Partition(partitions) {
			if before.Owner(p) != after.Owner(p) {
				moved++
				if after.Owner(p) != newcomer {
					sideways++
				}
			}
		}
		fair := float64(partitions) / float64(n+1)
		if float64(moved) > 1.3*fair || sideways > partitions/50 {
			t.Errorf("%d -> %d members: %d partitions move (fair: %.0f), %d of them between survivors", n,
				n+1, moved, fair, sideways)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                 string
		members              []crawl.NodeID
		partitions, replicas int
		want                 error
	}{
		{"nobody", nil, 1024, 1, ErrNoMembers},
		{"more members than partitions", ids(5), 4, 1, ErrTooManyMembers},
		{"no partitions", ids(1), 0, 1, ErrPartitions},
		{"too many partitions", ids(1), MaxPartitions + 1, 1, ErrPartitions},
		{"negative replicas", ids(1), 16, -1, ErrReplicas},
		{"too many replicas", ids(4), 16, 3, ErrReplicas},
		{"empty id", []crawl.NodeID{""}, 16, 1, ErrBadID},
		{"terminator in id", []crawl.NodeID{"a#"}, 16, 1, ErrBadID},
	} {
		if table, err := Build(Equals(c.members), c.partitions, c.replicas); !errors.Is(err, c.want) ||
			table != nil {
			t.Errorf("%s: table %v, error %v, want %v", c.name, table != nil, err, c.want)
		}
	}
	mustBuild(t, ids(4), 4, 2) // exactly as many members as partitions is fine
	mustBuild(t, ids(1), MaxPartitions, 1)
}

func TestStrangers(t *testing.T) {
	t.Parallel()
	table := mustBuild(t, ids(3), 16, 1)
	if table.Owner(16) != "" || table.Replicas(16) != nil || table.OwnedBy("stranger") != nil {
		t.Error("a partition or node outside of the table is known to it")
	}
}

func TestDigestTellsTablesApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for n := 1; n <= 6; n++ {
		for _, partitions := range []int{512, 1024} {
			for replicas := range min(n, MaxReplicas+1) {
				name := fmt.Sprint(n, partitions, replicas)
				digest := mustBuild(t, ids(n), partitions, replicas).Digest()
				if other, ok := seen[digest]; ok {
					t.Errorf("tables %s and %s share digest %s", name, other, digest)
				}
				seen[digest] = name
			}
		}
	}
}

// TestPartitionOf pins the hash: a change would lose every record on disk.
func TestPartitionOf(t *testing.T) {
	t.Parallel()
	for host, want := range map[crawl.Host]crawl.Partition{
		"":            xxhashEmpty % 1024,
		"example.org": 309,
	} {
		if got := PartitionOf(host, 1024); got != want {
			t.Errorf("PartitionOf(%q) = %d, want %d", host, got, want)
		}
	}
	hit := map[crawl.Partition]int{}
	for i := range 10240 {
		hit[PartitionOf(crawl.Host(fmt.Sprintf("host%d.example.org", i)), 512)]++
	}
	if len(hit) != 512 {
		t.Errorf("10240 hosts fall into %d of 512 partitions", len(hit))
	}
}

// xxhashEmpty is XXH64 of nothing with seed 0, from the algorithm's test vectors.
const xxhashEmpty = 0xef46db3751d8e999

// BenchmarkBuild is what a node does for each view.
func BenchmarkBuild(b *testing.B) {
	for _, s := range []struct{ members, partitions int }{{3, 1024}, {20, 1024}, {100, 4096},
		{1000, 4096}, {1000, 16384}} {
		for _, replicas := range []int{0, 1, 2} {
			b.Run(fmt.Sprintf("members=%d/partitions=%d/replicas=%d", s.members, s.partitions, replicas),
				func(b *testing.B) {
					members := ids(s.members)
					b.ReportAllocs()
					for b.Loop() {
						mustBuild(b, members, s.partitions, replicas)
					}
				})
		}
	}
}

// BenchmarkLookup is from a host's name to its owner.
func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			table := mustBuild(b, ids(n), 16384, 1)
			var owner crawl.NodeID
			b.ReportAllocs()
			for b.Loop() {
				owner = table.Owner(PartitionOf("www.docs.example.org", table.Partitions()))
			}
			_ = owner
		})
	}
}
