package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Set is a set of documents of a segment, a bit each. It is never changed: With makes a new one.
type Set []uint64

// Has reports whether doc is in the set.
func (s Set) Has(doc uint32) bool {
	i := int(doc >> 6)
	return i < len(s) && s[i]&(1<<(doc&63)) != 0
}

// With is the set with more documents; n is the number of documents of the segment.
func (s Set) With(n int, docs ...uint32) Set {
	out := make(Set, (n+63)/64)
	copy(out, s)
	for _, d := range docs {
		out[d>>6] |= 1 << (d & 63)
	}
	return out
}

// gone marks a document that is left out.
const gone = math.MaxUint32

// Input is a segment to be merged, without the deleted documents.
type Input struct {
	Segment *Segment
	Deleted Set
}

// Merge writes one segment that holds what the inputs hold, in their order, to a new file. moved
// says, for each input, where each document is now; Gone when it was left out. When ctx ends, or
// after an error, there is no file.
//
// Segments that are not Exact cannot be merged: their documents must be added anew.
func Merge(ctx context.Context, path string, inputs []Input) (moved [][]uint32, err error) {
	for _, in := range inputs {
		if !in.Segment.Exact() {
			return nil, fmt.Errorf("merge segments: one is of format %d", in.Segment.format)
		}
	}
	w, err := newWriter(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.abandon()
		}
	}()
	n := uint32(0)
	moved = make([][]uint32, len(inputs))
	for i, in := range inputs {
		moved[i] = make([]uint32, in.Segment.n)
		for doc := range moved[i] {
			moved[i][doc] = gone
			if !in.Deleted.Has(uint32(doc)) {
				moved[i][doc] = n
				n++
			}
		}
	}
	if err := mergeStored(ctx, w, inputs); err != nil {
		return nil, err
	}
	mergeCards(w, inputs, n)
	terms, err := mergePostings(ctx, w, inputs, moved)
	if err != nil {
		return nil, err
	}
	w.end()
	w.section(terms)
	words, err := mergeWords(inputs)
	if err != nil {
		return nil, err
	}
	w.section(words)
	return moved, w.finish(int(n))
}

// Gone reports whether Merge left a document out.
func Gone(moved uint32) bool { return moved == gone }

func mergeStored(ctx context.Context, w *writer, inputs []Input) error {
	stored, err := newStoredWriter(w)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		s, blocks := in.Segment, in.Segment.section[secBlocks]
		for i := range len(blocks) / 12 {
			if err := ctx.Err(); err != nil {
				return err
			}
			packed, first := s.packed(i)
			last := uint32(s.n)
			if 12*(i+1) < len(blocks) {
				last = binary.LittleEndian.Uint32(blocks[12*(i+1):])
			}
			if len(packed) > blockBytes/8 && !anyOf(in.Deleted, first, last) {
				stored.copy(packed, last-first)
				continue
			}
			raw, doc, err := s.block(i)
			if err != nil {
				return err
			}
			for ; len(raw) > 0; doc++ {
				var record []byte
				if record, raw, err = cutRecord(raw); err != nil {
					return err
				}
				if !in.Deleted.Has(doc) {
					stored.add(record)
				}
			}
		}
	}
	stored.finish()
	return nil
}

func anyOf(s Set, from, to uint32) bool {
	for doc := from; doc < to; doc++ {
		if s.Has(doc) {
			return true
		}
	}
	return false
}

// mergeCards writes URLs, cards and keys.
func mergeCards(w *writer, inputs []Input, n uint32) {
	each := func(f func(s *Segment, doc uint32)) {
		for _, in := range inputs {
			for doc := range uint32(in.Segment.n) {
				if !in.Deleted.Has(doc) {
					f(in.Segment, doc)
				}
			}
		}
	}
	each(func(s *Segment, doc uint32) { w.write([]byte(s.URL(doc))) })
	w.end()
	end, raw := uint64(0), []byte(nil)
	keys := make([]Key, 0, n)
	each(func(s *Segment, doc uint32) {
		end += uint64(len(s.URL(doc)))
		raw = append(raw[:0], s.card(doc)...)
		binary.LittleEndian.PutUint64(raw[52:], end)
		w.write(raw)
		keys = append(keys, Key(raw[:16]))
	})
	w.end()
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(i, j uint32) int { return bytes.Compare(keys[i][:], keys[j][:]) })
	w.section(appendNumbers(nil, order))
}

