package commit

import (
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
)

// bookSlots is what the writer knows of the slots of books (layout/books.go).
type bookSlots struct {
	next int // the slot that is written next
	// in has, for each slot, the partitions whose books were written into it. Those whose newest books
	// are there say so themselves (Partition.slot).
	in [layout.BooksSlots][]layout.Generation
}

// leastInSlot is the number of partitions from which on a commit puts their books into a slot. The
// books of few do not pay for the entry of the slot.
const leastInSlot = 3

// restore takes over what a start has found in a slot.
func (b *bookSlots) restore(p *Partition, found reader.Books) {
	gen := layout.Generation{Partition: p.PartState.Partition, Number: p.Generation}
	if s, ok := found[gen]; ok {
		p.slot, p.books = s.Slot+1, s.Entry
		b.in[s.Slot] = append(b.in[s.Slot], gen)
	}
}

// Books is the partition's meta entry while it stands in a slot; nil: the one under the partition's
// own key is the newest.
func (p *Partition) Books() []byte { return p.books }

// writeBooks adds the books of the changed partitions to the group's entries: to a slot, if those
// that it has are moved away within the same write. On a full disk, while they are few, and where a
// partition's state changes, they go under the partitions' own keys.
func (g *Group) writeBooks(full bool) {
	in, size := g.slotted()
	if !full && len(in) >= leastInSlot {
		g.writeSlot(in, size)
	}
	for _, pg := range g.order {
		if pg.books.Key != nil && pg.slot == 0 {
			g.entries = append(g.entries, pg.books)
		}
	}
}

// slotted lists the partitions whose books may go into a slot, and the size of its value.
func (g *Group) slotted() (in []*Part, size int) {
	size = 1
	for _, pg := range g.order {
		n := layout.PrefixLen + 3 + len(pg.books.Value)
		if pg.books.Key != nil && !pg.Restated && size+n <= layout.BooksBytes {
			in = append(in, pg)
			size += n
		}
	}
	return in, size
}

// writeSlot puts books into the next slot, unless the write has no room for what must move.
func (g *Group) writeSlot(in []*Part, size int) {
	slots, b := &g.Writer.slots, &g.Writer.Budget
	slot := slots.next
	moves, n := g.moves(slot)
	if len(g.entries)+len(moves)+len(g.order) > b.maxEntries || g.size+size+n > b.maxBytes*3/4 {
		return
	}
	value := make([]byte, 0, size) // partitions share it
	gens := make([]layout.Generation, len(in))
	for i, pg := range in {
		gens[i] = pg.Gen()
		value = layout.AppendBooks(value, gens[i], pg.books.Value)
		pg.slot, pg.books.Value = slot+1, value[len(value)-len(pg.books.Value):len(value):len(value)]
	}
	g.entries = append(append(g.entries, moves...),
		storage.Entry{Key: layout.BooksKey(slot), Value: value})
	g.Then(func() { slots.in[slot], slots.next = gens, (slot+1)%layout.BooksSlots })
}

// moves are the entries that a slot leaves behind under the partitions' own keys: the newest
// books of those that have not changed since, save of those that change in this group.
func (g *Group) moves(slot int) (entries []storage.Entry, size int) {
	for _, gen := range g.Writer.slots.in[slot] {
		p := g.Writer.parts[gen.Partition]
		if p == nil || p.slot != slot+1 || p.Generation != gen.Number {
			continue
		}
		if pg := g.parts[gen.Partition]; pg != nil &&
			(pg.books.Key != nil || pg.State.Generation != gen.Number) {
			continue
		}
		key := append(layout.AppendPrefix(nil, gen.Partition, gen.Number), layout.MetaKey...)
		entries = append(entries, storage.Entry{Key: key, Value: p.books})
		size += len(key) + len(p.books)
	}
	return entries, size
}

// keepBooks notes where the partition's newest books are, once the group is committed.
func (pg *Part) keepBooks() {
	switch {
	case pg.State.Generation != pg.Live.Generation:
		pg.Live.slot, pg.Live.books = 0, nil
	case pg.books.Key != nil && pg.slot == 0:
		pg.Live.slot, pg.Live.books = 0, nil
	case pg.books.Key != nil:
		pg.Live.slot, pg.Live.books = pg.slot, pg.books.Value
	}
}
