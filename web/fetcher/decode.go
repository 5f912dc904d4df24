package fetcher

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxCodings bounds the content codings stacked on one payload.
	maxCodings = 5
	// ratioFreeBytes is the decoded size below which the ratio is not checked.
	ratioFreeBytes = 1 << 20
	// maxWindowBytes bounds the memory that a zstd payload may require: the window that RFC 9659
	// allows senders over HTTP.
	maxWindowBytes = 8 << 20
)

// errTooManyCodings is DecodeErr of a payload with more codings than any real one.
var errTooManyCodings = fmt.Errorf("more than %d content codings", maxCodings)

// errNotCoded is in the chain of DecodeErr when a payload is used as it came.
var errNotCoded = errors.New("the payload does not have the content coding that its head names")

// plainBytes is how much of a payload is looked at by plain.
const plainBytes = 1 << 10

// plain reports whether a payload that no decoder takes is text as it is: some servers name a
// coding and do not apply it. Text has no binary data bytes (MIME Sniffing, section 3) and is UTF-8
// or for the most part ASCII; half of the bytes of compressed data are neither.
func plain(b []byte) bool {
	b = b[:min(len(b), plainBytes)]
	beyond := 0
	for _, c := range b {
		switch {
		case c < ' ' && c != '\t' && c != '\n' && c != '\f' && c != '\r' && c != 0x1b:
			return false
		case c >= 0x80:
			beyond++
		}
	}
	return len(b) > 0 && (4*beyond <= len(b) || utf8.Valid(withoutHalfRune(b)))
}

// withoutHalfRune cuts off the beginning of a character at the end of b.
func withoutHalfRune(b []byte) []byte {
	for range utf8.UTFMax - 1 {
		if r, size := utf8.DecodeLastRune(b); r != utf8.RuneError || size != 1 {
			break
		}
		b = b[:len(b)-1]
	}
	return b
}

// decoders keeps decoders for reuse; making a brotli reader costs 136 KB.
type decoders struct{ gzip, flate, zlib, brotli, zstd sync.Pool }

// decode sets Body, Truncated and DecodeErr of a response that has its RawBody and Header. The
// error is the cancellation by the caller while decode waited for memory.
func (x *exchange) decode(r *Response) *Error {
	r.Body = r.RawBody
	if len(r.RawBody) == 0 {
		return nil
	}
	codings, err := codingsOf(r.Header["Content-Encoding"])
	if err != nil {
		r.DecodeErr, r.Body = err, nil
		return nil
	}
	if len(codings) == 0 {
		return nil
	}
	limit := min(x.maxBody, unpackedMost(len(r.RawBody), x.f.o.MaxRatio))
	s := stack{d: &x.f.decoders, limit: x.maxBody}
	defer s.free()
	out := s.build(bytes.NewReader(r.RawBody), codings)
	if s.err != nil {
		if r.DecodeErr, r.Body = s.err, nil; plain(r.RawBody) {
			r.Body, r.DecodeErr = r.RawBody, fmt.Errorf("%w, and is text without: %w", errNotCoded, s.err)
		}
		return nil
	}
	if s.depth == 0 {
		return nil
	}
	x.bufs[1] = x.f.bodies.Get().(*[]byte)
	body, cut, err := x.drain(&s, out, limit, expected(r, codings))
	if errors.Is(err, errNoMemory) {
		return x.failed(true, err)
	}
	r.Body, r.DecodeErr = body, err
	// A coded payload that was cut by us, on the wire or between two codings, ends early; that is
	// no error.
	if r.Truncated == "" && (s.cut || cut) {
		r.Truncated = CutLength
	}
	if r.Truncated != "" && errors.Is(err, io.ErrUnexpectedEOF) {
		r.DecodeErr = nil
	}
	if r.DecodeErr != nil && plain(r.RawBody) {
		r.Body, r.DecodeErr = r.RawBody, fmt.Errorf("%w, and is text without: %w", errNotCoded, err)
	}
	return nil
}

// expected is the likely size of a decoded payload: what a gzip file says at its end, the size
// modulo 2^32 (RFC 1952, section 2.3.1), or four times what was received. Who lies about it wins no
// more memory than a payload of firstSpool gets.
func expected(r *Response, codings []string) int64 {
	if n := len(r.RawBody); len(codings) == 1 && strings.HasSuffix(codings[0], "gzip") &&
		r.Truncated == "" && n >= 18 {
		return int64(binary.LittleEndian.Uint32(r.RawBody[n-4:]))
	}
	return 4 * int64(len(r.RawBody))
}

// drain reads the decoded payload. A decoder that panics on a payload spoils only that payload.
func (x *exchange) drain(
	s *stack,
	out io.Reader,
	limit, expect int64,
) (body []byte, cut bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.frees = nil // do not reuse a decoder that panicked
			body, err = nil, fmt.Errorf("the decoder gave up: %v", cause)
		}
	}()
	return x.fill(x.bufs[1], out, limit, x.maxBody, expect)
}

// codingsOf lists the content codings in the order in which they were applied. Values without
// effect (identity) and unknown ones (utf-8, none: both are seen) are left out, as browsers do.
func codingsOf(headers []string) ([]string, error) {
	var out []string
	for _, h := range headers {
		for c := range strings.SplitSeq(h, ",") {
			switch c = strings.ToLower(strings.TrimSpace(c)); c {
			case "gzip", "x-gzip", "deflate", "br", "zstd":
				if out = append(out, c); len(out) > maxCodings {
					return nil, errTooManyCodings
				}
			}
		}
	}
	return out, nil
}

// stack is the readers of one payload, innermost coding last.
type stack struct {
	d     *decoders
	limit int64 // bytes that each stage but the last may produce
	depth int
	frees []func()
	cut   bool // a stage reached its limit
	err   error
}