// tables walks over the tables of several segments at once, in the order of keys.
type tables struct {
	cursors []cursor
	live    []bool
	key     []byte
}

func newTables(inputs []Input, of func(*Segment) *table) *tables {
	t := &tables{}
	for _, in := range inputs {
		c := cursor{t: of(in.Segment)}
		t.live = append(t.live, c.next())
		t.cursors = append(t.cursors, c)
	}
	return t
}

// next calls f for each segment that has the smallest key left. It is false at the end.
func (t *tables) next(f func(i int, e *entry)) bool {
	found := false
	for i, c := range t.cursors {
		if t.live[i] && (!found || bytes.Compare(c.key, t.key) < 0) {
			t.key, found = append(t.key[:0], c.key...), true
		}
	}
	if !found {
		return false
	}
	for i := range t.cursors {
		if t.live[i] && bytes.Equal(t.cursors[i].key, t.key) {
			f(i, &t.cursors[i].entry)
			t.live[i] = t.cursors[i].next()
		}
	}
	return true
}

func (t *tables) err() error {
	for i := range t.cursors {
		if t.cursors[i].err != nil {
			return t.cursors[i].err
		}
	}
	return nil
}

// mergePostings writes the postings and returns the table of terms.
func mergePostings(
	ctx context.Context,
	w *writer,
	inputs []Input,
	moved [][]uint32,
) ([]byte, error) {
	var terms tableWriter
	var list postingsWriter
	var damaged error
	var from []postingsOf
	all := newTables(inputs, func(s *Segment) *table { return &s.terms })
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		from = from[:0]
		more := all.next(func(i int, e *entry) {
			from = append(from, postingsOf{i, inputs[i].Segment.postings(e), nil})
		})
		if !more {
			break
		}
		if damaged = mergeTerm(&list, string(all.key), from, moved); damaged != nil {
			break
		}
		if list.count == 0 {
			continue
		}
		list.flush()
		w.write(list.out)
		terms.add(all.key, list.count, uint64(len(list.out)))
	}
	if damaged == nil {
		damaged = all.err()
	}
	return terms.finish(), damaged
}

// postingsOf are the postings of a term in an input, and its forms there.
type postingsOf struct {
	input int
	*Postings
	names []string
}

// mergeTerm adds the postings of a term.
func mergeTerm(list *postingsWriter, term string, from []postingsOf, moved [][]uint32) (err error) {
	var forms []string
	for i := range from {
		p := &from[i]
		if p.err != nil {
			return p.err
		}
		if p.names, err = cutForms(p.forms, p.word); err != nil {
			return err
		}
		if i == 0 || !slices.Equal(forms, p.names) {
			forms = append(forms, p.names...)
			slices.Sort(forms)
			forms = slices.Compact(forms)
		}
	}
	list.begin(term, forms)
	var coded []byte
	for i := range from {
		p := &from[i]
		numbers := renumber(p.names, forms)
		for p.Next() {
			if doc := moved[p.input][p.Doc()]; doc != gone {
				coded = p.recode(coded[:0], numbers)
				list.add(doc, p.Impact(), p.Mask(), coded)
			}
		}
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

// mergeWords adds up the tables of words. Those of deleted documents stay counted: the numbers only
// serve to order suggestions.
func mergeWords(inputs []Input) ([]byte, error) {
	var words tableWriter
	all := newTables(inputs, func(s *Segment) *table { return &s.words })
	for {
		count := uint64(0)
		if !all.next(func(_ int, e *entry) { count += e.count }) {
			return words.finish(), all.err()
		}
		words.add(all.key, count, 0)
	}
}
