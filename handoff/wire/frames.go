package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// The messages of a stream to a replica and back. Numbers are unsigned varints,
// bytes have their length in front; the value of an entry has its length plus one,
// 0 is a deletion.
//
//	'h' boot                                        hello, first
//	'b' partition epoch                             a snapshot begins
//	's' partition epoch                             the same, of one that was asked for
//	'c' entries...                                  a part of it
//	'e'                                             it is complete
//	'g' id, then partition epoch seq count entries  mutations, each of one partition
//	'd' partition ok                                answer to 'e'
//	'a' id, then partitions...                      answer to 'g': those that were not stored
const (
	FrameHello = 'h'
	FrameBegin = 'b'
	FrameAsked = 's'
	FrameChunk = 'c'
	FrameEnd   = 'e'
	FrameGroup = 'g'
	FrameDone  = 'd'
	FrameAck   = 'a'
)

// ErrFrame means that the bytes of a peer are no message.
var ErrFrame = errors.New("handoff: a peer sent bytes that are no message of a copy")

// Stream carries messages both ways, in order. One goroutine may send while
// another receives.
type Stream interface {
	Send([]byte) error
	Recv() ([]byte, error)
	Close()
}

// AppendEntry appends an entry.
func AppendEntry(b []byte, e *crawl.Entry) []byte {
	b = binary.AppendUvarint(b, uint64(len(e.Key)))
	b = append(b, e.Key...)
	if len(e.Value) == 0 {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Value))+1)
	return append(b, e.Value...)
}

// AppendMutation appends a mutation of a partition.
func AppendMutation(b []byte, p crawl.Partition, m *crawl.Mutation) []byte {
	b = binary.AppendUvarint(b, uint64(p))
	b = binary.AppendUvarint(b, uint64(m.Epoch))
	b = binary.AppendUvarint(b, uint64(m.Seq))
	b = binary.AppendUvarint(b, uint64(len(m.Entries)))
	for i := range m.Entries {
		b = AppendEntry(b, &m.Entries[i])
	}
	return b
}

// Reader takes a message apart. The first fault stays, and End reports it; what is
// read after a fault is zero.
type Reader struct {
	b    []byte
	bad  bool
	room []crawl.Entry // for those of the next mutations
}

// NewReader reads a message, or a part of one. What it returns shares the bytes.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// More reports whether something is left to be read, and no fault was found.
func (r *Reader) More() bool { return len(r.b) > 0 && !r.bad }

// Uint reads a number.
func (r *Reader) Uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Kind reads the kind of a message; 0 when the message is empty.
func (r *Reader) Kind() byte {
	if v := r.bytes(1); v != nil {
		return v[0]
	}
	return 0
}

// bytes reads n bytes; nil when there are not so many.
func (r *Reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// Partition reads a partition; whether the cluster has it is for the caller to check.
func (r *Reader) Partition() crawl.Partition {
	v := r.Uint()
	if v >= uint64(machine.NoPartition) {
		r.bad = true
		return 0
	}
	return crawl.Partition(v)
}

// entry shares the bytes of the message.
func (r *Reader) entry() crawl.Entry {
	e := crawl.Entry{Key: r.bytes(r.Uint())}
	if n := r.Uint(); n > 0 {
		e.Value = r.bytes(n - 1)
	}
	return e
}

// Entries reads entries up to the end.
func (r *Reader) Entries() []crawl.Entry {
	var es []crawl.Entry
	for r.More() {
		es = append(es, r.entry())
	}
	return es
}

// The room that is made for the entries of a message, by its bytes that are left: a little too much
// where they are large.
const (
	bytesPerEntry = 100
	maxRoom       = 256
)

// Mutation reads one mutation.
func (r *Reader) Mutation() crawl.CopyMutation {
	m := crawl.CopyMutation{Partition: r.Partition()}
	m.Epoch, m.Seq = crawl.Epoch(r.Uint()), crawl.Seq(r.Uint())
	n := r.Uint()
	if n > uint64(len(r.b)) { // an entry has two bytes at the least
		r.bad = true
		return m
	}
	if uint64(cap(r.room)) < n { // mutations of a message share memory: they are given up together
		r.room = make([]crawl.Entry, 0, max(int(n), min(len(r.b)/bytesPerEntry, maxRoom)))
	}
	m.Entries, r.room = r.room[:0:n], r.room[n:n:cap(r.room)]
	for ; n > 0 && !r.bad; n-- {
		m.Entries = append(m.Entries, r.entry())
	}
	return m
}

// Mutations reads mutations up to the end.
func (r *Reader) Mutations() []crawl.CopyMutation {
	var ms []crawl.CopyMutation
	for r.More() {
		ms = append(ms, r.Mutation())
	}
	return ms
}

// End fails when there was a fault, or when something is left; what names the message.
func (r *Reader) End(what string) error {
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w: %s", ErrFrame, what)
	}
	return nil
}

// Begin is the first message of a snapshot: kind is FrameBegin or FrameAsked.
func Begin(kind byte, p crawl.Partition, epoch crawl.Epoch) []byte {
	return binary.AppendUvarint(binary.AppendUvarint([]byte{kind}, uint64(p)), uint64(epoch))
}

// Hello is the first message of a stream.
func Hello(boot crawl.Boot) []byte {
	return binary.AppendUvarint([]byte{FrameHello}, uint64(boot))
}

// Done answers the end of a snapshot.
func Done(p crawl.Partition, ok bool) []byte {
	b := binary.AppendUvarint([]byte{FrameDone}, uint64(p))
	if ok {
		return append(b, 1)
	}
	return append(b, 0)
}
