package ring

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// walk is the circle of the units of some members, built once, so that the placement without a
// member costs one pass over the partitions. It follows the rules of the library exactly: the two
// must never differ (agrees).
//
// A table needs a placement without each member, with two replicas without
// each pair that occurs, and with zones without each of them. The library makes each of them by
// sorting the whole circle anew.
type walk struct {
	// units are sorted by member. There are no more than partitions, MaxPartitions at most, so an
	// index among them, or among the members, fits into 16 bits.
	units   []unit
	members int
	// spots are the units at the places of the circle, in the order of the places.
	spots []uint16
	// first is, by partition, the spot that it comes to first.
	first []int32
	load  []int32 // by unit; scratch of place
}

// spot is one virtual node.
type spot struct {
	at   uint64
	unit uint16
}

// newWalk lays out the circle of the units of members.
func newWalk(units []unit, partitions int) *walk {
	circle := make([]spot, 0, len(units)*VirtualNodes)
	var name []byte
	for i, u := range units {
		name = append(name[:0], u.String()...)
		stem := len(name)
		for n := range VirtualNodes {
			name = strconv.AppendInt(name[:stem], int64(n), 10)
			circle = append(circle, spot{xxhash.Sum64(name), uint16(i)})
		}
	}
	// Two equal hashes may be in either order: with a thousand members that occurs for
	// one set of ids in some 10^9.
	slices.SortFunc(circle, func(a, b spot) int { return cmp.Compare(a.at, b.at) })
	w := &walk{
		units: units, members: int(units[len(units)-1].member) + 1, spots: make([]uint16, len(circle)),
		first: make([]int32, partitions), load: make([]int32, len(units)),
	}
	for i, s := range circle {
		w.spots[i] = s.unit
	}
	var key [8]byte
	for p := range w.first {
		binary.LittleEndian.PutUint64(key[:], uint64(p))
		at, _ := slices.BinarySearchFunc(circle, xxhash.Sum64(key[:]),
			func(s spot, hash uint64) int { return cmp.Compare(s.at, hash) })
		w.first[p] = int32(at % len(circle))
	}
	return w
}

// room is how many partitions a unit takes at most.
func room(units, partitions int) int32 {
	return int32(math.Ceil(Load * float64(partitions/units)))
}

// place writes the units that own the first len(owners) partitions, as if the members that are
// marked in gone, which are not all, did not exist; with nil, none is. Partitions are placed in
// their order, each with the first unit clockwise that is not full, so a later one changes nothing
// for those before it.
func (w *walk) place(owners []uint16, gone []bool) {
	left := 0
	for u := range w.units {
		w.load[u] = 0
		if gone != nil && gone[w.units[u].member] {
			w.load[u] = math.MaxInt32
			continue
		}
		left++
	}
	full := room(left, len(w.first))
	for p, at := range w.first[:len(owners)] {
		u := w.spots[at]
		for w.load[u] >= full {
			if at++; int(at) == len(w.spots) {
				at = 0
			}
			u = w.spots[at]
		}
		w.load[u]++
		owners[p] = u
	}
}
