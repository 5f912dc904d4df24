package ring

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/buraksezer/consistent"
	"github.com/cespare/xxhash/v2"

	"crawlnode/crawl"
)

// The constants of the placement. Nodes with different values would disagree about every
// partition, so members compare them when they join.
const (
	// VirtualNodes is the number of places of each unit of a member's weight on the
	// circle. It is one constant for all cluster sizes: if it depended on the size, nearly all
	// partitions would move whenever it changed.
	VirtualNodes = 100
	// Load bounds a member's share: its weight times
	// ceil(Load * floor(partitions/sum of the weights)).
	// Above 1 the placement always succeeds.
	Load = 1.25
	// MaxReplicas is the largest number of copies beside the owner's.
	MaxReplicas = 2
	// MaxWeight is the largest weight of a member.
	MaxWeight = crawl.MaxWeight
)

// Member is a node as the table sees it.
type Member struct {
	ID crawl.NodeID
	// Weight is the member's share against the others', 1 to MaxWeight.
	Weight int
	// Zone is what fails together: a rack, a building. Copies of a partition are in
	// different zones. "" is a zone of the node's own.
	Zone string
}

// Equals are members of weight 1 without a zone.
func Equals(ids []crawl.NodeID) []Member {
	out := make([]Member, len(ids))
	for i, id := range ids {
		out[i] = Member{ID: id, Weight: 1}
	}
	return out
}

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
	ErrPartitions     = fmt.Errorf("ring: the number of partitions must lie within 1 and %d",
		MaxPartitions)
	ErrReplicas = fmt.Errorf("ring: the number of replicas must lie within 0 and %d", MaxReplicas)
	ErrLibrary  = errors.New(
		"ring: the placement is not that of buraksezer/consistent; run the release that the other " +
			"nodes run")
	ErrBadID  = errors.New("ring: a member's id must not be empty or contain " + terminator)
	ErrWeight = fmt.Errorf("ring: a member's weight must lie within 1 and %d", MaxWeight)
	ErrTwice  = errors.New("ring: a member is listed twice, with different weights or zones")
)

// Build computes the table of the members: replicas copies of each partition
// beside its owner, fewer when there are too few members. Order and repeats in
// members do not matter. Its errors are those above.
//
// The cost is in docs/scaling.md: with one replica, milliseconds of processor
// for some tens of members, and less than a tenth of a second for a thousand
// with 16384 partitions. A member of weight w costs as w members.
func Build(members []Member, partitions, replicas int) (*Table, error) {
	sorted := slices.Clone(members)
	slices.SortFunc(sorted,
		func(a, b Member) int { return strings.Compare(string(a.ID), string(b.ID)) })
	sorted = slices.Clip(slices.Compact(sorted))
	if err := validate(sorted, partitions, replicas); err != nil {
		return nil, err
	}
	w := newWalk(unitsOf(sorted, partitions), partitions)
	units := make([]uint16, partitions)
	w.place(units, nil)
	if len(w.units) <= libraryUnits {
		if err := agrees(w.units, units); err != nil {
			return nil, err
		}
	}
	owners := make([]uint16, partitions)
	for p, u := range units {
		owners[p] = w.units[u].member
	}
	ids := make([]crawl.NodeID, len(sorted))
	for m := range sorted {
		ids[m] = sorted[m].ID
	}
	return newTable(ids, owners, replicasOf(w, owners, zonesOf(sorted), replicas)), nil
}

// validate checks members that are sorted, equal ones once.
func validate(members []Member, partitions, replicas int) error {
	switch {
	case len(members) == 0:
		return ErrNoMembers
	case partitions < 1 || partitions > MaxPartitions:
		return fmt.Errorf("%w, not %d", ErrPartitions, partitions)
	case replicas < 0 || replicas > MaxReplicas:
		return fmt.Errorf("%w, not %d", ErrReplicas, replicas)
	case len(members) > partitions:
		return fmt.Errorf("%w: %d members, %d partitions", ErrTooManyMembers, len(members), partitions)
	}
	for i, m := range members {
		switch {
		case m.ID == "" || strings.Contains(string(m.ID), terminator):
			return fmt.Errorf("%w: %q", ErrBadID, m.ID)
		case m.Weight < 1 || m.Weight > MaxWeight:
			return fmt.Errorf("%w, not %d as %q has", ErrWeight, m.Weight, m.ID)
		case i > 0 && members[i-1].ID == m.ID:
			return fmt.Errorf("%w: %q", ErrTwice, m.ID)
		}
	}
	return nil
}

// unit is one unit of a member's weight: a member of the library's circle.
type unit struct {
	id     crawl.NodeID
	member uint16 // its index among the sorted members
	number int    // from 1
}

// String is the unit's name on the circle. The first unit is named as a member without
// weights is, so a table of equal members is the one of releases that had no weights.
func (u unit) String() string {
	if u.number == 1 {
		return string(u.id) + terminator
	}
	return string(u.id) + terminator + strconv.Itoa(u.number) + terminator
}

// unitsOf lists the units of the members, in their order. No more units than partitions can
// be placed: if the weights are more, all are divided by the smallest number, and rounded
// up, for which they are not. Divided by MaxWeight each member has one unit.
func unitsOf(members []Member, partitions int) []unit {
	total, divisor := partitions+1, 0
	for total > partitions {
		total, divisor = 0, divisor+1
		for _, m := range members {
			total += divided(m.Weight, divisor)
		}
	}
	out := make([]unit, 0, total)
	for i, m := range members {
		for n := range divided(m.Weight, divisor) {
			out = append(out, unit{id: m.ID, member: uint16(i), number: n + 1})
		}
	}
	return out
}

// divided rounds up.
func divided(weight, by int) int { return (weight + by - 1) / by }

// zonesOf numbers the members' zones, from 0. A member without a zone has one of its own.
func zonesOf(members []Member) []uint16 {
	known := map[string]uint16{}
	out, next := make([]uint16, len(members)), uint16(0)
	for i, m := range members {
		zone, ok := known[m.Zone]
		if !ok {
			zone = next
			next++
			if m.Zone != "" {
				known[m.Zone] = zone
			}
		}
		out[i] = zone
	}
	return out
}

type hasher struct{}

func (hasher) Sum64(b []byte) uint64 { return xxhash.Sum64(b) }

// libraryUnits is the largest cluster, in units of weight, for which each Build compares with
// the library's placement. The library sorts its circle once for each unit: that takes 0.1 s of
// processor time for 128, and 10 s for 1000, which is longer than a member may be silent.
const libraryUnits = 128

// agrees compares a placement without replicas with the library's, which is
// authoritative.
func agrees(units []unit, owners []uint16) (err error) {
	defer func() {
		// The library panics when it cannot place a partition. Build's checks rule
		// that out; a change in the library must not end the process.
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: placing %d partitions on %d members: %v", ErrLibrary, len(owners),
				len(units), r)
		}
	}()
	library := newLibrary(units, len(owners))
	for p, u := range owners {
		if got := library.GetPartitionOwner(p); got != consistent.Member(units[u]) {
			return fmt.Errorf("%w: partition %d of %d on %d members: %v here, %v there", ErrLibrary, p,
				len(owners), len(units), units[u], got)
		}
	}
	return nil
}

func newLibrary(units []unit, partitions int) *consistent.Consistent {
	places := make([]consistent.Member, len(units))
	for i, u := range units {
		places[i] = u
	}
	return consistent.New(places, consistent.Config{
		Hasher:            hasher{},
		PartitionCount:    partitions,
		ReplicationFactor: VirtualNodes,
		Load:              Load,
	})
}
