package commit

import (
	"fmt"
	"slices"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// Metas returns all partitions that this node knows, by number.
func (f *Writer) Metas() []layout.Meta {
	f.mu.Lock()
	out := make([]layout.Meta, 0, len(f.metas))
	for _, m := range f.metas {
		out = append(out, m.Meta)
	}
	f.mu.Unlock()
	slices.SortFunc(out, func(a, b layout.Meta) int { return int(a.Partition) - int(b.Partition) })
	return out
}

// Walk calls fn with each partition that this node knows, in no order, until it
// returns false. Unlike Metas it copies nothing: fn must be quick, must not
// call the frontier, and must not keep or change what it gets.
func (f *Writer) Walk(fn func(m *layout.Meta) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.metas {
		if !fn(&m.Meta) {
			return
		}
	}
}

// Meta returns one partition; ok is false when this node never had it.
func (f *Writer) Meta(p crawl.Partition) (m layout.Meta, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.metas[p]; known != nil {
		return known.Meta, true
	}
	return layout.Meta{}, false
}

// Totals sums the counters of the held partitions. They are kept as things happen.
func (f *Writer) Totals() crawl.Counters {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.totals
}

// shown is what readers see of a partition.
type shown struct {
	layout.Meta
	line layout.Timeline
}

// showLocked shows what a partition has become.
func (f *Writer) showLocked(m *layout.PartState) {
	place := f.metas[m.Partition]
	if place == nil {
		place = new(shown)
		f.metas[m.Partition] = place
	}
	if place.State == layout.Holder {
		f.totals.Minus(&place.Counters)
	}
	if m.State == layout.Holder {
		f.totals.Plus(&m.Counters)
	}
	*place = shown{m.Meta, m.Line}
}

// Sync returns when all that was acknowledged survives a loss of power.
func (f *Writer) Sync() error { return f.KV.Sync() }

// Read opens a snapshot for a caller's own goroutine, and finds the prefix of
// the partition's keys. It fails with ErrNotHolder when it has none here.
func (f *Writer) Read(p crawl.Partition) (*reader.Partition, error) {
	var m shown
	f.mu.Lock()
	if known := f.metas[p]; known != nil {
		m = *known
	}
	f.mu.Unlock()
	if m.State == layout.Absent {
		return nil, fmt.Errorf("%w: partition %d", ErrNotHolder, p)
	}
	snap, err := f.KV.Snapshot()
	if err != nil {
		return nil, err
	}
	return &reader.Partition{Snapshot: snap, Generation: layout.Generation{Partition: p, Number: m.Generation}, Line: m.line}, nil
}

// Sets returns this node's records, by partition.
func (f *Writer) Sets() []layout.SetRecord {
	f.mu.Lock()
	out := make([]layout.SetRecord, 0, len(f.sets))
	for _, r := range f.sets {
		out = append(out, r)
	}
	f.mu.Unlock()
	slices.SortFunc(out, func(a, b layout.SetRecord) int { return int(a.Partition) - int(b.Partition) })
	return out
}

// Set returns this node's record of one partition.
func (f *Writer) Set(p crawl.Partition) (r layout.SetRecord, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok = f.sets[p]
	return r, ok
}
