package commit

import (
	"fmt"
	"slices"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// Metas returns all partitions that this node knows, by number.
func (w *Writer) Metas() []layout.Meta {
	w.mu.Lock()
	out := make([]layout.Meta, 0, len(w.metas))
	for _, m := range w.metas {
		out = append(out, m.Meta)
	}
	w.mu.Unlock()
	slices.SortFunc(out, func(a, b layout.Meta) int { return int(a.Partition) - int(b.Partition) })
	return out
}

// Walk calls fn with each partition that this node knows, in no order, until it
// returns false. Unlike Metas it copies nothing: fn must be quick, must not
// call the frontier, and must not keep or change what it gets.
func (w *Writer) Walk(fn func(m *layout.Meta) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.metas {
		if !fn(&m.Meta) {
			return
		}
	}
}

// Meta returns one partition; ok is false when this node never had it.
func (w *Writer) Meta(p crawl.Partition) (m layout.Meta, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.metas[p]; known != nil {
		return known.Meta, true
	}
	return layout.Meta{}, false
}

// Held returns a partition that is held here, with its timeline; else ErrNotHolder.
func (w *Writer) Held(p crawl.Partition) (layout.Meta, layout.Timeline, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.metas[p]; m != nil && m.State == layout.Holder {
		return m.Meta, m.line, nil
	}
	return layout.Meta{}, layout.Timeline{}, fmt.Errorf("%w: partition %d", ErrNotHolder, p)
}

// Totals sums the counters of the held partitions. They are kept as things happen.
func (w *Writer) Totals() crawl.Counters {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.totals
}

// Copies counts the partitions of which this node keeps a copy for another one.
func (w *Writer) Copies() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.copies
}

// shown is what readers see of a partition.
type shown struct {
	layout.Meta
	line layout.Timeline
}

// showLocked shows what a partition has become.
func (w *Writer) showLocked(m *layout.PartState) {
	place := w.metas[m.Partition]
	if place == nil {
		place = new(shown)
		w.metas[m.Partition] = place
	}
	switch place.State {
	case layout.Holder:
		w.totals.Minus(&place.Counters)
	case layout.Copy:
		w.copies--
	}
	switch m.State {
	case layout.Holder:
		w.totals.Plus(&m.Counters)
	case layout.Copy:
		w.copies++
	}
	*place = shown{m.Meta, m.Line}
}

// Sync returns when all that was acknowledged survives a loss of power.
func (w *Writer) Sync() error { return w.KV.Sync() }

// Read opens a snapshot for a caller's own goroutine, and finds the prefix of
// the partition's keys. It fails with ErrNotHolder when it has none here.
func (w *Writer) Read(p crawl.Partition) (*reader.Partition, error) {
	var m shown
	w.mu.Lock()
	if known := w.metas[p]; known != nil {
		m = *known
	}
	w.mu.Unlock()
	if m.State == layout.Absent {
		return nil, fmt.Errorf("%w: partition %d", ErrNotHolder, p)
	}
	snap, err := w.KV.Snapshot()
	if err != nil {
		return nil, err
	}
	return &reader.Partition{
		Snapshot:   snap,
		Generation: layout.Generation{Partition: p, Number: m.Generation},
		Line:       m.line,
	}, nil
}

// Sets returns this node's records, by partition.
func (w *Writer) Sets() []layout.SetRecord {
	w.mu.Lock()
	out := make([]layout.SetRecord, 0, len(w.sets))
	for _, r := range w.sets {
		out = append(out, r)
	}
	w.mu.Unlock()
	slices.SortFunc(out,
		func(a, b layout.SetRecord) int { return int(a.Partition) - int(b.Partition) })
	return out
}

// Set returns this node's record of one partition.
func (w *Writer) Set(p crawl.Partition) (r layout.SetRecord, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok = w.sets[p]
	return r, ok
}
