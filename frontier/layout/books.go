package layout

import (
	"encoding/binary"
	"fmt"

	"crawlnode/crawl"
)

// The books of partitions, which are their meta entries, change with every mutation, and one commit
// changes many partitions. So the books of a commit stand together in one entry of the node's own
// range, a slot, of which there are BooksSlots. They are written in turn. A partition's books are
// those with the highest sequence number of what its own key and the slots have for its generation:
// before a slot is written anew, or together with that, the books that are nowhere else move to
// their partitions' own keys.
const (
	// BooksSlots is the number of slots. With a hundred and more, few partitions of a busy node go so
	// long without a mutation that their books must move.
	BooksSlots = 128
	// BooksBytes bounds a slot's value, and so the slots of a node to 6 MiB; they are kept in memory
	// as well. A busy node of a thousand partitions has some 3 KB in a slot.
	BooksBytes = 48 << 10
)

// BooksKey is the absolute key of a slot.
func BooksKey(slot int) []byte { return NodeKey(NodeBooks, byte(slot)) }

// AppendBooks appends a partition's books, a meta entry, to the value of a slot; an empty b begins
// one.
//
//	version, for each partition: partition (2), generation (4), u length, meta entry
func AppendBooks(b []byte, g Generation, entry []byte) []byte {
	if len(b) == 0 {
		b = append(b, FormatVersion)
	}
	b = AppendPrefix(b, g.Partition, g.Number)
	b = binary.AppendUvarint(b, uint64(len(entry)))
	return append(b, entry...)
}

// EachBooks calls do with what AppendBooks has written. The entries share memory with b.
func EachBooks(b []byte, do func(g Generation, entry []byte)) error {
	r := newDecoder(b)
	for len(r.b) > 0 {
		prefix := r.take(PrefixLen)
		entry := r.take(r.u())
		if r.bad {
			break
		}
		do(GenerationOf(prefix), entry)
	}
	return r.end("books of partitions")
}

// GenerationOf reads what AppendPrefix has written: the first PrefixLen bytes of a key.
func GenerationOf(key []byte) Generation {
	if len(key) < PrefixLen {
		panic(fmt.Sprintf("BUG: a key of %d bytes", len(key)))
	}
	return Generation{
		Partition: crawl.Partition(binary.BigEndian.Uint16(key)),
		Number:    binary.BigEndian.Uint32(key[2:]),
	}
}
