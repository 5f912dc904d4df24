package ring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/buraksezer/consistent"
	"github.com/cespare/xxhash/v2"

	"crawlnode/crawl"
)

// The constants of the placement. Nodes with different values would disagree about every
// partition, so members compare them when they join.
const (
	// VirtualNodes is the number of places of each member on the circle. It is
	// one constant for all cluster sizes: if it depended on the size, nearly all
	// partitions would move whenever it changed.
	VirtualNodes = 100
	// Load bounds a member's share: ceil(Load * floor(partitions/members)).
	// Above 1 the placement always succeeds.
	Load = 1.25
	// MaxReplicas is the largest number of copies beside the owner's.
	MaxReplicas = 2
)

// terminator ends each name on the circle. Virtual nodes are hashed as name
// plus number; without an end that no name contains, "node1"+"10" and
// "node11"+"0" would be one place, and the table would depend on the order of
// joining.
const terminator = "#"

// Errors of Build. ErrLibrary does not depend on the arguments: this program was built
// with another version of the library than the cluster's other nodes.
var (
	ErrNoMembers      = errors.New("ring: a table needs at least one member")
	ErrTooManyMembers = errors.New("ring: more members than partitions")
	ErrPartitions     = fmt.Errorf("ring: the number of partitions must lie within 1 and %d", MaxPartitions)
	ErrReplicas       = fmt.Errorf("ring: the number of replicas must lie within 0 and %d", MaxReplicas)
	ErrLibrary        = errors.New("ring: the placement is not that of buraksezer/consistent; run the release that the other nodes run")
	ErrBadID          = errors.New("ring: a member's id must not be empty or contain " + terminator)
)

// Build computes the table of the members: replicas copies of each partition
// beside its owner, fewer when there are too few members. Order and repeats in
// members do not matter. Its errors are those above.
//
// The cost is in docs/scaling.md: with one replica, milliseconds of processor
// for some tens of members, and less than a tenth of a second for a thousand
// with 16384 partitions.
func Build(members []crawl.NodeID, partitions, replicas int) (*Table, error) {
	ids := slices.Clone(members)
	slices.Sort(ids)
	ids = slices.Clip(slices.Compact(ids))
	if err := validate(ids, partitions, replicas); err != nil {
		return nil, err
	}
	w := newWalk(ids, partitions)
	owners := make([]uint16, partitions)
	w.place(owners)
	if len(ids) <= libraryMembers {
		if err := agrees(ids, owners); err != nil {
			return nil, err
		}
	}
	return newTable(ids, owners, w.successors(owners, replicas)), nil
}

func validate(ids []crawl.NodeID, partitions, replicas int) error {
	switch {
	case len(ids) == 0:
		return ErrNoMembers
	case partitions < 1 || partitions > MaxPartitions:
		return fmt.Errorf("%w, not %d", ErrPartitions, partitions)
	case replicas < 0 || replicas > MaxReplicas:
		return fmt.Errorf("%w, not %d", ErrReplicas, replicas)
	case len(ids) > partitions:
		return fmt.Errorf("%w: %d members, %d partitions", ErrTooManyMembers, len(ids), partitions)
	}
	for _, id := range ids {
		if id == "" || strings.Contains(string(id), terminator) {
			return fmt.Errorf("%w: %q", ErrBadID, id)
		}
	}
	return nil
}

// place is a member on the library's circle.
type place crawl.NodeID

func (p place) String() string { return string(p) + terminator }

type hasher struct{}

func (hasher) Sum64(b []byte) uint64 { return xxhash.Sum64(b) }

// libraryMembers is the largest cluster for which each Build compares with the library's
// placement. The library sorts its circle once for each member: that takes 0.1 s of
// processor time for 128, and 10 s for 1000, which is longer than a member may be silent.
const libraryMembers = 128

// agrees compares a placement without replicas with the library's, which is
// authoritative.
func agrees(ids []crawl.NodeID, owners []uint16) (err error) {
	defer func() {
		// The library panics when it cannot place a partition. Build's checks rule
		// that out; a change in the library must not end the process.
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: placing %d partitions on %d members: %v", ErrLibrary, len(owners), len(ids), r)
		}
	}()
	library := newLibrary(ids, len(owners))
	for p, m := range owners {
		if got := library.GetPartitionOwner(p); got != consistent.Member(place(ids[m])) {
			return fmt.Errorf("%w: partition %d of %d on %d members: %q here, %v there", ErrLibrary, p, len(owners), len(ids), ids[m], got)
		}
	}
	return nil
}

func newLibrary(ids []crawl.NodeID, partitions int) *consistent.Consistent {
	places := make([]consistent.Member, len(ids))
	for i, id := range ids {
		places[i] = place(id)
	}
	return consistent.New(places, consistent.Config{
		Hasher:            hasher{},
		PartitionCount:    partitions,
		ReplicationFactor: VirtualNodes,
		Load:              Load,
	})
}
