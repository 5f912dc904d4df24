package frontier

import (
	"bytes"
	"sync"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
)

// Pages leave the front of the table of due pages, and their deleted keys stay until the store
// compacts: a reader that began at the front would walk over all of them, each time. So for each
// held partition the place is kept below which nothing is, and what is planned below it moves it
// back.

// dueHeads has the heads of the held partitions. The writer tells it what was committed, readers
// what they found. It may be used by many goroutines; a dueLook belongs to one.
type dueHeads struct {
	mu    sync.Mutex // guards the rest
	parts map[crawl.Partition]*dueHead
}

// head is what is known of the first due page of one partition.
type dueHead struct {
	gen layout.Generation
	// from is a relative key: no live one is below it. nil: nothing is known.
	from []byte
	// exact: from is the first live key, or, with none, there is no live key.
	exact, none bool
	// While readers look, what changes meanwhile may be missing in their snapshots.
	readers int
	changed bool
	low     []byte // the lowest key that was put since the first of them began; nil: none
}

// of returns the head of a generation, made anew when it is of another one. h.mu is locked.
func (h *dueHeads) of(gen layout.Generation) *dueHead {
	d := h.parts[gen.Partition]
	if d == nil || d.gen != gen {
		if h.parts == nil {
			h.parts = map[crawl.Partition]*dueHead{}
		}
		d = &dueHead{gen: gen}
		h.parts[gen.Partition] = d
	}
	return d
}

// put notes a page that is due, by its relative key, after the commit. It keeps the key.
func (h *dueHeads) put(gen layout.Generation, key []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.of(gen)
	if d.readers > 0 {
		d.changed = true
		if d.low == nil || bytes.Compare(key, d.low) < 0 {
			d.low = key
		}
	}
	switch {
	case d.none:
		d.from, d.exact, d.none = key, true, false
	case d.from != nil && bytes.Compare(key, d.from) < 0:
		d.from, d.exact = key, true
	}
}

// del notes that a page has left its place, after the commit.
func (h *dueHeads) del(gen layout.Generation, place layout.DueSlot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.of(gen)
	d.changed = d.readers > 0
	if d.exact && !d.none && bytes.Equal(d.from, layout.AppendDueKey(nil, &place)) {
		d.exact = false
	}
}

// forget drops what is known of a partition: it changes behind the writer's back from now on, or
// did so until now.
func (h *dueHeads) forget(p crawl.Partition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.parts, p)
}

// known returns the first live key without a read. ok is false when it is not known; nil: there is
// none.
func (h *dueHeads) known(gen layout.Generation) (first []byte, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.of(gen)
	switch {
	case d.none:
		return nil, true
	case d.exact:
		return d.from, true
	}
	return nil, false
}

// dueLook is a read of the front of the table.
type dueLook struct {
	heads *dueHeads
	head  *dueHead
	from  []byte // the relative key where to begin; nil: at the front
}

// begin is called before the snapshot is opened.
func (h *dueHeads) begin(gen layout.Generation) dueLook {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.of(gen)
	if d.readers == 0 {
		d.changed, d.low = false, nil
	}
	d.readers++
	return dueLook{h, d, d.from}
}

// end notes the first live key that was found; nil: there is none. found is false when the read
// failed.
func (r *dueLook) end(first []byte, found bool) {
	r.heads.mu.Lock()
	defer r.heads.mu.Unlock()
	d := r.head
	d.readers--
	if !found {
		return
	}
	if !d.changed {
		d.from, d.exact, d.none = first, first != nil, first == nil
		return
	}
	// Nothing below first was live, but for what was put meanwhile.
	if d.low != nil && (first == nil || bytes.Compare(d.low, first) < 0) {
		first = d.low
	}
	if first == nil || d.from != nil && bytes.Compare(first, d.from) <= 0 {
		return
	}
	d.from, d.exact = first, false
}
