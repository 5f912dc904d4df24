package recovery

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// The high-water file says, beside the store, how far each partition had come.
// Badger cuts its log at the first bad entry without an error, and the books of
// the partitions, which would show the loss, are cut off with it.
//
// Slot n, at 64 n, is partition n's; all zero when there is none. Little endian:
//
//	CRC-32C of the rest (4) version 1 (1) state (1) flags (1: sealed) (1) 0 (1)
//	partition (2) 0 (2) generation (4) last generation (4) 0 (4)
//	epoch (8) highest epoch (8) seq (8) changes of the state (8) view (8)
//
// It is written after each group, without a sync. It survives kill -9, as the
// store does. After a loss of power it is at worst older than the store, or it
// shows correctly that something acknowledged is lost. A slot that cannot be
// read counts as none.
const (
	MarkBytes   = 64
	markVersion = 1
	markSealed  = 1
	// markBlock is what is written at least; blocks beside each other go in one
	// write.
	markBlock = 4096
)

// Mark is the file's slot of one partition. The zero Mark is none.
type Mark struct {
	state          layout.State
	sealed         bool
	generation     uint32
	lastGeneration uint32
	epoch          crawl.Epoch
	maxEpoch       crawl.Epoch
	view           crawl.Epoch
	seq            crawl.Seq
	changes        uint64
}

// MarkOf is the mark of a partition.
func MarkOf(s *layout.PartState) Mark {
	return Mark{
		state: s.State, sealed: s.Sealed, generation: s.Generation, lastGeneration: s.LastGeneration,
		epoch: s.Epoch, maxEpoch: s.MaxEpoch, view: s.View, seq: s.Seq, changes: s.Changes,
	}
}

// markSums is the table of the checksums of marks.
var markSums = crc32.MakeTable(crc32.Castagnoli)

// encodeMark fills a slot.
func encodeMark(b []byte, p crawl.Partition, m *Mark) {
	clear(b[:MarkBytes])
	b[4], b[5] = markVersion, byte(m.state)
	b[6] = byte(layout.FlagIf(m.sealed, markSealed))
	le := binary.LittleEndian
	le.PutUint16(b[8:], uint16(p))
	le.PutUint32(b[12:], m.generation)
	le.PutUint32(b[16:], m.lastGeneration)
	le.PutUint64(b[24:], uint64(m.epoch))
	le.PutUint64(b[32:], uint64(m.maxEpoch))
	le.PutUint64(b[40:], uint64(m.seq))
	le.PutUint64(b[48:], m.changes)
	le.PutUint64(b[56:], uint64(m.view))
	le.PutUint32(b, crc32.Checksum(b[4:MarkBytes], markSums))
}

// decodeMark reads the slot of a partition; ok is false when it is empty.
func decodeMark(b []byte, p crawl.Partition) (m Mark, ok bool, err error) {
	if [MarkBytes]byte(b) == [MarkBytes]byte{} {
		return m, false, nil
	}
	le := binary.LittleEndian
	if le.Uint32(b) != crc32.Checksum(b[4:MarkBytes], markSums) || crawl.Partition(le.Uint16(b[8:])) != p || layout.State(b[5]) > layout.Copy {
		return m, false, fmt.Errorf("%w: mark of partition %d", layout.ErrCorrupt, p)
	}
	if b[4] != markVersion {
		return m, false, fmt.Errorf("%w: mark of partition %d has version %d, this program reads %d", layout.ErrCorrupt, p, b[4], markVersion)
	}
	m = Mark{
		state: layout.State(b[5]), sealed: b[6]&markSealed != 0, generation: le.Uint32(b[12:]), lastGeneration: le.Uint32(b[16:]),
		epoch: crawl.Epoch(le.Uint64(b[24:])), maxEpoch: crawl.Epoch(le.Uint64(b[32:])), seq: crawl.Seq(le.Uint64(b[40:])),
		changes: le.Uint64(b[48:]), view: crawl.Epoch(le.Uint64(b[56:])),
	}
	return m, true, nil
}

