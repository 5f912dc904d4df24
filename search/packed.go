package search

import (
	"errors"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"crawlnode/search/index"
)

// A stored document is index.AppendDocument, compressed: packedS2 and an S2 block, or a frame of
// zstd for a text that is too long for the frontier otherwise, and for all that the first releases
// with an index wrote. S2 takes a sixth of zstd's time, which the crawl pays, and a fifth more of
// the disk.
const (
	packedS2   = 1
	packedZstd = 0x28 // the first byte of each frame
)

// maxDecoded bounds what a stored document may become when it is read.
const maxDecoded = 1 << 20

// smallTables is the length below which the better encoder uses small tables. It takes as long as
// the other one then; above it, it clears half a megabyte for each document.
const smallTables = 16 << 10

// errPacked says that bytes are no stored document.
var errPacked = errors.New("these bytes are no stored document of this version")

// pack is the stored form of b.plain.
func (b *buffers) pack() []byte {
	b.packed = slices.Grow(b.packed[:0], s2.MaxEncodedLen(len(b.plain)))
	encode := s2.Encode
	if len(b.plain) < smallTables {
		encode = s2.EncodeBetter
	}
	packed := encode(b.packed[:cap(b.packed)], b.plain)
	out := make([]byte, 1, 1+len(packed))
	out[0] = packedS2
	return append(out, packed...)
}

// tight compresses for packTightly; several goroutines take turns.
var tight = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(maxDecoded))
})

// packTightly is the stored form of b.plain that takes less room and more time.
func (b *buffers) packTightly() []byte {
	encoder, err := tight()
	if err != nil {
		return b.pack()
	}
	return encoder.EncodeAll(b.plain, nil)
}

// unpacker reads stored documents. It is for one goroutine.
type unpacker struct {
	zstd *zstd.Decoder // nil: not needed yet
	buf  []byte
}

func (u *unpacker) document(b []byte) (d index.Document, err error) {
	if err = u.unpack(b); err != nil {
		return d, err
	}
	d, _, err = index.ParseDocument(u.buf)
	return d, err
}

// unpack reads b into the buffer.
func (u *unpacker) unpack(b []byte) (err error) {
	switch {
	case len(b) > 0 && b[0] == packedS2:
		n, err := s2.DecodedLen(b[1:])
		if err != nil || n > maxDecoded {
			return errPacked
		}
		u.buf, err = s2.Decode(slices.Grow(u.buf[:0], n)[:n], b[1:])
		return err
	case len(b) > 0 && b[0] == packedZstd:
		if u.zstd == nil {
			if u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
				zstd.WithDecoderMaxMemory(maxDecoded)); err != nil {
				return err
			}
		}
		u.buf, err = u.zstd.DecodeAll(b, u.buf[:0])
		return err
	}
	return errPacked
}
