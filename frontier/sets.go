package frontier

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"crawlnode/crawl"
)

// SetRecord is this node's vote for a partition's in-sync set: the nodes that
// have every mutation which the holder of Epoch acknowledged. Of two records
// the one with the higher Epoch counts, then the one with the higher Version.
type SetRecord struct {
	Partition crawl.Partition
	Epoch     crawl.Epoch
	Version   uint64
	Members   []crawl.NodeID // nobody changes it any more
}

// newer reports whether r takes the place of o.
func (r *SetRecord) newer(o *SetRecord) bool {
	return r.Epoch > o.Epoch || r.Epoch == o.Epoch && r.Version > o.Version
}

// Bounds of a record.
const (
	maxSetMembers  = 16
	maxMemberBytes = 255
)

// valid checks a record that came from another node.
func (r *SetRecord) valid() error {
	if r.Partition > MaxPartition {
		return fmt.Errorf("partition %d is beyond the highest, %d", r.Partition, MaxPartition)
	}
	if len(r.Members) > maxSetMembers {
		return fmt.Errorf("the set of partition %d has %d members, %d at the most", r.Partition, len(r.Members), maxSetMembers)
	}
	for _, id := range r.Members {
		if id == "" || len(id) > maxMemberBytes {
			return fmt.Errorf("the set of partition %d names a member of %d bytes, 1 to %d it may be", r.Partition, len(id), maxMemberBytes)
		}
	}
	return nil
}

// setPiece is the number of records in one request.
const setPiece = 1_000

// PutSets records in-sync sets, each unless this node has the same or a newer
// one of the partition. All are on disk before it returns, with one sync.
func (f *Frontier) PutSets(ctx context.Context, records []SetRecord) error {
	for i := range records {
		if err := records[i].valid(); err != nil {
			return fmt.Errorf("frontier: recording in-sync sets: %w", err)
		}
	}
	for len(records) > 0 {
		piece := records[:min(len(records), setPiece)]
		records = records[len(piece):]
		// The sync of the last piece covers those before.
		err := f.do(ctx, &request{sync: len(records) == 0, small: true, apply: func(g *group) error {
			g.putSets(piece)
			return nil
		}})
		if err != nil {
			return fmt.Errorf("frontier: recording in-sync sets: %w", err)
		}
	}
	return nil
}

// putSets keeps those of the records that are newer. Sets are shown with the
// commit; within the group the last one of a partition may not be the newest,
// so they are compared with those before them too.
func (g *group) putSets(records []SetRecord) {
	for i := range records {
		r := records[i]
		old, ok := g.sets[r.Partition]
		if !ok {
			old, ok = g.f.Set(r.Partition)
		}
		if ok && !r.newer(&old) {
			continue
		}
		r.Members = slices.Clone(r.Members)
		if g.sets == nil {
			g.sets = map[crawl.Partition]SetRecord{}
		}
		g.sets[r.Partition] = r
		g.put(setKey(r.Partition), encodeSet(&r))
	}
}

// Sets returns this node's records, by partition.
func (f *Frontier) Sets() []SetRecord {
	f.mu.Lock()
	out := make([]SetRecord, 0, len(f.sets))
	for _, r := range f.sets {
		out = append(out, r)
	}
	f.mu.Unlock()
	slices.SortFunc(out, func(a, b SetRecord) int { return int(a.Partition) - int(b.Partition) })
	return out
}

// Set returns this node's record of one partition.
func (f *Frontier) Set(p crawl.Partition) (r SetRecord, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok = f.sets[p]
	return r, ok
}

// encodeSet writes a record; the partition stands in the key.
//
//	version, u epoch, u version of the set, u members, for each: str id
func encodeSet(s *SetRecord) []byte {
	w := newWriter(24 + 32*len(s.Members))
	w.u(uint64(s.Epoch))
	w.u(s.Version)
	w.u(uint64(len(s.Members)))
	for _, id := range s.Members {
		w.str(string(id))
	}
	return w.b
}

func decodeSet(p crawl.Partition, b []byte) (SetRecord, error) {
	r := newReader(b)
	s := SetRecord{Partition: p, Epoch: crawl.Epoch(r.u()), Version: r.u()}
	for range r.small(maxSetMembers + 1) {
		id := r.str()
		if id == "" || len(id) > maxMemberBytes {
			r.fail()
			break
		}
		s.Members = append(s.Members, crawl.NodeID(id))
	}
	return s, r.end("in-sync set of a partition")
}

// loadSets reads all records.
func loadSets(snap Snapshot) (map[crawl.Partition]SetRecord, error) {
	sets := map[crawl.Partition]SetRecord{}
	err := eachNodeKey(snap, nodeSets, 2, func(key, value []byte) error {
		p := crawl.Partition(binary.BigEndian.Uint16(key))
		s, err := decodeSet(p, value)
		sets[p] = s
		return err
	})
	return sets, err
}
