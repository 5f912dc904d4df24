package filters

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/bits-and-blooms/bloom/v3"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
)

// The file of the filters, little endian:
//
//	magic (8)  number of filters (4)
//	for each: partition (2) generation (4) sequence number (8) URLs and hosts (8)
//	          capacity (8) bits (8) words of 64 bits (8 each)
//	CRC-32C of all before (4)
//
// It is written at a clean stop and removed when it was read. A filter counts
// only with the generation and the sequence number that the store has, so one
// that is stale is never used.
const (
	FileName    = "filters.bloom"
	filterMagic = "CNBLOOM2" // 1: without hosts
	// filterHeader is the length of what stands in front of the words.
	filterHeader = 2 + 4 + 8 + 8 + 8 + 8
)

// Saved is one filter of the file.
type Saved struct {
	Gen    layout.Generation
	Seq    crawl.Seq
	Filter *URLs
}

// Write writes filters to out.
func Write(out io.Writer, saved []Saved) error {
	buffered := bufio.NewWriterSize(out, 1<<16)
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	w := io.MultiWriter(buffered, sum)
	head := append([]byte(filterMagic), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(head[len(filterMagic):], uint32(len(saved)))
	if _, err := w.Write(head); err != nil {
		return err
	}
	var b []byte
	for _, s := range saved {
		b = binary.LittleEndian.AppendUint16(b[:0], uint16(s.Gen.Partition))
		b = binary.LittleEndian.AppendUint32(b, s.Gen.Number)
		b = binary.LittleEndian.AppendUint64(b, uint64(s.Seq))
		b = binary.LittleEndian.AppendUint64(b, uint64(s.Filter.Count))
		b = binary.LittleEndian.AppendUint64(b, uint64(s.Filter.Capacity))
		b = binary.LittleEndian.AppendUint64(b, uint64(s.Filter.bits.Cap()))
		for _, word := range s.Filter.bits.BitSet().Words() {
			b = binary.LittleEndian.AppendUint64(b, word)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	b = binary.LittleEndian.AppendUint32(b[:0], sum.Sum32())
	if _, err := buffered.Write(b); err != nil {
		return err
	}
	return buffered.Flush()
}

// ReadFile reads the filters of a file.
func ReadFile(path string) ([]Saved, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return Read(file, info.Size())
}

// Read reads a file of the given size, and trusts nothing in it before
// the checksum.
func Read(in io.Reader, size int64) ([]Saved, error) {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	buffered := bufio.NewReaderSize(in, 1<<16)
	r := io.TeeReader(buffered, sum)
	head := make([]byte, len(filterMagic)+4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("%w: too short", layout.ErrCorrupt)
	}
	if string(head[:len(filterMagic)]) != filterMagic {
		return nil, fmt.Errorf("%w: no file of Bloom filters, or of another version", layout.ErrCorrupt)
	}
	left := size - int64(len(head)) - crc32.Size
	var saved []Saved
	for range binary.LittleEndian.Uint32(head[len(filterMagic):]) {
		s, n, err := readSavedFilter(r, left)
		if err != nil {
			return nil, err
		}
		left -= n
		saved = append(saved, s)
	}
	want := sum.Sum32()
	var got [crc32.Size]byte
	if _, err := io.ReadFull(buffered, got[:]); err != nil || left != 0 ||
		binary.LittleEndian.Uint32(got[:]) != want {
		return nil, fmt.Errorf("%w: the checksum does not match", layout.ErrCorrupt)
	}
	return saved, nil
}

// readSavedFilter reads one filter of at most left bytes, and returns how many
// these were.
func readSavedFilter(r io.Reader, left int64) (s Saved, n int64, err error) {
	var h [filterHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return s, 0, fmt.Errorf("%w: it ends within a filter", layout.ErrCorrupt)
	}
	s.Gen = layout.Generation{
		Partition: crawl.Partition(binary.LittleEndian.Uint16(h[0:])),
		Number:    binary.LittleEndian.Uint32(h[2:]),
	}
	s.Seq = crawl.Seq(binary.LittleEndian.Uint64(h[6:]))
	count, capacity := int64(binary.LittleEndian.Uint64(h[14:])),
		int64(binary.LittleEndian.Uint64(h[22:]))
	bits := binary.LittleEndian.Uint64(h[30:])
	left -= filterHeader
	if bits == 0 || left < 8 || bits > uint64(left)*8 || count < 0 || capacity < 0 {
		return s, 0, fmt.Errorf("%w: a filter of %d bits in %d bytes", layout.ErrCorrupt, bits, left)
	}
	raw := make([]byte, (bits+63)/64*8)
	if int64(len(raw)) > left {
		return s, 0, fmt.Errorf("%w: a filter of %d bits in %d bytes", layout.ErrCorrupt, bits, left)
	}
	if _, err := io.ReadFull(r, raw); err != nil {
		return s, 0, fmt.Errorf("%w: it ends within a filter", layout.ErrCorrupt)
	}
	words := make([]uint64, len(raw)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	s.Filter = &URLs{
		bits:     bloom.FromWithM(words, uint(bits), filterHashes),
		Count:    count,
		Capacity: capacity,
	}
	return s, filterHeader + int64(len(raw)), nil
}
