package ring

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"crawlnode/crawl"
)

// walk is the circle of some members, built once, so that the placement without a member
// costs one pass over the partitions. It follows the rules of the library exactly: the two
// must never differ (agrees).
//
// A table needs a placement without each member, and with two replicas without
// each pair that occurs. The library makes each of them by sorting the whole
// circle anew.
type walk struct {
	members int
	// spots are the members at the places of the circle, in the order of the
	// places. A member is its index among the sorted ids, which are no more than
	// the partitions, MaxPartitions at most.
	spots []uint16
	// first is, by partition, the spot that it comes to first.
	first []int32
	load  []int32 // by member; scratch of place
}

// spot is one virtual node.
type spot struct {
	at     uint64
	member uint16
}

// newWalk lays out the circle of ids, which are sorted and without repeats.
func newWalk(ids []crawl.NodeID, partitions int) *walk {
	circle := make([]spot, 0, len(ids)*VirtualNodes)
	var name []byte
	for m, id := range ids {
		name = append(append(name[:0], id...), terminator...)
		stem := len(name)
		for i := range VirtualNodes {
			name = strconv.AppendInt(name[:stem], int64(i), 10)
			circle = append(circle, spot{xxhash.Sum64(name), uint16(m)})
		}
	}
	// Two equal hashes may be in either order: with a thousand members that occurs for
	// one set of ids in some 10^9.
	slices.SortFunc(circle, func(a, b spot) int { return cmp.Compare(a.at, b.at) })
	w := &walk{members: len(ids), spots: make([]uint16, len(circle)), first: make([]int32, partitions), load: make([]int32, len(ids))}
	for i, s := range circle {
		w.spots[i] = s.member
	}
	var key [8]byte
	for p := range w.first {
		binary.LittleEndian.PutUint64(key[:], uint64(p))
		at, _ := slices.BinarySearchFunc(circle, xxhash.Sum64(key[:]), func(s spot, hash uint64) int { return cmp.Compare(s.at, hash) })
		w.first[p] = int32(at % len(circle))
	}
	return w
}

// room is how many partitions a member takes at most.
func room(members, partitions int) int32 {
	return int32(math.Ceil(Load * float64(partitions/members)))
}

// place writes the owners of the first len(owners) partitions, as if the members in gone,
// which are not all, did not exist. Partitions are placed in their order, each with the
// first member clockwise that is not full, so a later one changes nothing for those before
// it.
func (w *walk) place(owners []uint16, gone ...uint16) {
	full := room(w.members-len(gone), len(w.first))
	clear(w.load)
	for _, m := range gone {
		w.load[m] = full
	}
	for p, at := range w.first[:len(owners)] {
		m := w.spots[at]
		for w.load[m] >= full {
			if at++; int(at) == len(w.spots) {
				at = 0
			}
			m = w.spots[at]
		}
		w.load[m]++
		owners[p] = m
	}
}

// successors finds the replicas of the partitions with these owners: one
// placement without each owner, and for the second replica one without each
// pair that occurs. The result has a slice for each partition, nil when no member is left
// to keep a copy.
func (w *walk) successors(owners []uint16, replicas int) [][]uint16 {
	out := make([][]uint16, len(owners))
	if replicas = min(replicas, w.members-1); replicas < 1 {
		return out
	}
	backing := make([]uint16, len(owners)*replicas)
	for p := range out {
		out[p] = backing[p*replicas : p*replicas : (p+1)*replicas]
	}
	scratch := make([]uint16, len(owners))
	for range replicas {
		// Before a round each partition has as many nodes as any other. Which of
		// them owns makes no difference to a placement without them.
		groups := map[[MaxReplicas]uint16][]int{}
		for p, owner := range owners {
			groups[without(owner, out[p])] = append(groups[without(owner, out[p])], p)
		}
		for gone, ps := range groups {
			last := ps[len(ps)-1]
			w.place(scratch[:last+1], gone[:1+len(out[last])]...)
			for _, p := range ps {
				out[p] = append(out[p], scratch[p])
			}
		}
	}
	return out
}

// without is a partition's nodes in ascending order, as far as there are any.
func without(owner uint16, replicas []uint16) (gone [MaxReplicas]uint16) {
	n := copy(gone[1:], replicas)
	gone[0] = owner
	slices.Sort(gone[:1+n])
	return gone
}
