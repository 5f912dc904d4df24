package sitemap

import (
	"bufio"
	"bytes"
	"compress/gzip"
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

// decompress returns a reader of body, unpacked when it is gzip, also twice: a
// file that lies compressed on a server may be compressed again on the way. The
// reader fails with ErrTooLarge behind MaxBytes.
func decompress(body []byte) (*bufio.Reader, error) {
	r := bufio.NewReader(bytes.NewReader(body))
	for range 2 {
		magic, _ := r.Peek(3)
		if !bytes.Equal(magic, []byte("\x1f\x8b\x08")) {
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
		// Only what is really there is too much.
		if n, err := l.r.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("%w: the file has more than %d bytes", ErrTooLarge, int64(MaxBytes))
	}
	n, err := l.r.Read(b[:min(int64(len(b)), l.left)])
	l.left -= int64(n)
	return n, err
}

// prologBytes is where a byte order mark and an XML declaration stand.
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
	maxTextRun = 64 << 10 // bytes between two tags; what is beyond is left out
	maxTagRun  = 1 << 20  // bytes of one tag; a larger one ends the reading
)

// guard passes XML on such that its parser neither stops at control characters,
// which XML does not allow, nor gathers megabytes of text or of one tag.
type guard struct {
	r     io.Reader
	inTag bool
	run   int // bytes since the tag or the text began
}

// Read implements io.Reader.
func (g *guard) Read(b []byte) (int, error) {
	for {
		n, err := g.r.Read(b)
		kept := b[:0]
		for _, c := range b[:n] {
			g.run++
			switch {
			case c == '<':
				g.inTag, g.run = true, 0
			case c == '>' && g.inTag:
				g.inTag, g.run = false, 0
			case c < ' ' && c != '\t' && c != '\n' && c != '\r':
				c = ' '
			}
			if g.inTag && g.run > maxTagRun {
				return len(kept), fmt.Errorf("%w: a tag has more than %d bytes", ErrTooLarge, maxTagRun)
			}
			if g.inTag || g.run <= maxTextRun {
				kept = append(kept, c)
			}
		}
		if len(kept) > 0 || err != nil || len(b) == 0 {
			return len(kept), err
		}
	}
}

// trim cuts white space off both ends, and the invisible characters that get
// copied along with addresses.
func trim(s string) string {
	return strings.TrimFunc(s, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.Is(unicode.Cf, c) || c == '\uFFFD'
	})
}
