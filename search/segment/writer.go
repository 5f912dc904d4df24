package segment

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"os"

	"github.com/klauspost/compress/zstd"
)

// magic is that of this format. The one before, which is read, has 1 as its last byte.
const (
	magic      = "crawlse\x02"
	blockBytes = 32 << 10 // of records before a block of them is compressed
)

// The sections, in the order of the file.
const (
	secStored = iota
	secBlocks
	secURLs
	secCards
	secKeys
	secPostings
	secTerms
	secWords
	sections
)

const footerBytes = sections*20 + 4 + 4 + len(magic)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writer writes the sections of a file, one after another.
type writer struct {
	file *os.File
	buf  *bufio.Writer
	crc  hash.Hash32
	at   uint64
	err  error

	footer []byte
	from   uint64
}

func newWriter(path string) (*writer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	w := &writer{file: file, buf: bufio.NewWriterSize(file, 256<<10), crc: crc32.New(castagnoli)}
	w.write([]byte(magic))
	w.begin()
	return w, nil
}

func (w *writer) write(p []byte) {
	if w.err != nil {
		return
	}
	_, w.err = w.buf.Write(p)
	w.crc.Write(p)
	w.at += uint64(len(p))
}

func (w *writer) begin() {
	w.from = w.at
	w.crc.Reset()
}

// end ends a section: they come in the order of the constants.
func (w *writer) end() {
	w.footer = binary.LittleEndian.AppendUint64(w.footer, w.from)
	w.footer = binary.LittleEndian.AppendUint64(w.footer, w.at-w.from)
	w.footer = binary.LittleEndian.AppendUint32(w.footer, w.crc.Sum32())
	w.begin()
}

// section writes a whole section.
func (w *writer) section(p []byte) {
	w.write(p)
	w.end()
}

// finish writes the footer and syncs the file.
func (w *writer) finish(documents int) error {
	footer := binary.LittleEndian.AppendUint32(w.footer, uint32(documents))
	footer = binary.LittleEndian.AppendUint32(footer, crc32.Checksum(footer, castagnoli))
	w.write(append(footer, magic...))
	if w.err == nil {
		w.err = w.buf.Flush()
	}
	if w.err == nil {
		w.err = w.file.Sync()
	}
	if err := w.file.Close(); w.err == nil {
		w.err = err
	}
	return w.err
}

// abandon closes and removes the file.
func (w *writer) abandon() {
	w.file.Close()
	os.Remove(w.file.Name())
}

// storedWriter writes the sections of records: it gathers them in blocks.
type storedWriter struct {
	w       *writer
	encoder *zstd.Encoder
	raw     []byte
	packed  []byte
	blocks  []byte
	first   uint32 // document of the current block
	n       uint32
}

func newStoredWriter(w *writer) (*storedWriter, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true),
		zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("make an encoder: %w", err)
	}
	return &storedWriter{w: w, encoder: encoder}, nil
}

func (s *storedWriter) add(record []byte) {
	s.raw = binary.AppendUvarint(s.raw, uint64(len(record)))
	s.raw = append(s.raw, record...)
	s.n++
	if len(s.raw) >= blockBytes {
		s.flush()
	}
}

func (s *storedWriter) flush() {
	if len(s.raw) == 0 {
		return
	}
	s.packed = s.encoder.EncodeAll(s.raw, s.packed[:0])
	s.put(s.packed)
	s.raw, s.first = s.raw[:0], s.n
}

// copy takes a whole compressed block of n documents as it is.
func (s *storedWriter) copy(packed []byte, n uint32) {
	s.flush()
	s.put(packed)
	s.n += n
	s.first = s.n
}

func (s *storedWriter) put(packed []byte) {
	s.blocks = binary.LittleEndian.AppendUint32(s.blocks, s.first)
	s.blocks = binary.LittleEndian.AppendUint64(s.blocks, s.w.at-s.w.from)
	s.w.write(packed)
}

func (s *storedWriter) finish() {
	s.flush()
	s.w.end()
	s.w.section(s.blocks)
	s.encoder.Close()
}
