package sitemap

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/html/charset"
	xunicode "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const gzipMagic = "\x1f\x8b\x08"

// Packed reports whether a file is gzipped.
func Packed(body []byte) bool { return bytes.HasPrefix(body, []byte(gzipMagic)) }

// decompress returns a reader of body, unpacked when it is gzip, even twice: a file that is
// compressed on the server may be compressed again for transfer. The reader fails with ErrTooLarge
// beyond MaxBytes.
func decompress(body []byte) (*bufio.Reader, error) {
	r := bufio.NewReader(bytes.NewReader(body))
	for range 2 {
		if magic, _ := r.Peek(len(gzipMagic)); !Packed(magic) {
			break
		}
		unpacked, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", ErrBroken, err)
		}
		r = bufio.NewReader(&limited{r: unpacked, left: MaxBytes})
	}
	return bufio.NewReader(&limited{r: r, left: MaxBytes}), nil
}

// limited is io.LimitedReader with an error at the limit.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		// Only an existing byte beyond the limit is too much.
		if n, err := l.r.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("%w: the file has more than %d bytes", ErrTooLarge, int64(MaxBytes))
	}
	n, err := l.r.Read(b[:min(int64(len(b)), l.left)])
	l.left -= int64(n)
	return n, err
}

// prologBytes is the part that may hold a byte order mark and an XML declaration.
const prologBytes = 512

var declaredEncoding = regexp.MustCompile(`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']`)

// decodeText returns r in UTF-8. The encoding is that of the byte order mark, of
// the Content-Type, or of the XML declaration; else UTF-8.
func decodeText(r *bufio.Reader, contentType string) *bufio.Reader {
	prolog, _ := r.Peek(prologBytes)
	label := ""
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		label = params["charset"]
	}
	if m := declaredEncoding.FindSubmatch(prolog); label == "" && m != nil {
		label = string(m[1])
	}
	switch {
	case bytes.HasPrefix(prolog, []byte("\xEF\xBB\xBF")):
		label = "utf-8"
	case bytes.HasPrefix(prolog, []byte("\xFE\xFF")):
		label = "utf-16be"
	case bytes.HasPrefix(prolog, []byte("\xFF\xFE")):
		label = "utf-16le"
	case strings.HasPrefix(strings.ToLower(label), "utf-16"):
		label = "" // without a mark, and the declaration was read as ASCII
	}
	enc, name := charset.Lookup(label)
	if enc == nil || name == "utf-8" {
		enc = xunicode.UTF8 // its decoder replaces what is not valid
	}
	return bufio.NewReader(transform.NewReader(r, enc.NewDecoder()))
}

const (
	maxTextRun = 64 << 10  // bytes between two tags, or of a CDATA section; what is beyond is left out
	maxTagRun  = 256 << 10 // bytes of one tag; a larger one ends the reading
)

// guard passes on the parts of a file that an XML parser needs: tags, text and CDATA sections,
// without control characters, which XML does not allow. Each is bounded, because the parser
// collects it whole. Comments, processing instructions and declarations hold no entries and are
// skipped. So the parser never sees an entity declaration, neither one that grows nor one that is
// stored elsewhere.
type guard struct {
	r        *bufio.Reader
	in       place
	run      int  // bytes since that place began
	entities bool // the file declares entities
}

// place is the kind of markup that a byte belongs to.
type place uint8

const (
	inText place = iota
	inTag
	inCDATA
)

// Read implements io.Reader; the XML parser uses ReadByte.
func (g *guard) Read(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		if b[n], err = g.ReadByte(); err == nil {
			n++
		}
	}
	return n, err
}

// ReadByte implements io.ByteReader.
func (g *guard) ReadByte() (byte, error) {
	for {
		c, err := g.r.ReadByte()
		if err != nil {
			return 0, err
		}
		g.run++
		switch {
		case c == '<' && g.in == inText:
			swallowed, err := g.markup()
			if err != nil {
				return 0, err
			}
			if swallowed {
				continue
			}
		case c == '>' && g.in == inTag:
			g.in, g.run = inText, 0
		case c == ']' && g.in == inCDATA && g.follows("]>"):
			g.in, g.run = inText, 0
		case c < ' ' && c != '\t' && c != '\n' && c != '\r':
			c = ' '
		}
		switch {
		case g.in == inTag && g.run > maxTagRun:
			return 0, fmt.Errorf("%w: a tag has more than %d bytes", ErrTooLarge, maxTagRun)
		case g.in == inTag || g.run <= maxTextRun:
			return c, nil
		}
	}
}

// follows reports whether the next bytes are those of s.
func (g *guard) follows(s string) bool {
	next, _ := g.r.Peek(len(s))
	return string(next) == s
}

// markup identifies what the '<' that was just read begins, and skips it unless it is a tag or a
// CDATA section.
func (g *guard) markup() (swallowed bool, err error) {
	switch {
	case g.follows("!--"):
		return true, g.swallow("-->")
	case g.follows("?"):
		return true, g.swallow("?>")
	case g.follows("![CDATA["):
		g.in, g.run = inCDATA, 0
		return false, nil
	case g.follows("!"):
		return true, g.declaration()
	}
	g.in, g.run = inTag, 0
	return false, nil
}

// swallow reads through end.
func (g *guard) swallow(end string) error {
	matched := 0 // bytes of end; each end repeats at most its first two bytes
	for matched < len(end) {
		c, err := g.r.ReadByte()
		switch {
		case err != nil:
			return cutOff(err)
		case c == end[matched]:
			matched++
		case c == '-' && matched == len("--"):
		case c == end[0]:
			matched = 1
		default:
			matched = 0
		}
	}
	g.run = 0
	return nil
}

// declaration reads "!DOCTYPE ...>" with all that is declared within.
func (g *guard) declaration() error {
	quote := byte(0)
	for depth := 1; depth > 0; {
		c, err := g.r.ReadByte()
		switch {
		case err != nil:
			return cutOff(err)
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			depth--
		case c == '<' && g.follows("!--"):
			if err := g.swallow("-->"); err != nil {
				return err
			}
		case c == '<':
			g.entities = g.entities || g.follows("!ENTITY")
			depth++
		}
	}
	g.run = 0
	return nil
}

// cutOff is the error of a file that ends where it must not.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// trim cuts white space off both ends, and invisible characters that are copied along with
// addresses.
func trim(s string) string {
	return strings.TrimFunc(s, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.Is(unicode.Cf, c) || c == '\uFFFD'
	})
}
