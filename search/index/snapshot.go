package index

import (
	"maps"
	"sync/atomic"

	"crawlnode/search/segment"
)

// part is a segment and what is deleted of it. A part is never changed: a deletion makes another
// one of the same segment.
type part struct {
	file       *shared
	number     uint64
	seg        *segment.Segment
	deleted    segment.Set
	live       int
	partitions map[uint32]int64 // documents that are not deleted
}

// shared is an open segment and the number of snapshots and merges that use it.
type shared struct {
	seg   *segment.Segment
	uses  atomic.Int64
	views views
}

func (s *shared) release() {
	if s.uses.Add(-1) == 0 {
		_ = s.seg.Close() // nothing was written through it
	}
}

func newPart(seg *segment.Segment, number uint64, deleted segment.Set) *part {
	p := &part{
		file:       &shared{seg: seg},
		number:     number,
		seg:        seg,
		deleted:    deleted,
		partitions: map[uint32]int64{},
	}
	for doc := range uint32(seg.Len()) {
		if !deleted.Has(doc) {
			p.partitions[seg.Partition(doc)]++
			p.live++
		}
	}
	return p
}

// without is the part with more deleted documents, which must be alive, each once.
func (p *part) without(docs []uint32) *part {
	if len(docs) == 0 {
		return p
	}
	next := *p
	next.deleted = p.deleted.With(p.seg.Len(), docs...)
	next.live -= len(docs)
	next.partitions = maps.Clone(p.partitions)
	for _, doc := range docs {
		partition := p.seg.Partition(doc)
		if next.partitions[partition]--; next.partitions[partition] == 0 {
			delete(next.partitions, partition)
		}
	}
	return &next
}

// snapshot is the index at one moment. It is used between Index.snapshot and release.
type snapshot struct {
	parts []*part
	uses  atomic.Int64
}

func newSnapshot(parts []*part) *snapshot {
	for _, p := range parts {
		p.file.uses.Add(1)
	}
	s := &snapshot{parts: parts}
	s.uses.Add(1)
	return s
}

// release ends a use; the last one releases the segments.
func (s *snapshot) release() {
	if s.uses.Add(-1) == 0 {
		for _, p := range s.parts {
			p.file.release()
		}
	}
}

// find returns the live document with a key.
func (s *snapshot) find(k segment.Key) (p *part, doc uint32, ok bool) {
	for _, p := range s.parts {
		if doc, ok := p.seg.Find(k); ok && !p.deleted.Has(doc) {
			return p, doc, true
		}
	}
	return nil, 0, false
}

// documents is the number of live documents, and of those that segments have.
func (s *snapshot) documents() (live, all int64) {
	for _, p := range s.parts {
		live += int64(p.live)
		all += int64(p.seg.Len())
	}
	return live, all
}
