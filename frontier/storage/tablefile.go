package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sort"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/proto"
)

// Badger's table, big endian:
//
//	blocks, each compressed by itself
//	index, a flatbuffer: of each block its first key, offset and length
//	length of the index (4), checksum of the index, length of the checksum (4)
//
// Behind each key there is its version (8), which does not belong to the key here. A block, once it is not compressed any more:
//
//	entries, their offsets, number of entries (4)
//	checksum of all before, length of the checksum (4)

// tableFile is a table as its index describes it. Which blocks are known to be good may be
// marked and asked by many goroutines; the rest does not change.
type tableFile struct {
	path       string
	compressed bool
	open       func(path string) (*os.File, error) // os.Open
	// common is what the first keys of all blocks begin with, and start and lastStart know how other
	// keys lie to it. So blocks are told apart where their keys begin to differ, even when all of
	// them are of one host.
	common []byte
	// first has start of the first key of each block, and what is not below that of any key.
	first []uint64
	// offsets are where the blocks begin, and where the last one ends.
	offsets []uint32
	good    []atomic.Uint64 // a bit for each block
	left    atomic.Int64    // blocks that are not known to be good
}

// start says where a key lies in the table: keys are in the order of their numbers, and different
// keys may have the same.
func (t *tableFile) start(key []byte) uint64 {
	rest, side := t.behindCommon(key)
	if side != 0 {
		return beyond(side)
	}
	var b [8]byte
	copy(b[:], rest)
	return binary.BigEndian.Uint64(b[:])
}

