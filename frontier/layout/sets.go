package layout

import (
	"fmt"

	"crawlnode/crawl"
)

// SetRecord is this node's vote for a partition's in-sync set: the nodes that
// have every mutation that the holder of Epoch acknowledged. Of two records
// the one with the higher Epoch counts, then the one with the higher Version.
type SetRecord struct {
	Partition crawl.Partition
	Epoch     crawl.Epoch
	Version   uint64
	Members   []crawl.NodeID // never changed again
}

// Newer reports whether r takes the place of o.
func (r *SetRecord) Newer(o *SetRecord) bool {
	return r.Epoch > o.Epoch || r.Epoch == o.Epoch && r.Version > o.Version
}

// Bounds of a record.
const (
	MaxSetMembers  = 16
	maxMemberBytes = 255
)

// Valid checks a record that came from another node.
func (r *SetRecord) Valid() error {
	if r.Partition > MaxPartition {
		return fmt.Errorf("partition %d is beyond the highest, %d", r.Partition, MaxPartition)
	}
	if len(r.Members) > MaxSetMembers {
		return fmt.Errorf("the set of partition %d has %d members, %d at the most", r.Partition,
			len(r.Members), MaxSetMembers)
	}
	for _, id := range r.Members {
		if id == "" || len(id) > maxMemberBytes {
			return fmt.Errorf("the set of partition %d names a member of %d bytes, 1 to %d it may be",
				r.Partition, len(id), maxMemberBytes)
		}
	}
	return nil
}

// EncodeSet writes a record; the partition stands in the key.
//
//	version, u epoch, u version of the set, u members, for each: str id
func EncodeSet(s *SetRecord) []byte {
	w := newEncoder(24 + 32*len(s.Members))
	w.u(uint64(s.Epoch))
	w.u(s.Version)
	w.u(uint64(len(s.Members)))
	for _, id := range s.Members {
		w.str(string(id))
	}
	return w.b
}

// DecodeSet reads the record of a partition.
func DecodeSet(p crawl.Partition, b []byte) (SetRecord, error) {
	r := newDecoder(b)
	s := SetRecord{Partition: p, Epoch: crawl.Epoch(r.u()), Version: r.u()}
	for range r.small(MaxSetMembers + 1) {
		id := r.str()
		if id == "" || len(id) > maxMemberBytes {
			r.fail()
			break
		}
		s.Members = append(s.Members, crawl.NodeID(id))
	}
	return s, r.end("in-sync set of a partition")
}
