package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"crawlnode/local/files"
	"crawlnode/search/segment"
)

const (
	// mergeAt is how many segments of about one size are merged into one, mergeMost how many at the
	// most.
	mergeAt, mergeMost = 8, 16
	// smallest is the size up to which segments are all of the first class; the next classes
	// are each mergeAt times as large.
	smallest = 128
)

// mergeLoop merges until ctx ends.
func (x *Index) mergeLoop(ctx context.Context) {
	defer close(x.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.wake:
		}
		for ctx.Err() == nil {
			more, err := x.mergeSome(ctx)
			if !more && err == nil {
				more, err = x.renewOne(ctx)
			}
			if err != nil && ctx.Err() == nil {
				x.log.Warn("the index cannot merge its segments and tries again after the next change", "error",
					err)
			}
			if !more || err != nil {
				break
			}
		}
	}
}

// mergeSome merges one class of segments, if one has enough. It reports whether it did.
func (x *Index) mergeSome(ctx context.Context) (bool, error) {
	s := x.snapshot()
	defer s.release()
	from := toMerge(s.parts)
	if len(from) == 0 {
		return false, nil
	}
	if err := x.take(ctx); err != nil {
		return false, err
	}
	number := x.next
	x.next++
	x.give()
	inputs := make([]segment.Input, len(from))
	for i, p := range from {
		inputs[i] = segment.Input{Segment: p.seg, Deleted: p.deleted}
	}
	path := segmentPath(x.dir, number)
	moved, err := segment.Merge(ctx, path, inputs)
	if err != nil {
		return false, fmt.Errorf("merge %d segments: %w", len(from), err)
	}
	if err := files.SyncDir(x.dir); err != nil {
		return false, err
	}
	seg, err := segment.Open(path)
	if err != nil {
		return false, err
	}
	if err := x.take(ctx); err != nil {
		return false, err
	}
	defer x.give()
	return true, x.publish(merged(x.now.parts, from, moved, newPart(seg, number, nil)))
}

// merged are the parts with one in the place of others; what was deleted of those since the merge
// began is deleted of it.
func merged(now, from []*part, moved [][]uint32, into *part) []*part {
	var out []*part
	left := map[uint64]*part{}
	for _, p := range now {
		if slices.ContainsFunc(from, func(f *part) bool { return f.number == p.number }) {
			left[p.number] = p
		} else {
			out = append(out, p)
		}
	}
	var docs []uint32
	for i, f := range from {
		p := left[f.number]
		for doc, to := range moved[i] {
			if !segment.Gone(to) && (p == nil || p.deleted.Has(uint32(doc))) {
				docs = append(docs, to)
			}
		}
	}
	if into = into.without(docs); into.live > 0 {
		out = append(out, into)
	}
	return out
}

// toMerge chooses the parts of the smallest class that has enough; else one that is half deleted.
func toMerge(parts []*part) []*part {
	classes := map[int][]*part{}
	for _, p := range parts {
		if !p.seg.Exact() {
			continue // renewOne makes another of it
		}
		class, limit := 0, smallest
		for p.live > limit {
			class, limit = class+1, limit*mergeAt
		}
		classes[class] = append(classes[class], p)
	}
	for class := range 12 {
		if of := classes[class]; len(of) >= mergeAt {
			slices.SortStableFunc(of, func(a, b *part) int { return cmp.Compare(a.live, b.live) })
			return of[:min(len(of), mergeMost)]
		}
	}
	for _, p := range parts {
		if p.seg.Exact() && 2*p.live < p.seg.Len() {
			return []*part{p}
		}
	}
	return nil
}
