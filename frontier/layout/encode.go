package layout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// Values are made of these pieces:
//
//	u      unsigned varint (encoding/binary)
//	i      zigzag varint
//	str    u length, then the bytes
//	time   i nanoseconds since 1970; 0 is the zero time. Those that say when something
//	       may be done are on the partition's timeline (timeline.go)
//	dur    i nanoseconds
//	rest   all bytes that are left
//
// Each value begins with the byte FormatVersion. A version that is not known
// is an error. What is new in a value stands behind a flag, so that older values
// are read as they are; the byte is raised only when the same bytes would mean
// something else. A program that does not know a flag reports the value as damaged.
// The versions of the data directory and of the protocol keep newer values from
// older programs (docs/decisions/0140-versions.md).
const FormatVersion = 1

// encoder appends pieces to a value.
type encoder struct{ b []byte }

func (w *encoder) byte(v byte) { w.b = append(w.b, v) }

func (w *encoder) u(v uint64) { w.b = binary.AppendUvarint(w.b, v) }

func (w *encoder) i(v int64) { w.b = binary.AppendVarint(w.b, v) }

func (w *encoder) rest(s string) { w.b = append(w.b, s...) }

func (w *encoder) bytes(b []byte) { w.b = append(w.b, b...) }

func (w *encoder) dur(d time.Duration) { w.i(int64(d)) }

func (w *encoder) str(s string) { w.u(uint64(len(s))); w.b = append(w.b, s...) }

func newEncoder(capacityBytes int) encoder {
	return encoder{append(make([]byte, 0, capacityBytes), FormatVersion)}
}

// n writes a small number that is never negative, as count reads it.
func (w *encoder) n(v int) { w.u(uint64(min(max(v, 0), math.MaxInt32))) }

// time clamps what nanoseconds cannot hold (before 1678, after 2262).
func (w *encoder) time(t time.Time) {
	switch {
	case t.IsZero():
		w.i(0)
	case t.Year() > 2261:
		w.i(1<<63 - 1)
	case t.Year() < 1679:
		w.i(-1 << 63)
	default:
		w.i(t.UnixNano())
	}
}

// decoder takes pieces off a value. After the first piece that cannot be read all
// others are zero, and end returns an error.
type decoder struct {
	b   []byte
	bad bool
}

func newDecoder(b []byte) decoder {
	r := decoder{b: b}
	if r.byte() != FormatVersion {
		r.fail()
	}
	return r
}

func (r *decoder) fail() { r.bad, r.b = true, nil }

func (r *decoder) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *decoder) u() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *decoder) i() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// small reads a number that must be below limit.
func (r *decoder) small(limit uint64) int {
	v := r.u()
	if v >= limit {
		r.fail()
		return 0
	}
	return int(v)
}

// count reads a number that must fit into 31 bits.
func (r *decoder) count() int { return r.small(1 << 31) }

func (r *decoder) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *decoder) str() string { return string(r.take(r.u())) }

func (r *decoder) dur() time.Duration { return time.Duration(r.i()) }

func (r *decoder) time() time.Time {
	n := r.i()
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// rest takes all that is left.
func (r *decoder) rest() []byte { return r.take(uint64(len(r.b))) }

// end returns an error unless every piece could be read and nothing is left.
func (r *decoder) end(what string) error {
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w: %s", ErrCorrupt, what)
	}
	return nil
}

// ErrCorrupt says that something in the store cannot be read as what it should be.
var ErrCorrupt = errors.New("frontier: damaged entry in the store")

// Of a URL only what stands behind the host is written: the host stands in the
// key, and the scheme is one bit.

func isHTTPS(u urlnorm.URL) bool { return u.Scheme() == "https" }

// behindHost is the port, if any, with the path and the query.
func behindHost(
	u urlnorm.URL,
) string {
	return u.String()[len(u.Scheme())+len("://")+len(u.Host()):]
}

func schemeOf(https bool) string {
	if https {
		return "https"
	}
	return "http"
}

// SameURL reports whether the pieces are those of u, whose host is known to be
// the same.
func SameURL(u urlnorm.URL, https bool, rest []byte) bool {
	return https == isHTTPS(u) && string(rest) == behindHost(u)
}

// JoinURL makes a URL of its pieces. The URL was canonical when it was written.
// ParseStored reads it unchanged, also when a newer canonical form differs.
func JoinURL(h crawl.Host, https bool, rest []byte) (urlnorm.URL, error) {
	text := JoinText(h, https, rest)
	u, err := urlnorm.ParseStored(text)
	if err != nil {
		return urlnorm.URL{}, fmt.Errorf("%w: URL %q: %w", ErrCorrupt, text, err)
	}
	if HostOf(u) != h {
		return urlnorm.URL{}, fmt.Errorf("%w: URL %q is not of host %s", ErrCorrupt, text, h)
	}
	return u, nil
}

// JoinText is the text of the URL that JoinURL makes, unchecked.
func JoinText(h crawl.Host, https bool, rest []byte) string {
	var b strings.Builder
	b.Grow(len("https://") + len(h) + len(rest))
	b.WriteString(schemeOf(https))
	b.WriteString("://")
	b.WriteString(string(h))
	b.Write(rest)
	return b.String()
}

// HostOf is the host of a URL, without its port.
func HostOf(u urlnorm.URL) crawl.Host { return crawl.Host(u.Host()) }
