package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sort"
)

// tableBlock is the number of entries of a block of a table.
const tableBlock = 32

// entry is an entry of a table: a key, the number of documents that have it, and, for terms, where
// its postings are.
type entry struct {
	key   []byte
	count uint64
	from  uint64
	size  uint64
}

// tableWriter writes a table: keys must come in order. A block is uvarint offset of its first
// postings, then for each entry: uvarint bytes in common with the key before, uvarint further
// bytes, those, uvarint count, uvarint size. After the blocks come their offsets, 4 bytes each, and
// their number.
type tableWriter struct {
	out    []byte
	blocks []uint32
	n      int
	last   []byte
	from   uint64 // where the postings of the next entry are
}

func (w *tableWriter) add(key []byte, count, size uint64) {
	shared := 0
	if w.n%tableBlock == 0 {
		w.blocks = append(w.blocks, uint32(len(w.out)))
		w.out = binary.AppendUvarint(w.out, w.from)
	} else {
		for shared < len(key) && shared < len(w.last) && key[shared] == w.last[shared] {
			shared++
		}
	}
	w.out = binary.AppendUvarint(w.out, uint64(shared))
	w.out = binary.AppendUvarint(w.out, uint64(len(key)-shared))
	w.out = append(w.out, key[shared:]...)
	w.out = binary.AppendUvarint(w.out, count)
	w.out = binary.AppendUvarint(w.out, size)
	w.last = append(w.last[:0], key...)
	w.from += size
	w.n++
}

func (w *tableWriter) finish() []byte {
	for _, b := range w.blocks {
		w.out = binary.LittleEndian.AppendUint32(w.out, b)
	}
	return binary.LittleEndian.AppendUint32(w.out, uint32(len(w.blocks)))
}

var errTable = errors.New("a table is damaged")

// table reads what a tableWriter wrote.
type table struct {
	data   []byte
	blocks int
	starts []byte // 4 bytes for each block
}

func openTable(raw []byte) (table, error) {
	if len(raw) < 4 {
		return table{}, errTable
	}
	n := int(binary.LittleEndian.Uint32(raw[len(raw)-4:]))
	if n > (len(raw)-4)/4 {
		return table{}, errTable
	}
	end := len(raw) - 4 - 4*n
	return table{data: raw[:end], blocks: n, starts: raw[end : len(raw)-4]}, nil
}

// cursor walks over a table.
type cursor struct {
	t     *table
	block int    // of the next entry, if rest is empty: the next block
	rest  []byte // of the current block
	entry
	held bool // next stays where it is, once
	err  error
}

func (t *table) block(i int) []byte {
	from := int(binary.LittleEndian.Uint32(t.starts[4*i:]))
	to := len(t.data)
	if i+1 < t.blocks {
		to = int(binary.LittleEndian.Uint32(t.starts[4*i+4:]))
	}
	if from > to || to > len(t.data) {
		return nil
	}
	return t.data[from:to]
}

// first is the first key of a block.
func (t *table) first(i int) []byte {
	b := t.block(i)
	_, n := binary.Uvarint(b)
	if n <= 0 {
		return nil
	}
	b = b[n:]
	_, n = binary.Uvarint(b)
	if n <= 0 {
		return nil
	}
	size, m := binary.Uvarint(b[n:])
	if m <= 0 || uint64(len(b)-n-m) < size {
		return nil
	}
	return b[n+m : n+m+int(size)]
}

// seek returns a cursor whose next entry is the first one that is not before key.
func (t *table) seek(key []byte) cursor {
	i := sort.Search(t.blocks, func(i int) bool { return bytes.Compare(t.first(i), key) > 0 })
	c := cursor{t: t, block: max(0, i-1)}
	for c.next() {
		if bytes.Compare(c.key, key) >= 0 {
			c.held = true
			break
		}
	}
	return c
}

// next moves to the next entry.
func (c *cursor) next() bool {
	if c.held {
		c.held = false
		return true
	}
	if len(c.rest) == 0 {
		if c.block >= c.t.blocks {
			return false
		}
		c.rest = c.t.block(c.block)
		c.block++
		c.key, c.size = c.key[:0], 0
		c.from = c.uvarint()
	}
	c.from += c.size
	shared, size := c.uvarint(), c.uvarint()
	if c.err != nil || shared > uint64(len(c.key)) || size > uint64(len(c.rest)) {
		c.err, c.rest, c.block = errTable, nil, c.t.blocks
		return false
	}
	c.key = append(c.key[:shared], c.rest[:size]...)
	c.rest = c.rest[size:]
	c.count, c.size = c.uvarint(), c.uvarint()
	return c.err == nil
}

func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.err = errTable
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

// skip moves on to the first entry that is not before key, if that is in a later block; else it
// stays where it is.
func (c *cursor) skip(key []byte) {
	if c.block < c.t.blocks && bytes.Compare(c.t.first(c.block), key) <= 0 {
		*c = c.t.seek(key)
	}
}

// find returns the entry of a key.
func (t *table) find(key []byte) (entry, bool) {
	c := t.seek(key)
	if c.next() && bytes.Equal(c.key, key) {
		return c.entry, true
	}
	return entry{}, false
}
