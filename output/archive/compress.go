package archive

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"crawlnode/crawl"
)

// Compression is how the records of a file are compressed, each on its own. A folder may contain
// files of both kinds.
type Compression string

// The compressions.
const (
	Gzip Compression = "gzip" // one member a record, in .warc.gz
	Zstd Compression = "zstd" // one frame a record, without dictionary, in .warc.zst
)

// suffixes are the ends of the names of WARC files.
var suffixes = map[Compression]string{Gzip: ".warc.gz", Zstd: ".warc.zst"}

// plainSuffix ends the names of WARC files of others that are not compressed; they are only read.
const plainSuffix = ".warc"

// compressionOf returns a finished file's compression by its name; "" if it is not a WARC file.
func compressionOf(name string) Compression {
	for c, suffix := range suffixes {
		if strings.HasSuffix(name, suffix) {
			return c
		}
	}
	return ""
}

// Window sizes of zstd, which determine its memory.
const (
	// encodeWindow is the window of an encoder; each encoder takes about 3 MB.
	encodeWindow = 1 << 20
	// decodeWindow is the largest window that is read; RFC 8878 asks for at least as much.
	decodeWindow = 8 << 20
)

// compressor makes one member of each stream between Reset and Close.
type compressor interface {
	io.WriteCloser
	Reset(to io.Writer)
}

func newCompressor(c Compression) compressor {
	if c == Gzip {
		return newGzip(gzip.BestSpeed)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(encodeWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(true))
	if err != nil {
		panic("BUG: zstd: " + err.Error()) // the options are constants
	}
	return z
}

func newGzip(level int) *gzip.Writer {
	z, err := gzip.NewWriterLevel(nil, level)
	if err != nil {
		panic("BUG: gzip: " + err.Error()) // the level is a constant
	}
	return z
}

// plainBytes is the record size from which compression pays. A request has about 700 bytes: its own
// Huffman tables take 20 us, a thirtieth of the cost of a page, and save 200 bytes, a thirtieth of
// its size on disk.
const plainBytes = 1 << 10

// denseBytes is the size from which a payload that is compressed already is stored as it is.
// Compressing it again takes 20 to 80 us for 8 KB, by its coding, and saves nothing of it
// (BenchmarkPut/coded); only its heads, some 1,200 bytes, would shrink.
const denseBytes = 4 << 10

// isDense reports whether the payload of a capture is compressed already: by a content coding, or
// by its format.
func isDense(c *crawl.Capture) bool {
	if c.Coded {
		return true
	}
	kind, format, _ := strings.Cut(c.ContentType, "/")
	switch kind {
	case "image":
		return format == "jpeg" || format == "png" || format == "gif" || format == "webp" ||
			format == "avif"
	case "video":
		return true
	case "audio":
		return format == "mpeg" || format == "mp4" || format == "ogg" || format == "aac" ||
			format == "webm"
	case "font":
		return format == "woff" || format == "woff2"
	case "application":
		return format == "zip" || format == "gzip" || format == "x-7z-compressed" || format == "x-xz" ||
			format == "zstd"
	}
	return false
}

// decompressor reads members of both kinds, one after the other, and reuses its memory.
type decompressor struct {
	gz    gzip.Reader
	zstd  *zstd.Decoder // nil before the first frame
	frame frame
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// open returns a reader of the contents of the member that begins at in. Only reading to the end
// checks the member's checksum, and leaves in right after the member.
func (d *decompressor) open(in *bufio.Reader) (io.Reader, error) {
	magic, err := in.Peek(len(zstdMagic))
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		if err := d.gz.Reset(in); err != nil {
			return nil, err
		}
		d.gz.Multistream(false)
		return &d.gz, nil
	case bytes.Equal(magic, zstdMagic):
		d.frame = frame{in: in}
		if d.zstd == nil {
			// Concurrency 1 decodes in the caller's goroutine. The memory is bounded by the window,
			// since the input is a stream.
			d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(decodeWindow))
			if err != nil {
				panic("BUG: " + err.Error()) // the options are constants
			}
		}
		if err := d.zstd.Reset(&d.frame); err != nil {
			return nil, err
		}
		return d.zstd, nil
	case err != nil:
		return nil, err
	}
	if len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18}) {
		return nil, errors.New("a frame of zstd that holds no record begins here, such as a " +
			"dictionary: files that need one are not read; compress it again without")
	}
	return nil, errors.New("neither a record nor a gzip member or zstd frame with one begins here")
}

func (d *decompressor) close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}

// frame reads the bytes of one zstd frame and no more: the decoder would continue with the next
// frame, and could not tell where one ends. RFC 8878, section 3.1.1.
type frame struct {
	in    *bufio.Reader
	piece []byte // header bytes that were read and not returned yet
	left  int64  // remaining bytes of the current block
	state frameState
	sum   bool // a checksum ends the frame
}

type frameState uint8

const (
	atHeader frameState = iota
	atBlock
	atLastBlock // the current block is the last one
	atChecksum
	atEnd
)

// Read returns the frame's bytes unchanged.
func (f *frame) Read(p []byte) (int, error) {
	for {
		switch {
		case len(p) == 0:
			return 0, nil
		case len(f.piece) > 0:
			n := copy(p, f.piece)
			f.piece = f.piece[n:]
			return n, nil
		case f.left > 0:
			n, err := f.in.Read(p[:min(int64(len(p)), f.left)])
			f.left -= int64(n)
			if n > 0 {
				err = nil
			}
			return n, noEOF(err)
		case f.state == atEnd:
			return 0, io.EOF
		}
		if err := f.next(); err != nil {
			return 0, noEOF(err)
		}
	}
}

// next reads the header of the frame or of a block, or the bytes after the last block.
func (f *frame) next() error {
	switch f.state {
	case atHeader:
		return f.header()
	case atBlock:
		return f.block()
	case atLastBlock:
		f.state = atChecksum
		if f.sum {
			f.left = 4
		}
	case atChecksum:
		f.state = atEnd
	case atEnd:
	}
	return nil
}

// header reads the frame's header.
func (f *frame) header() error {
	head, err := f.in.Peek(len(zstdMagic) + 1)
	if err != nil {
		return err
	}
	descriptor := head[len(zstdMagic)]
	single := descriptor>>5&1 == 1
	size := len(head) + [4]int{0, 1, 2, 4}[descriptor&3] + [4]int{0, 2, 4, 8}[descriptor>>6]
	if single && descriptor>>6 == 0 || !single {
		size++ // one byte for the content's size or for the window
	}
	f.piece = make([]byte, size)
	if _, err := io.ReadFull(f.in, f.piece); err != nil {
		return err
	}
	if descriptor&3 != 0 {
		return errors.New("the frame needs a dictionary, which is not available")
	}
	f.sum, f.state = descriptor>>2&1 == 1, atBlock
	return nil
}

// block reads the header of a block.
func (f *frame) block() error {
	head := make([]byte, 4)
	if _, err := io.ReadFull(f.in, head[:3]); err != nil {
		return err
	}
	f.piece = head[:3]
	h := binary.LittleEndian.Uint32(head)
	if f.left = int64(h >> 3); h>>1&3 == 1 {
		f.left = 1 // one byte, repeated
	}
	if h>>1&3 == 3 {
		return fmt.Errorf("block header %#x has an unknown type", h)
	}
	if h&1 == 1 {
		f.state = atLastBlock
	}
	return nil
}
