package handoff

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
	frameHello = 'h'
	frameBegin = 'b'
	frameAsked = 's'
	frameChunk = 'c'
	frameEnd   = 'e'
	frameGroup = 'g'
	frameDone  = 'd'
	frameAck   = 'a'
)

// errFrame is what a peer's bytes are that are no message.
var errFrame = errors.New("handoff: a peer sent what is no message of a copy")

func appendEntry(b []byte, e *crawl.Entry) []byte {
	b = binary.AppendUvarint(b, uint64(len(e.Key)))
	b = append(b, e.Key...)
	if len(e.Value) == 0 {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Value))+1)
	return append(b, e.Value...)
}

func appendMutation(b []byte, p crawl.Partition, m *crawl.Mutation) []byte {
	b = binary.AppendUvarint(b, uint64(p))
	b = binary.AppendUvarint(b, uint64(m.Epoch))
	b = binary.AppendUvarint(b, uint64(m.Seq))
	b = binary.AppendUvarint(b, uint64(len(m.Entries)))
	for i := range m.Entries {
		b = appendEntry(b, &m.Entries[i])
	}
	return b
}

// frameReader takes a message apart. The first fault stays.
type frameReader struct {
	b   []byte
	bad bool
}

func (r *frameReader) u() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *frameReader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *frameReader) partition() crawl.Partition {
	v := r.u()
	if v >= uint64(machine.NoPartition) {
		r.bad = true
		return 0
	}
	return crawl.Partition(v)
}

// entry keeps no copy: the message belongs to whoever decodes it.
func (r *frameReader) entry() crawl.Entry {
	e := crawl.Entry{Key: r.bytes(r.u())}
	if n := r.u(); n > 0 {
		e.Value = r.bytes(n - 1)
	}
	return e
}

func (r *frameReader) entries() []crawl.Entry {
	var es []crawl.Entry
	for len(r.b) > 0 && !r.bad {
		es = append(es, r.entry())
	}
	return es
}

func (r *frameReader) mutation() crawl.CopyMutation {
	m := crawl.CopyMutation{Partition: r.partition()}
	m.Epoch, m.Seq = crawl.Epoch(r.u()), crawl.Seq(r.u())
	n := r.u()
	if n > uint64(len(r.b)) { // an entry has two bytes at the least
		r.bad = true
		return m
	}
	m.Entries = make([]crawl.Entry, 0, n)
	for ; n > 0 && !r.bad; n-- {
		m.Entries = append(m.Entries, r.entry())
	}
	return m
}

func (r *frameReader) mutations() []crawl.CopyMutation {
	var ms []crawl.CopyMutation
	for len(r.b) > 0 && !r.bad {
		ms = append(ms, r.mutation())
	}
	return ms
}

func (r *frameReader) end(what string) error {
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w: %s", errFrame, what)
	}
	return nil
}

func beginFrame(kind byte, p crawl.Partition, epoch crawl.Epoch) []byte {
	return binary.AppendUvarint(binary.AppendUvarint([]byte{kind}, uint64(p)), uint64(epoch))
}

func helloFrame(boot crawl.Boot) []byte {
	return binary.AppendUvarint([]byte{frameHello}, uint64(boot))
}

func doneFrame(p crawl.Partition, ok bool) []byte {
	b := binary.AppendUvarint([]byte{frameDone}, uint64(p))
	if ok {
		return append(b, 1)
	}
	return append(b, 0)
}
