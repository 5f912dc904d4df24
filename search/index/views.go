package index

import (
	"encoding/binary"
	"sync"

	"crawlnode/search/segment"
)

// partitionSet are the partitions that count (decision 0237); nil means all. Equal sets have equal
// keys.
type partitionSet struct {
	bits []uint64
	key  string // bits, to tell sets apart
}

// maxPartition bounds the memory of a partitionSet, whatever another node asks for.
const maxPartition = 1 << 20

// newPartitionSet makes the set of partitions; of nil it is nil.
func newPartitionSet(partitions []uint32) *partitionSet {
	if partitions == nil {
		return nil
	}
	h := &partitionSet{}
	most := uint32(0)
	for _, p := range partitions {
		if p < maxPartition {
			most = max(most, p)
		}
	}
	h.bits = make([]uint64, most/64+1)
	for _, p := range partitions {
		if p < maxPartition {
			h.bits[p/64] |= 1 << (p % 64)
		}
	}
	key := make([]byte, 0, 8*len(h.bits))
	for _, b := range h.bits {
		key = binary.LittleEndian.AppendUint64(key, b)
	}
	h.key = string(key)
	return h
}

// has reports whether a partition counts.
func (h *partitionSet) has(partition uint32) bool {
	return int(partition/64) < len(h.bits) && h.bits[partition/64]&(1<<(partition%64)) != 0
}

// mostViews is how many views of a segment are kept: a node answers for the same partitions as long
// as the view of the cluster stays.
const mostViews = 4

// views remember which documents of a segment are of the partitions of a question: a bit a
// document, in place of a card of 64 bytes for each one that has a word. They may be used by
// several goroutines.
type views struct {
	mu sync.Mutex // held while a view is made, so that two questions do not make it twice
	of []view     // the one that was used last is the last one
}

type view struct {
	key  string
	docs segment.Set
}

// docs are the documents of a segment, deleted ones among them, that are of the partitions.
func (v *views) docs(seg *segment.Segment, held *partitionSet) segment.Set {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, known := range v.of {
		if known.key == held.key {
			v.of = append(append(v.of[:i], v.of[i+1:]...), known)
			return known.docs
		}
	}
	docs := make(segment.Set, (seg.Len()+63)/64)
	for doc := range uint32(seg.Len()) {
		if held.has(seg.Partition(doc)) {
			docs[doc/64] |= 1 << (doc % 64)
		}
	}
	if len(v.of) == mostViews {
		v.of = append(v.of[:0], v.of[1:]...)
	}
	v.of = append(v.of, view{held.key, docs})
	return docs
}
