package ring

import "slices"

// replicas chooses who keeps the copies of each partition.
//
// The heir of a partition is its owner in the table without its owner: whoever takes over when the
// owner dies. The first replica is the heir, if it is in another zone than the owner or there is
// only one zone; otherwise the owner in the table without the owner's zone. The second replica is
// the owner in the table without those two, if it is in a third zone or there is none; otherwise
// the owner in the table without their zones. Where no third zone is left and the first replica is
// not the heir, the second one is.
type replicas struct {
	walk   *walk
	owners []uint16 // by partition, members
	// ids are the numbers of the members themselves, zones those of their zones.
	ids, zones []uint16
	count      int        // of zones
	chosen     [][]uint16 // by partition, members
	heirs      []uint16   // by partition
	scratch    []uint16
	gone       []bool // by member
}

// replicasOf returns up to so many replicas of each partition, as indices of members: a slice for
// each partition, nil when no member is left to keep a copy.
func replicasOf(w *walk, owners, zones []uint16, most int) [][]uint16 {
	r := replicas{walk: w, owners: owners, zones: zones, chosen: make([][]uint16, len(owners))}
	if most = min(most, w.members-1); most < 1 {
		return r.chosen
	}
	backing := make([]uint16, len(owners)*most)
	for p := range r.chosen {
		r.chosen[p] = backing[p*most : p*most : (p+1)*most]
	}
	r.ids = make([]uint16, w.members)
	for m := range r.ids {
		r.ids[m] = uint16(m)
	}
	r.count = int(slices.Max(zones)) + 1
	r.scratch, r.gone = make([]uint16, len(owners)), make([]bool, w.members)
	all := make([]int, len(owners))
	for p := range all {
		all[p] = p
	}
	for range most {
		r.choose(all)
	}
	return r.chosen
}

// choose adds one replica to each partition.
func (r *replicas) choose(all []int) {
	next := make([]uint16, len(all))
	r.without(r.ids, all, next)
	if r.heirs == nil {
		r.heirs = slices.Clone(next)
	}
	var near []int // that need a copy in another zone
	for p, m := range next {
		used := r.labels(r.zones, p)
		switch {
		case used.n == r.count && !slices.Contains(r.chosen[p], r.heirs[p]):
			next[p] = r.heirs[p]
		case used.n < r.count && used.has(r.zones[m]):
			near = append(near, p)
		}
	}
	r.without(r.zones, near, next)
	for p, m := range next {
		r.chosen[p] = append(r.chosen[p], m)
	}
}

// without writes the owners of partitions, which are in ascending order, in the tables without the
// members that have a label in common with the partition's nodes.
func (r *replicas) without(label []uint16, partitions []int, next []uint16) {
	groups := map[labels][]int{}
	for _, p := range partitions {
		gone := r.labels(label, p)
		groups[gone] = append(groups[gone], p)
	}
	for gone, ps := range groups {
		for m := range r.gone {
			r.gone[m] = gone.has(label[m])
		}
		units := r.scratch[:ps[len(ps)-1]+1]
		r.walk.place(units, r.gone)
		for _, p := range ps {
			next[p] = r.walk.units[units[p]].member
		}
	}
}

// labels is a set of ids, or of zones, in ascending order. Which of a partition's nodes owns makes
// no difference to a placement without them.
type labels struct {
	n  int
	at [MaxReplicas]uint16
}

func (l labels) has(label uint16) bool { return slices.Contains(l.at[:l.n], label) }

// labels are those of the nodes that a partition has so far: MaxReplicas at most, while one is
// still to be chosen.
func (r *replicas) labels(label []uint16, p int) (out labels) {
	out.at[0], out.n = label[r.owners[p]], 1
	for _, m := range r.chosen[p] {
		if !out.has(label[m]) {
			out.at[out.n] = label[m]
			out.n++
		}
	}
	slices.Sort(out.at[:out.n])
	return out
}
