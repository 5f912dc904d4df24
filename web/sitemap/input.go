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

var declaredEncoding = regexp.MustCompile(
	`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']`)

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

// trim cuts white space off both ends, and invisible characters that are copied along with
// addresses.
func trim(s string) string {
	return strings.TrimFunc(s, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) ||
			c == '\uFFFD'
	})
}
