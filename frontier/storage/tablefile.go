package storage

import (
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
	// first has keyStart of the first key of each block, and what is not below that of any key.
	first []uint64
	// offsets are where the blocks begin, and where the last one ends.
	offsets []uint32
	good    []atomic.Uint64 // a bit for each block
	left    atomic.Int64    // blocks that are not known to be good
}

// keyStart is the beginning of a key as a number: keys are in the order of their numbers, and
// different keys may have the same.
func keyStart(key []byte) uint64 {
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// lastStart is the highest keyStart of the keys with a prefix.
func lastStart(prefix []byte) uint64 {
	b := [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	copy(b[:], prefix)
	return binary.BigEndian.Uint64(b[:])
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
		return nil, err
	}
	defer func() { _ = file.Close() }()
	index, err := readIndex(file)
	if err != nil {
		return nil, err
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
	t = &tableFile{path: path, compressed: compression == options.Snappy}
	t.first, t.offsets = make([]uint64, n+1), make([]uint32, n+1)
	t.good = make([]atomic.Uint64, (n+63)/64)
	var block fb.BlockOffset
	for i := range n {
		if !root.Offsets(&block, i) || i > 0 && block.Offset() != t.offsets[i] ||
			len(block.KeyBytes()) < versionBytes {
			return nil, damaged(path, errNoTable)
		}
		t.first[i], t.offsets[i] = keyStart(y.ParseKey(block.KeyBytes())), block.Offset()
		t.offsets[i+1] = block.Offset() + block.Len()
	}
	if n == 0 {
		return nil, damaged(path, errNoTable)
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

// between returns the blocks in which keys of these starts may be.
func (t *tableFile) between(low, high uint64) (from, to int) {
	n := t.blocks()
	// Block i has keys from first[i] to first[i+1].
	from = sort.Search(n, func(i int) bool { return t.first[i+1] >= low })
	to = from + sort.Search(n-from, func(i int) bool { return t.first[from+i] > high })
	return from, to
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
// first damaged one.
func (t *tableFile) verify(from, to int) error {
	var file *os.File
	var data, plain []byte
	for from < to {
		if t.isGood(from) {
			from++
			continue
		}
		if file == nil {
			var err error
			if file, err = os.Open(t.path); err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
		}
		end := from + 1
		for end < to && !t.isGood(end) && t.offsets[end+1]-t.offsets[from] <= verifyAtOnce {
			end++
		}
		start, length := t.offsets[from], int(t.offsets[end]-t.offsets[from])
		if cap(data) < length {
			data = make([]byte, length)
		}
		data = data[:length]
		if n, err := file.ReadAt(data, int64(start)); n < length {
			if err = ignoreEnd(err); err == nil {
				err = damaged(t.path, fmt.Errorf("it ends within the block at byte %d", start))
			}
			return err
		}
		for ; from < end; from++ {
			block := data[t.offsets[from]-start : t.offsets[from+1]-start]
			var ok bool
			if plain, ok = t.plain(plain, block); !ok {
				err := fmt.Errorf("the block at byte %d does not have its checksum", t.offsets[from])
				return damaged(t.path, err)
			}
			t.setGood(from)
		}
	}
	return nil
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
