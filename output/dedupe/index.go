package dedupe

import (
	"bytes"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"time"

	"crawlnode/crawl"
)

// The layout of a file; see the package comment.
const (
	tableBits   = 15
	tableLen    = 1<<tableBits + 1
	tableBytes  = 8 * tableLen
	footerBytes = 8 + 4 + 8
	magic       = "cn-dedu1"

	digestLen = 32
	dateForm  = "20060102150405"
	urlAt     = digestLen + 1 + len(dateForm) + 1
	maxURL    = 4 << 10
	maxLine   = urlAt + maxURL + 1
	// chunk is how much of the lines is read at once. It holds a whole line behind any place in its
	// first half, and the digest of the next one.
	chunk = 16 << 10
)

// digits are those of digests in a file: unlike base 32, they sort as the digests do.
var digits = base32.HexEncoding

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Index finds captures of other archives by their payloads. It may be used by many goroutines.
type Index struct {
	file   *os.File
	path   string
	table  [tableLen]int64
	count  int64
	chunks sync.Pool // of *[chunk]byte
}

// errDamaged is inside the error for a file of ours that is not as it was made.
var errDamaged = errors.New("it is damaged: delete it and restart the node, which makes it anew")

// openFile opens a file that is complete.
func openFile(path string) (*Index, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	x := &Index{file: f, path: path, chunks: sync.Pool{New: func() any { return new([chunk]byte) }}}
	if err := x.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return x, nil
}

// load reads the table and the footer.
func (x *Index) load() error {
	info, err := x.file.Stat()
	if err != nil {
		return err
	}
	end := info.Size() - tableBytes - footerBytes
	if end < 0 {
		return errDamaged
	}
	b := make([]byte, tableBytes+footerBytes)
	if _, err := x.file.ReadAt(b, end); err != nil {
		return err
	}
	summed := b[:tableBytes+8]
	if string(b[len(b)-len(magic):]) != magic ||
		binary.BigEndian.Uint32(b[len(summed):]) != crc32.Checksum(summed, castagnoli) {
		return errDamaged
	}
	for i := range x.table {
		x.table[i] = int64(binary.BigEndian.Uint64(b[8*i:]))
	}
	x.count = int64(binary.BigEndian.Uint64(b[tableBytes:]))
	if x.table[0] != 0 || x.table[tableLen-1] != end {
		return errDamaged
	}
	return nil
}

// Close closes the file.
func (x *Index) Close() error { return x.file.Close() }

// Len is how many payloads are known.
func (x *Index) Len() int64 { return x.count }

// bucket is where a digest stands in the table.
func bucket(d crawl.Digest) int { return int(d[0])<<(tableBits-8) | int(d[1])>>(16-tableBits) }

// Find returns the capture that has a payload; without its node and record id, which indexes do not
// name. Nil: none is known.
func (x *Index) Find(d crawl.Digest) (*crawl.Original, error) {
	begin, end := x.table[bucket(d)], x.table[bucket(d)+1]
	if begin == end {
		return nil, nil
	}
	b, _ := x.chunks.Get().(*[chunk]byte)
	defer x.chunks.Put(b)
	o, err := x.find(d, begin, end, b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", x.path, err)
	}
	return o, nil
}

// find looks between two places where lines begin.
func (x *Index) find(d crawl.Digest, begin, end int64, b *[chunk]byte) (*crawl.Original, error) {
	var key [digestLen]byte
	digits.Encode(key[:], d[:])
	for end-begin > chunk {
		middle := begin + (end-begin)/2
		part := b[:min(chunk, end-middle)]
		if err := x.read(part, middle); err != nil {
			return nil, err
		}
		i := bytes.IndexByte(part, '\n')
		if i < 0 || i+1+digestLen > len(part) { // a line is shorter
			return nil, errDamaged
		}
		if next := part[i+1:]; bytes.Compare(key[:], next[:digestLen]) < 0 {
			end = middle + int64(i) + 1
		} else {
			begin = middle + int64(i) + 1
		}
	}
	part := b[:end-begin]
	if err := x.read(part, begin); err != nil {
		return nil, err
	}
	for line := range bytes.Lines(part) {
		if bytes.HasPrefix(line, key[:]) {
			return parseLine(line)
		}
	}
	return nil, nil
}

func (x *Index) read(b []byte, at int64) error {
	_, err := x.file.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		return errDamaged // it was longer when it was opened
	}
	return err
}

// parseLine reads a line, with its end.
func parseLine(line []byte) (*crawl.Original, error) {
	if len(line) < urlAt+2 || line[len(line)-1] != '\n' {
		return nil, errDamaged
	}
	at, err := time.Parse(dateForm, string(line[digestLen+1:urlAt-1]))
	if err != nil {
		return nil, errDamaged
	}
	return &crawl.Original{URL: string(line[urlAt : len(line)-1]), FetchedAt: at}, nil
}
