package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sort"
	"sync"
	"syscall"

	"github.com/klauspost/compress/zstd"
)

// ErrDamaged is wrapped by errors that say that a file does not hold what was written.
var ErrDamaged = errors.New("the file is damaged")

// Segment is an open file. Its methods may be called from several goroutines until Close.
type Segment struct {
	data     []byte
	format   byte
	n        int
	section  [sections][]byte
	terms    table
	words    table
	decoders sync.Pool
}

// Open maps a file and verifies its checksums.
func Open(path string) (*Segment, error) {
	s, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open the segment %s: %w", path, err)
	}
	return s, nil
}

func open(path string) (*Segment, error) {
	data, err := mapped(path)
	if err != nil {
		return nil, err
	}
	s := &Segment{data: data}
	if err := s.footer(); err != nil {
		s.Close()
		return nil, err
	}
	for i := range s.section {
		if crc32.Checksum(s.section[i], castagnoli) != s.checksum(i) {
			s.Close()
			return nil, fmt.Errorf("%w: the checksum of section %d differs", ErrDamaged, i)
		}
	}
	if err := s.tables(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// mapped maps a file, which must not be empty.
func mapped(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < int64(len(magic)+footerBytes) {
		return nil, fmt.Errorf("%w: it has %d bytes only", ErrDamaged, info.Size())
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ,
		syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return data, nil
}

// footer finds the sections.
func (s *Segment) footer() error {
	footer := s.data[len(s.data)-footerBytes:]
	sums := sections*20 + 4
	begin := string(s.data[:len(magic)])
	s.format = begin[len(magic)-1]
	if string(footer[sums+4:]) != begin || begin[:len(magic)-1] != magic[:len(magic)-1] ||
		s.format < 1 || s.format > magic[len(magic)-1] {
		return fmt.Errorf("%w: it does not begin and end as a segment of this format", ErrDamaged)
	}
	if crc32.Checksum(footer[:sums], castagnoli) != binary.LittleEndian.Uint32(footer[sums:]) {
		return fmt.Errorf("%w: the checksum of the footer differs", ErrDamaged)
	}
	for i := range s.section {
		from, size := binary.LittleEndian.Uint64(footer[20*i:]),
			binary.LittleEndian.Uint64(footer[20*i+8:])
		if from > uint64(len(s.data)) || size > uint64(len(s.data))-from {
			return fmt.Errorf("%w: section %d is beyond its end", ErrDamaged, i)
		}
		s.section[i] = s.data[from : from+size]
	}
	s.n = int(binary.LittleEndian.Uint32(footer[sections*20:]))
	if len(s.section[secCards]) != s.n*cardBytes || len(s.section[secKeys]) != 4*s.n {
		return fmt.Errorf("%w: it should have %d cards", ErrDamaged, s.n)
	}
	return nil
}

func (s *Segment) checksum(section int) uint32 {
	return binary.LittleEndian.Uint32(s.data[len(s.data)-footerBytes+20*section+16:])
}

func (s *Segment) tables() (err error) {
	if s.terms, err = openTable(s.section[secTerms]); err == nil {
		s.words, err = openTable(s.section[secWords])
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// Close unmaps the file. Nothing that the Segment returned may be used afterwards, but records and
// strings.
func (s *Segment) Close() error {
	data := s.data
	s.data = nil
	if data == nil {
		return nil
	}
	return syscall.Munmap(data)
}

// Exact reports whether positions say how words are written, and those of stop words of texts are
// there. In a file of format 1, which earlier versions wrote, they are not.
func (s *Segment) Exact() bool { return s.format > 1 }

// Len is the number of documents, Bytes the size of the file.
func (s *Segment) Len() int { return s.n }

// Bytes is the size of the file.
func (s *Segment) Bytes() int64 { return int64(len(s.data)) }

// Card returns the card of a document.
func (s *Segment) Card(doc uint32) Card { return parseCard(s.card(doc)) }

func (s *Segment) card(doc uint32) []byte {
	return s.section[secCards][int(doc)*cardBytes : int(doc+1)*cardBytes]
}

// Partition returns the partition of a document, without the rest of its card.
func (s *Segment) Partition(
	doc uint32,
) uint32 {
	return binary.LittleEndian.Uint32(s.card(doc)[32:])
}

// URL returns the URL of a document.
func (s *Segment) URL(doc uint32) string {
	from := uint64(0)
	if doc > 0 {
		from = s.urlEnd(doc - 1)
	}
	return string(s.section[secURLs][from:s.urlEnd(doc)])
}

func (s *Segment) urlEnd(doc uint32) uint64 { return binary.LittleEndian.Uint64(s.card(doc)[52:]) }

// Find returns the document with a key.
func (s *Segment) Find(k Key) (doc uint32, ok bool) {
	at := func(i int) uint32 { return binary.LittleEndian.Uint32(s.section[secKeys][4*i:]) }
	i := sort.Search(s.n, func(i int) bool { return bytes.Compare(s.card(at(i))[:16], k[:]) >= 0 })
	if i < s.n && bytes.Equal(s.card(at(i))[:16], k[:]) {
		return at(i), true
	}
	return 0, false
}

// Count is the number of documents that have a term, with those that are deleted.
func (s *Segment) Count(term string) int64 {
	e, _ := s.terms.find([]byte(term))
	return int64(e.count)
}

// Postings returns the documents of a term; none when no document has it.
func (s *Segment) Postings(term string) *Postings {
	e, ok := s.terms.find([]byte(term))
	if !ok {
		return &Postings{}
	}
	return s.postings(&e)
}

func (s *Segment) postings(e *entry) *Postings {
	all := s.section[secPostings]
	if e.from > uint64(len(all)) || e.size > uint64(len(all))-e.from {
		return &Postings{err: errPostings}
	}
	p := &Postings{rest: all[e.from : e.from+e.size], left: int(e.count), count: int(e.count)}
	if s.Exact() {
		ways, rest, err := skipForms(p.rest, nil)
		if err != nil {
			return &Postings{err: err}
		}
		p.forms, p.rest = p.rest[:len(p.rest)-len(rest)], rest
		p.ways, p.word = ways, wordOf(string(e.key))
	}
	return p
}

// Labels calls f for each label that begins so, and its number of documents, until f returns false.
func (s *Segment) Labels(prefix string, f func(label []byte, documents int64) bool) {
	walk(&s.terms, prefix, f)
}

// Words calls f for each word of the segment that begins so, and its number of documents, until f
// returns false. The bytes are valid during the call.
func (s *Segment) Words(prefix string, f func(word []byte, documents int64) bool) {
	walk(&s.words, prefix, f)
}

func walk(t *table, prefix string, f func([]byte, int64) bool) {
	c := t.seek([]byte(prefix))
	for c.next() && bytes.HasPrefix(c.key, []byte(prefix)) {
		if !f(c.key, int64(c.count)) {
			return
		}
	}
}

// maxBlock bounds the memory of a block of records: one record may be larger than a block should
// be.
const maxBlock = 4 << 20

// Stored returns the record of a document.
func (s *Segment) Stored(doc uint32) ([]byte, error) {
	blocks := s.section[secBlocks]
	i := sort.Search(len(blocks)/12,
		func(i int) bool { return binary.LittleEndian.Uint32(blocks[12*i:]) > doc }) - 1
	if i < 0 {
		return nil, fmt.Errorf("%w: document %d has no record", ErrDamaged, doc)
	}
	raw, first, err := s.block(i)
	if err != nil {
		return nil, err
	}
	for ; ; first++ {
		record, rest, err := cutRecord(raw)
		if err != nil {
			return nil, err
		}
		if first == doc {
			return record, nil
		}
		raw = rest
	}
}

// block returns the records of a block, and the first document of it.
func (s *Segment) block(i int) (raw []byte, first uint32, err error) {
	packed, first := s.packed(i)
	d, _ := s.decoders.Get().(*zstd.Decoder)
	if d == nil {
		d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(maxBlock))
		if err != nil {
			return nil, 0, err
		}
	}
	defer s.decoders.Put(d)
	raw, err = d.DecodeAll(packed, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: the records from document %d: %w", ErrDamaged, first, err)
	}
	return raw, first, nil
}

func (s *Segment) packed(i int) (packed []byte, first uint32) {
	blocks := s.section[secBlocks]
	from, to := binary.LittleEndian.Uint64(blocks[12*i+4:]), uint64(len(s.section[secStored]))
	if 12*(i+1) < len(blocks) {
		to = binary.LittleEndian.Uint64(blocks[12*(i+1)+4:])
	}
	if from > to || to > uint64(len(s.section[secStored])) {
		return nil, binary.LittleEndian.Uint32(blocks[12*i:])
	}
	return s.section[secStored][from:to], binary.LittleEndian.Uint32(blocks[12*i:])
}

func cutRecord(raw []byte) (record, rest []byte, err error) {
	size, n := binary.Uvarint(raw)
	if n <= 0 || size > uint64(len(raw)-n) {
		return nil, nil, fmt.Errorf("%w: a record is cut off", ErrDamaged)
	}
	return raw[n : n+int(size)], raw[n+int(size):], nil
}

// Records calls f for each document and its record, in order, until f returns false. The record is
// valid for good. It returns what was damaged; the blocks after it are read all the same.
func (s *Segment) Records(f func(doc uint32, record []byte) bool) error {
	var first error
	for i := range len(s.section[secBlocks]) / 12 {
		raw, doc, err := s.block(i)
		for ; err == nil && len(raw) > 0; doc++ {
			var record []byte
			if record, raw, err = cutRecord(raw); err == nil && !f(doc, record) {
				return first
			}
		}
		if err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Salvage reads what it can of the records of a damaged file: it trusts the checksums of the blocks
// only. documents is how many the file had, -1 when that is not known.
func Salvage(path string, f func(doc uint32, record []byte)) (documents int, err error) {
	data, err := mapped(path)
	if err != nil {
		return -1, err
	}
	s := &Segment{data: data}
	defer s.Close()
	if err := s.footer(); err != nil {
		return -1, err
	}
	if crc32.Checksum(s.section[secBlocks], castagnoli) != s.checksum(secBlocks) {
		return s.n, fmt.Errorf("%w: the list of blocks", ErrDamaged)
	}
	return s.n, s.Records(func(doc uint32, record []byte) bool {
		f(doc, record)
		return true
	})
}