// HighWater is the open file with its image in memory. It belongs to the
// writer, and to New before it.
type HighWater struct {
	file  *os.File
	image []byte // whole blocks
	dirty []int  // blocks to be written
}

// OpenHighWater opens or makes the file, and reads its marks. bad lists the
// slots that cannot be read.
func OpenHighWater(path string) (w *HighWater, marks map[crawl.Partition]Mark, bad []error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, nil, err
	}
	const most = (int64(layout.MaxPartition) + 1) * MarkBytes
	if err := storage.SetAside(file, most); err != nil {
		return nil, nil, nil, errors.Join(err, file.Close())
	}
	image, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return nil, nil, nil, errors.Join(err, file.Close())
	}
	w = &HighWater{file: file, image: image}
	w.grow((len(image) + MarkBytes - 1) / MarkBytes)
	marks = map[crawl.Partition]Mark{}
	for n := 0; n < len(w.image)/MarkBytes; n++ {
		p := crawl.Partition(n)
		m, ok, err := decodeMark(w.image[n*MarkBytes:], p)
		if err != nil {
			bad = append(bad, err)
		} else if ok {
			marks[p] = m
		}
	}
	return w, marks, bad, nil
}

// grow makes room for slots, in whole blocks.
func (w *HighWater) grow(slots int) {
	if n := (slots*MarkBytes + markBlock - 1) / markBlock * markBlock; n > len(w.image) {
		w.image = append(w.image, make([]byte, n-len(w.image))...)
	}
}

// Set changes a mark in the image.
func (w *HighWater) Set(p crawl.Partition, m Mark) {
	w.grow(int(p) + 1)
	at := int(p) * MarkBytes
	encodeMark(w.image[at:], p, &m)
	w.dirty = append(w.dirty, at/markBlock)
}

// Flush writes what was set: usually one write.
func (w *HighWater) Flush() error {
	slices.Sort(w.dirty)
	blocks := slices.Compact(w.dirty)
	for len(blocks) > 0 {
		n := 1
		for n < len(blocks) && blocks[n] == blocks[0]+n {
			n++
		}
		from := blocks[0] * markBlock
		if _, err := w.file.WriteAt(w.image[from:from+n*markBlock], int64(from)); err != nil {
			return fmt.Errorf("frontier: high-water file: %w", err)
		}
		blocks = blocks[n:]
	}
	w.dirty = w.dirty[:0]
	return nil
}

// Close closes the file. What was flushed stays.
func (w *HighWater) Close() error { return w.file.Close() }

// compare compares a partition as the store has it (the zero PartState when it
// has nothing) with its mark, and returns what to go on with. why is "" when
// the store has all that it acknowledged.
//
// A state that is older than the mark's is replaced by the mark's: a store
// that lost "released" must not hold again.
func compare(s layout.PartState, m Mark) (out layout.PartState, why string) {
	out = s
	switch {
	case s.Changes < m.changes:
		why = fmt.Sprintf("the store has lost changes of its state: it has %d of %d", s.Changes, m.changes)
		out.State, out.Sealed, out.Epoch, out.View = m.state, m.sealed, m.epoch, m.view
		out.Generation, out.Changes = m.generation, m.changes
		if m.state != layout.Released {
			out.To = ""
		}
		out.Seq = max(s.Seq, m.seq)
		if m.state == layout.Absent {
			out.Counters, out.OutboxNext = crawl.Counters{}, 0
		}
	case s.State != layout.Absent && s.Generation == m.generation && s.Seq < m.seq:
		why = fmt.Sprintf("the store has lost mutations: it has %d of %d", s.Seq, m.seq)
		// Should it go on for want of a better copy, it must not give a number
		// that a replica has seen to another mutation.
		out.Seq = m.seq
	}
	out.MaxEpoch = max(s.MaxEpoch, m.maxEpoch)
	out.LastGeneration = max(s.LastGeneration, m.lastGeneration)
	out.Suspect = out.State != layout.Absent && (s.Suspect || why != "")
	return out, why
}