// build puts a reader over r for each coding, the last applied first. A payload that does not start
// as its coding requires (some servers send plain text) is passed on unchanged.
func (s *stack) build(r io.Reader, codings []string) io.Reader {
	for i := len(codings) - 1; i >= 0 && s.err == nil; i-- {
		if s.depth > 0 {
			r = &stage{r: r, left: s.limit, cut: &s.cut}
		}
		if _, ok := r.(*bytes.Reader); !ok {
			r = bufio.NewReader(r)
		}
		r = s.one(r, peek(r), codings[i])
	}
	return r
}

// one puts one decoder over r, which starts with start. r is a *bytes.Reader or a *bufio.Reader:
// flate has loops for those two, which take a quarter less time than the one for any other
// io.ByteReader, and reads no more from them than it needs.
func (s *stack) one(r io.Reader, start []byte, coding string) io.Reader {
	switch coding {
	case "gzip", "x-gzip":
		if !bytes.HasPrefix(start, gzipMagic) {
			return r
		}
		return s.gzip(r)
	case "deflate": // RFC 9110 means zlib; some servers send the bare stream
		if len(start) == 2 && start[0]&0x0f == 8 && (int(start[0])<<8|int(start[1]))%31 == 0 {
			return s.zlib(r)
		}
		return s.flate(r)
	case "br":
		return s.brotli(r)
	default:
		return s.zstd(r)
	}
}

func (s *stack) gzip(r io.Reader) io.Reader {
	z, _ := s.d.gzip.Get().(*gzip.Reader)
	if z == nil {
		z = new(gzip.Reader)
	}
	s.took(func() { s.d.gzip.Put(z) })
	s.err = z.Reset(r)
	z.Multistream(false)
	return &members{z: z, r: r}
}

// members reads the members of a gzip payload, one behind the other. Bytes behind a member that
// start no other one are ignored, as in browsers.
type members struct {
	z    *gzip.Reader
	r    io.Reader
	done bool
}

func (m *members) Read(p []byte) (int, error) {
	if m.done {
		return 0, io.EOF
	}
	for {
		n, err := m.z.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		if m.done = !bytes.HasPrefix(peek(m.r), gzipMagic) || m.z.Reset(m.r) != nil; m.done {
			return n, io.EOF
		}
		if m.z.Multistream(false); n > 0 {
			return n, nil
		}
	}
}

var gzipMagic = []byte{0x1f, 0x8b}

// peek is the next two bytes of a *bytes.Reader or a *bufio.Reader, or fewer at the end.
func peek(r io.Reader) []byte {
	if b, ok := r.(*bytes.Reader); ok {
		start := make([]byte, 2)
		n, _ := b.ReadAt(start, b.Size()-int64(b.Len())) // an error is an end, and so is n
		return start[:n]
	}
	start, _ := r.(*bufio.Reader).Peek(2)
	return start
}

// tolerant ends a payload at bytes behind its end for which a decoder has an error of its own.
type tolerant struct {
	r      io.Reader
	behind func(error) bool
	some   bool // something was decoded
}

func (t *tolerant) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.some = t.some || n > 0
	if err != nil && t.some && t.behind(err) {
		err = io.EOF
	}
	return n, err
}

func (s *stack) zlib(r io.Reader) io.Reader {
	z, _ := s.d.zlib.Get().(io.ReadCloser)
	if z == nil {
		if z, s.err = zlib.NewReader(r); s.err != nil {
			return nil
		}
	} else {
		s.err = z.(zlib.Resetter).Reset(r, nil)
	}
	s.took(func() { s.d.zlib.Put(z) })
	return z
}

func (s *stack) flate(r io.Reader) io.Reader {
	z, _ := s.d.flate.Get().(io.ReadCloser)
	if z == nil {
		z = flate.NewReader(r)
	} else {
		s.err = z.(flate.Resetter).Reset(r, nil)
	}
	s.took(func() { s.d.flate.Put(z) })
	return z
}

func (s *stack) brotli(r io.Reader) io.Reader {
	z, _ := s.d.brotli.Get().(*brotli.Reader)
	if z == nil {
		z = brotli.NewReader(r)
	} else {
		s.err = z.Reset(r)
	}
	s.took(func() { s.d.brotli.Put(z) })
	return &tolerant{
		r:      z,
		behind: func(err error) bool { return err.Error() == "brotli: excessive input" },
	}
}

// zstd decodes in the caller's goroutine (concurrency 1). The other modes of the library leave
// goroutines behind when a payload is not read to its end.
func (s *stack) zstd(r io.Reader) io.Reader {
	z, _ := s.d.zstd.Get().(*zstd.Decoder)
	if z == nil {
		z, s.err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindowBytes))
		if s.err != nil {
			return nil
		}
	}
	s.took(func() {
		z.Reset(nil) // lets go of r
		s.d.zstd.Put(z)
	})
	s.err = z.Reset(r)
	return &tolerant{
		r:      z,
		behind: func(err error) bool { return errors.Is(err, zstd.ErrMagicMismatch) },
	}
}

func (s *stack) took(free func()) {
	s.depth++
	s.frees = append(s.frees, free)
}

// free returns the decoders to their pools.
func (s *stack) free() {
	for _, f := range s.frees {
		f()
	}
}

// stage bounds the output of an inner coding.
type stage struct {
	r    io.Reader
	left int64
	cut  *bool
}

func (s *stage) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, s.atLimit()
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	return n, err
}

// atLimit tells the real end from an end caused by the limit.
func (s *stage) atLimit() error {
	var more [1]byte
	n, err := io.ReadFull(s.r, more[:])
	if n == 0 {
		return err
	}
	*s.cut = true
	return io.EOF
}
