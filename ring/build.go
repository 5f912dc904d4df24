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

// The constants of the placement. Nodes with different values would disagree
// about every partition, so they are part of what members compare on joining.
const (
	// VirtualNodes is the number of places of each member on the circle. It is
	// one constant for all cluster sizes: a value that followed the size would
	// move nearly everything whenever it changed.
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

// Errors of Build.
var (
	ErrNoMembers      = errors.New("ring: a table needs at least one member")
	ErrTooManyMembers = errors.New("ring: more members than partitions")
	ErrPartitions     = fmt.Errorf("ring: the number of partitions must lie within 1 and %d", MaxPartitions)
	ErrReplicas       = fmt.Errorf("ring: the number of replicas must lie within 0 and %d", MaxReplicas)
	ErrBadID          = errors.New("ring: a member's id must not be empty or contain " + terminator)
)

// Build computes the table of the members: replicas copies of each partition
// beside its owner, fewer when there are too few members. Order and repeats in
// members do not matter. It is an error when the arguments make no table
// (ErrNoMembers and its neighbours); nothing else fails.
//
// Cost at 1024 partitions: about 20 ms for 20 members with one replica; with
// two replicas, 190 more rings and 250 ms.
func Build(members []crawl.NodeID, partitions, replicas int) (t *Table, err error) {
	ids := slices.Clone(members)
	slices.Sort(ids)
	ids = slices.Clip(slices.Compact(ids))
	if err := validate(ids, partitions, replicas); err != nil {
		return nil, err
	}
	defer func() {
		// The library panics when it cannot place a partition. The arguments
		// above rule that out; a change in the library must not end the process.
		if r := recover(); r != nil {
			t, err = nil, fmt.Errorf("ring: placing %d partitions on %d members: %v", partitions, len(ids), r)
		}
	}()
	c := newCircle(ids, partitions)
	owners := c.owners()
	return newTable(ids, owners, c.successors(owners, replicas)), nil
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

// circle is one private ring of the library. Rings without some members are
// had by taking them out and putting them back, which gives the same placement
// as a ring built without them and costs a fraction.
type circle struct {
	ring       *consistent.Consistent
	members    int
	partitions int
}

func newCircle(ids []crawl.NodeID, partitions int) *circle {
	places := make([]consistent.Member, len(ids))
	for i, id := range ids {
		places[i] = place(id)
	}
	return &circle{members: len(ids), partitions: partitions, ring: consistent.New(places, consistent.Config{
		Hasher:            hasher{},
		PartitionCount:    partitions,
		ReplicationFactor: VirtualNodes,
		Load:              Load,
	})}
}

func (c *circle) owner(p int) crawl.NodeID {
	return crawl.NodeID(c.ring.GetPartitionOwner(p).(place))
}

func (c *circle) owners() []crawl.NodeID {
	out := make([]crawl.NodeID, c.partitions)
	for p := range out {
		out[p] = c.owner(p)
	}
	return out
}

// without calls f while the member id is taken out of the circle.
func (c *circle) without(f func(), id crawl.NodeID) {
	c.ring.Remove(place(id).String())
	f()
	c.ring.Add(place(id))
}

// successors finds the replicas: one ring without each owner, and for the
// second replica one ring without each pair that occurs.
func (c *circle) successors(owners []crawl.NodeID, replicas int) [][]crawl.NodeID {
	out := make([][]crawl.NodeID, c.partitions)
	if replicas < 1 || c.members < 2 {
		return out
	}
	byOwner := make(map[crawl.NodeID][]int)
	for p, id := range owners {
		byOwner[id] = append(byOwner[id], p)
	}
	backing := make([]crawl.NodeID, c.partitions*replicas)
	for id, ps := range byOwner {
		c.without(func() {
			for _, p := range ps {
				out[p] = append(backing[p*replicas:p*replicas:(p+1)*replicas], c.owner(p))
			}
		}, id)
	}
	if replicas < 2 || c.members < 3 {
		return out
	}
	// Nested, so that each inner ring costs one removal and not two.
	for first, inner := range byPair(owners, out) {
		c.without(func() {
			for second, ps := range inner {
				c.without(func() {
					for _, p := range ps {
						out[p] = append(out[p], c.owner(p))
					}
				}, second)
			}
		}, first)
	}
	return out
}

// byPair groups the partitions by the two ids of their owner and first
// replica, the lower id outside: the ring without two members is the same
// whichever of them owns.
func byPair(owners []crawl.NodeID, replicas [][]crawl.NodeID) map[crawl.NodeID]map[crawl.NodeID][]int {
	out := make(map[crawl.NodeID]map[crawl.NodeID][]int)
	for p, owner := range owners {
		low, high := min(owner, replicas[p][0]), max(owner, replicas[p][0])
		if out[low] == nil {
			out[low] = make(map[crawl.NodeID][]int)
		}
		out[low][high] = append(out[low][high], p)
	}
	return out
}