// lastStart is the highest start of the keys with a prefix.
func (t *tableFile) lastStart(prefix []byte) uint64 {
	rest, side := t.behindCommon(prefix)
	if side != 0 {
		return beyond(side)
	}
	b := [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	copy(b[:], rest)
	return binary.BigEndian.Uint64(b[:])
}

// behindCommon returns what stands behind common in a key, which is nothing when the key is a
// beginning of it; or on which side of all keys with common the key lies, -1 or 1.
func (t *tableFile) behindCommon(key []byte) (rest []byte, side int) {
	n := min(len(key), len(t.common))
	return key[n:], bytes.Compare(key[:n], t.common[:n])
}

// beyond is the start of keys on one side of all others.
func beyond(side int) uint64 {
	if side < 0 {
		return 0
	}
	return ^uint64(0)
}

// commonPrefix is what two keys begin with.
func commonPrefix(a, b []byte) []byte {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// versionBytes is the length of a key's version.
const versionBytes = 8

// errNoTable is the damage of a file that does not end as a table does.
var errNoTable = errors.New("it is not a table")

// openTableFile reads the index of a table, and the last block: Badger takes both for granted
// when it opens the table.
func openTableFile(path string, compression options.CompressionType) (t *tableFile, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer func() { _ = file.Close() }()
	index, err := readIndex(file)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer func() {
		if r := recover(); r != nil { // of the flatbuffer: its checksum is that of something else
			t, err = nil, damaged(path, errNoTable)
		}
	}()
	if compression != options.None && compression != options.Snappy {
		return nil, damaged(path, fmt.Errorf("its compression %d is unknown", compression))
	}
	root := fb.GetRootAsTableIndex(index, 0)
	n := root.OffsetsLength()
	if n == 0 {
		return nil, damaged(path, errNoTable)
	}
	t = &tableFile{path: path, compressed: compression == options.Snappy, open: os.Open}
	t.first, t.offsets = make([]uint64, n+1), make([]uint32, n+1)
	t.good = make([]atomic.Uint64, (n+63)/64)
	var block fb.BlockOffset
	firstKey := func(i int) (key []byte, ok bool) {
		if !root.Offsets(&block, i) || len(block.KeyBytes()) < versionBytes {
			return nil, false
		}
		return y.ParseKey(block.KeyBytes()), true
	}
	lowest, _ := firstKey(0)
	highest, _ := firstKey(n - 1)
	t.common = bytes.Clone(commonPrefix(lowest, highest)) // the index is given back
	for i := range n {
		key, ok := firstKey(i)
		if !ok || i > 0 && block.Offset() != t.offsets[i] {
			return nil, damaged(path, errNoTable)
		}
		t.first[i], t.offsets[i] = t.start(key), block.Offset()
		t.offsets[i+1] = block.Offset() + block.Len()
	}
	t.left.Store(int64(n))
	t.first[n] = ^uint64(0)
	return t, t.verify(n-1, n)
}

// readIndex reads the index of a table, which has its checksum.
func readIndex(file *os.File) ([]byte, error) {
	path := file.Name()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	end := info.Size()
	// back reads what stands in front of end, and moves end there.
	back := func(n int64) ([]byte, error) {
		if n < 0 || n > end {
			return nil, damaged(path, errNoTable)
		}
		b := make([]byte, n)
		end -= n
		_, err := file.ReadAt(b, end)
		return b, err
	}
	// part is something with its length behind it.
	part := func() ([]byte, error) {
		b, err := back(4)
		if err != nil {
			return nil, err
		}
		return back(int64(int32(binary.BigEndian.Uint32(b))))
	}
	sum, err := part()
	if err != nil {
		return nil, err
	}
	index, err := part()
	if err != nil {
		return nil, err
	}
	if !hasSum(index, sum) {
		return nil, damaged(path, errors.New("its index does not have its checksum"))
	}
	return index, nil
}

// hasSum reports whether b has the checksum that is encoded in sum.
func hasSum(b, sum []byte) (ok bool) {
	var want pb.Checksum
	if err := proto.Unmarshal(sum, &want); err != nil {
		return false
	}
	defer func() {
		if recover() != nil { // an algorithm that there is not
			ok = false
		}
	}()
	return y.VerifyChecksum(b, &want) == nil
}

// blocks is how many there are.
func (t *tableFile) blocks() int { return len(t.offsets) - 1 }

// between returns the blocks in which keys of these starts may be, and the one behind them: there
// Badger learns that it has seen all of them.
func (t *tableFile) between(low, high uint64) (from, to int) {
	n := t.blocks()
	if high < t.first[0] {
		return 0, 0
	}
	// Block i has keys from first[i] to first[i+1].
	from = sort.Search(n, func(i int) bool { return t.first[i+1] >= low })
	to = from + sort.Search(n-from, func(i int) bool { return t.first[from+i] > high })
	return from, min(to+1, n)
}

func (t *tableFile) isGood(block int) bool {
	return t.good[block/64].Load()&(1<<(block%64)) != 0
}

func (t *tableFile) setGood(block int) {
	bit := uint64(1) << (block % 64)
	if t.good[block/64].Or(bit)&bit == 0 {
		t.left.Add(-1)
	}
}

// verifyAtOnce is about how much of a table is read in one piece.
const verifyAtOnce = 256 << 10

// verify reads the blocks from and before to that are not known to be good. Its error names the
// first damaged one. It may be called when others verify the same blocks: as soon as all of them are
// good, a compaction may truncate and remove the file. So what fails is judged once more.
func (t *tableFile) verify(from, to int) error {
	var r tableReader
	defer r.close()
	for from < to {
		if t.isGood(from) {
			from++
			continue
		}
		bad, err := t.verifySome(&r, from, to)
		if err != nil && !t.isGood(bad) {
			return err
		}
	}
	return nil
}

// tableReader is the file of a table while it is verified, and memory for its blocks.
type tableReader struct {
	file        *os.File // nil: not opened yet
	data, plain []byte
}

func (r *tableReader) close() {
	if r.file != nil {
		_ = r.file.Close()
	}
}

// verifySome reads some blocks in one piece, of which the first one was not known to be good. Its
// error is that of the block bad.
func (t *tableFile) verifySome(r *tableReader, from, to int) (bad int, err error) {
	if r.file == nil {
		if r.file, err = t.open(t.path); err != nil {
			r.file = nil
			return from, unreadable(t.path, err)
		}
	}
	end := from + 1
	for end < to && !t.isGood(end) && t.offsets[end+1]-t.offsets[from] <= verifyAtOnce {
		end++
	}
	start, length := t.offsets[from], int(t.offsets[end]-t.offsets[from])
	if cap(r.data) < length {
		r.data = make([]byte, length)
	}
	data := r.data[:length]
	if n, err := r.file.ReadAt(data, int64(start)); n < length {
		if err = ignoreEnd(err); err == nil {
			return from, damaged(t.path, fmt.Errorf("it ends within the block at byte %d", start))
		}
		return from, unreadable(t.path, err)
	}
	for ; from < end; from++ {
		block := data[t.offsets[from]-start : t.offsets[from+1]-start]
		var ok bool
		if r.plain, ok = t.plain(r.plain, block); !ok {
			err := fmt.Errorf("the block at byte %d does not have its checksum", t.offsets[from])
			return from, damaged(t.path, err)
		}
		t.setGood(from)
	}
	return end, nil
}

// plain verifies a block. It returns scratch, or what is to be used as scratch from then on.
func (t *tableFile) plain(scratch, block []byte) ([]byte, bool) {
	if t.compressed {
		// A damaged length must not cost any memory: a block has some kilobytes, or one entry.
		if n, err := snappy.DecodedLen(block); err != nil || n > 64*len(block)+verifyAtOnce {
			return scratch, false
		}
		var err error
		if block, err = snappy.Decode(scratch[:cap(scratch)], block); err != nil {
			return scratch, false
		}
		scratch = block
	}
	if len(block) < 4 {
		return scratch, false
	}
	body, length := block[:len(block)-4], int(binary.BigEndian.Uint32(block[len(block)-4:]))
	if length > len(body) {
		return scratch, false
	}
	return scratch, hasSum(body[:len(body)-length], body[len(body)-length:])
}
