package ring

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"crawlnode/crawl"
)

// MaxPartitions is the number of values that a crawl.Partition has.
const MaxPartitions = 1 << 16

// PartitionOf returns the partition of a host: xxhash64(host) mod partitions.
// partitions must lie within 1 and MaxPartitions; it is fixed for the life of
// a cluster, and so is the hash: records on disk are keyed by its result.
func PartitionOf(h crawl.Host, partitions int) crawl.Partition {
	return crawl.Partition(xxhash.Sum64String(string(h)) % uint64(partitions))
}

// Table has the owner of each partition and the nodes that keep its copies. It is
// immutable, so any number of goroutines may read it.
type Table struct {
	members  []crawl.NodeID // sorted
	owners   []crawl.NodeID // by partition
	replicas [][]crawl.NodeID
	owned    map[crawl.NodeID][]crawl.Partition
	digest   string
}

// Owner returns the owner of p, or "" when the table has no such partition.
func (t *Table) Owner(p crawl.Partition) crawl.NodeID {
	if int(p) >= len(t.owners) {
		return ""
	}
	return t.owners[p]
}

// Replicas returns the nodes that keep copies of p beside its owner, in the
// order in which they would take over. It is shorter than the count given to
// Build when there are too few members, and nil when the table has no such
// partition. The caller must not change it.
func (t *Table) Replicas(p crawl.Partition) []crawl.NodeID {
	if int(p) >= len(t.replicas) {
		return nil
	}
	return t.replicas[p]
}

// Members returns the ids the table was built from, sorted. The caller must
// not change it.
func (t *Table) Members() []crawl.NodeID { return t.members }

// Partitions returns the number of partitions.
func (t *Table) Partitions() int { return len(t.owners) }

// OwnedBy returns the partitions of id in ascending order; nil if it is not in the table, or there
// is none. The caller must not change it.
func (t *Table) OwnedBy(id crawl.NodeID) []crawl.Partition {
	if t == nil {
		return nil
	}
	return t.owned[id]
}

// Digest identifies the assignment, owners and replicas, in 16 hex digits. Two
// tables with the same digest send every partition to the same nodes.
func (t *Table) Digest() string { return t.digest }

// newTable freezes an assignment of indices into members.
func newTable(members []crawl.NodeID, owners []uint16, replicas [][]uint16) *Table {
	t := &Table{
		members:  members,
		owners:   make([]crawl.NodeID, len(owners)),
		replicas: named(members, replicas),
		owned:    make(map[crawl.NodeID][]crawl.Partition, len(members)),
	}
	parts := make([][]crawl.Partition, len(members))
	for p, m := range owners {
		parts[m] = append(parts[m], crawl.Partition(p))
		t.owners[p] = members[m]
	}
	for m, ps := range parts {
		if ps != nil {
			t.owned[members[m]] = slices.Clip(ps)
		}
	}
	t.digest = digestOf(t.owners, t.replicas)
	return t
}

// named turns each partition's indices into ids.
func named(members []crawl.NodeID, replicas [][]uint16) [][]crawl.NodeID {
	out, total := make([][]crawl.NodeID, len(replicas)), 0
	for _, rs := range replicas {
		total += len(rs)
	}
	all := make([]crawl.NodeID, 0, total)
	for p, rs := range replicas {
		if len(rs) == 0 {
			continue
		}
		from := len(all)
		for _, m := range rs {
			all = append(all, members[m])
		}
		out[p] = all[from:len(all):len(all)]
	}
	return out
}

// digestOf hashes, partition by partition, the owner, the number of replicas
// and each replica, every id with its length in front.
func digestOf(owners []crawl.NodeID, replicas [][]crawl.NodeID) string {
	h := xxhash.New()
	var buf []byte
	put := func(id crawl.NodeID) {
		buf = binary.AppendUvarint(buf, uint64(len(id)))
		buf = append(buf, id...)
	}
	for p, owner := range owners {
		buf = buf[:0]
		put(owner)
		buf = binary.AppendUvarint(buf, uint64(len(replicas[p])))
		for _, id := range replicas[p] {
			put(id)
		}
		h.Write(buf) // a Digest's Write never fails
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
