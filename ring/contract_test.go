package ring

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// randomIDs are ids as nodes give themselves.
func randomIDs(seed uint64, n int) []crawl.NodeID {
	rnd := rand.New(rand.NewPCG(seed, 1))
	out := make([]crawl.NodeID, n)
	for i := range out {
		out[i] = crawl.NodeID(fmt.Sprintf("%016x", rnd.Uint64()))
	}
	return out
}

// TestTablesStay: the table of a view is a contract between releases. The
// digests are of tables, replicas included, that the library made alone.
func TestTablesStay(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/tables.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, greatest := bufio.NewScanner(f), 0
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var seed uint64
		var members, partitions, replicas int
		var want string
		if _, err := fmt.Sscan(lines.Text(), &seed, &members, &partitions, &replicas, &want); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		greatest = max(greatest, members)
		if got := mustBuild(t, randomIDs(seed, members), partitions, replicas).Digest(); got != want {
			t.Errorf("seed %d, %d members, %d partitions, %d replicas: digest %s, want %s", seed, members,
				partitions, replicas, got, want)
		}
	}
	if err := lines.Err(); err != nil || greatest < 1000 {
		t.Errorf("%v, at most %d members", err, greatest)
	}
}

// TestLargeTablesAreTheLibrarys compares where Build does not.
func TestLargeTablesAreTheLibrarys(t *testing.T) {
	t.Parallel()
	for _, n := range []int{libraryUnits + 1, 200} {
		for _, partitions := range []int{n, 1024, 4099} {
			members := randomIDs(uint64(n), n)
			table := mustBuild(t, members, partitions, 1)
			library := newLibrary(unitsOf(Equals(table.Members()), partitions), partitions)
			for p, got := range table.owners {
				if want := crawl.NodeID(library.GetPartitionOwner(p).(unit).id); got != want {
					t.Fatalf("partition %d of %d on %d members: owner %s, the library says %s", p, partitions, n,
						got, want)
				}
			}
			gone := table.Members()[n/3]
			library.Remove(unit{id: gone, number: 1}.String())
			for _, p := range table.OwnedBy(gone) {
				if got, want := table.Replicas(p)[0],
					crawl.NodeID(library.GetPartitionOwner(int(p)).(unit).id); got != want {
					t.Fatalf("partition %d of %d on %d members: replica %s, the library says %s", p, partitions, n,
						got, want)
				}
			}
		}
	}
}

// TestAnotherLibrary: a release whose library places otherwise makes no table.
func TestAnotherLibrary(t *testing.T) {
	t.Parallel()
	members := ids(3)
	owners := make([]uint16, 64)
	units := unitsOf(Equals(members), len(owners))
	newWalk(units, len(owners)).place(owners, nil)
	if err := agrees(units, owners); err != nil {
		t.Fatal(err)
	}
	for p := range owners {
		other := slices.Clone(owners)
		other[p] = (other[p] + 1) % 3
		if err := agrees(units, other); !errors.Is(err, ErrLibrary) {
			t.Errorf("partition %d with another owner: %v", p, err)
		}
	}
	if err := agrees(units, make([]uint16, 2)); !errors.Is(err, ErrLibrary) {
		t.Errorf("a panic of the library: %v", err)
	}
}
