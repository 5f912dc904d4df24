package commit

import (
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// budget bounds what goes into one transaction. A group is closed when it has
// grown beyond its share; the last request in it may add as much as one
// request may have, and both together stay below the store's limits.
type budget struct {
	groupEntries, groupBytes int // a group is closed when it has as much
	links, linkBytes         int // what one request may add
	maxEntries, maxBytes     int // the store's own limits
}

// budgetOf shares out a transaction. A new link costs five entries at most:
// record, queue entry, host, the wake entry, and the one that it replaces; with a text one more. A
// known one with a text costs four: the texts, and three for the document.
func budgetOf(l storage.Limits) budget {
	return budget{
		groupEntries: min(8_000, l.Entries/4), groupBytes: min(1<<20, l.Bytes/4),
		links: min(5_000, l.Entries/8), linkBytes: min(1<<20, l.Bytes/4),
		maxEntries: l.Entries, maxBytes: l.Bytes,
	}
}

// linkCost is what a link adds to a transaction at most, in bytes: its record
// and its queue entry hold the URL, the host, and maybe the page on which it was found. With a text
// it writes the texts of the URL's links, and that its document has changed.
func linkCost(r *crawl.Routed) int {
	n := 4*len(r.Target.URL.String()) + 2*len(r.Target.From) + 400
	if r.Target.Anchor != "" {
		n += layout.MaxAnchorsBytes + len(r.Target.URL.String()) + 200
	}
	return n
}

// Cut returns how many of the links, one at least, fit into one request.
func (b *budget) Cut(links []crawl.Routed) int {
	size := 0
	for i := range links {
		size += linkCost(&links[i])
		if i > 0 && (size > b.linkBytes || i >= b.links) {
			return i
		}
	}
	return len(links)
}

// Fits reports whether all these links fit into one request.
func (b *budget) Fits(own, outbox []crawl.Routed) bool {
	size := 0
	for _, links := range [...][]crawl.Routed{own, outbox} {
		for i := range links {
			size += linkCost(&links[i])
		}
	}
	return len(own)+len(outbox) == 0 || len(own)+len(outbox) <= b.links && size <= b.linkBytes
}

// CutMutations returns how many of the mutations, one at least, go into one
// request, and what they come to.
func (b *budget) CutMutations(ms []crawl.CopyMutation) (n, entries, size int) {
	for i := range ms {
		bytes := SizeOf(&ms[i].Mutation)
		if i > 0 && (entries+len(ms[i].Entries) > b.groupEntries || size+bytes > b.groupBytes) {
			return i, entries, size
		}
		entries += len(ms[i].Entries)
		size += bytes
	}
	return len(ms), entries, size
}

// SizeOf is what a mutation costs in a transaction, in bytes.
func SizeOf(m *crawl.Mutation) (n int) {
	for i := range m.Entries {
		n += layout.PrefixLen + len(m.Entries[i].Key) + len(m.Entries[i].Value)
	}
	return n
}

// Check judges a mutation from another node, and sets meta to what it makes of the
// partition's books. It was one transaction there, with the same limits.
func (b *budget) Check(m *crawl.Mutation, meta *layout.MetaEntry) error {
	found := false
	for i := range m.Entries {
		e := &m.Entries[i]
		if len(e.Key) == 0 || len(e.Key) > MaxKeyBytes {
			return fmt.Errorf("%w: a key of %d bytes", layout.ErrCorrupt, len(e.Key))
		}
		if layout.IsMeta(e.Key) {
			if err := meta.Decode(e.Value); err != nil {
				return err
			}
			found = true
		}
	}
	if n := SizeOf(m); len(m.Entries) > b.maxEntries || n > b.maxBytes {
		return fmt.Errorf("%w: mutation %d with %d entries, %d bytes", storage.ErrTooBig, m.Seq,
			len(m.Entries), n)
	}
	if !found || meta.Seq != m.Seq {
		return fmt.Errorf("%w: mutation %d says that it is %d", layout.ErrCorrupt, m.Seq, meta.Seq)
	}
	return nil
}

// MaxKeyBytes is far above the longest key: a URL has 2,083 bytes at most.
const MaxKeyBytes = 4096

// CutEntries returns how many of the entries, one at least, fit into one
// request.
func (b *budget) CutEntries(entries []storage.Entry) (int, error) {
	size := 0
	for n, e := range entries {
		switch {
		case len(e.Key) == 0 || len(e.Key) > MaxKeyBytes:
			return 0, fmt.Errorf("%w: a key of %d bytes", layout.ErrCorrupt, len(e.Key))
		case len(e.Value) > b.maxBytes/2:
			return 0, fmt.Errorf("%w: a value of %d bytes", layout.ErrCorrupt, len(e.Value))
		}
		size += layout.PrefixLen + len(e.Key) + len(e.Value)
		if n > 0 && (size > b.linkBytes || n >= b.groupEntries) {
			return n, nil
		}
	}
	return len(entries), nil
}
