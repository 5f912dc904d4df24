package urlnorm

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	whatwgerrors "github.com/nlnwa/whatwg-url/errors"
	whatwg "github.com/nlnwa/whatwg-url/url"
)

// maxRaw bounds the input of the WHATWG parser, whose memory is proportional to it: in bytes,
// without the fragment. The longest reference that can still have a short canonical form is one
// with many dot segments.
const maxRaw = 8 * MaxLen

// whatwgParse reads ref with the full parser, against base unless that is "".
func whatwgParse(base, ref string) (URL, error) {
	ref = trim(ref)
	if hasOtherScheme(ref) {
		return URL{}, fmt.Errorf("%w: %q", ErrScheme, short(ref))
	}
	// The '#' stays: white space after it is trimmed, before it escaped.
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i+1]
	}
	if len(ref) > maxRaw {
		return URL{}, fmt.Errorf("%w: %q", ErrTooLong, short(ref))
	}
	if !decodable(base) {
		base = "" // u is an earlier form (ParseStored), whose host stays as it is
	}
	if !decodable(ref) {
		return URL{}, fmt.Errorf("%w: %q: a label of the host begins with xn-- and is not valid punycode",
			ErrInvalid, short(ref))
	}
	p, host, err := parseRef(base, ref)
	switch {
	case whatwgerrors.Type(err) == whatwgerrors.MissingSchemeNonRelativeURL:
		return URL{}, fmt.Errorf("%w: %q has no scheme: write https:// before it", ErrInvalid, short(ref))
	case err != nil:
		return URL{}, fmt.Errorf("%w: %q: %v", ErrInvalid, short(ref), err)
	}
	return canonical(p, host, ref)
}

// canonical converts the standard's result for ref into our form.
func canonical(p *whatwg.Url, host, ref string) (URL, error) {
	if p.Scheme() != "http" && p.Scheme() != "https" {
		return URL{}, fmt.Errorf("%w: %q", ErrScheme, short(ref))
	}
	// A single dot at the end of a name is the root and has no meaning. Two are an empty label,
	// which no name server knows.
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || strings.HasSuffix(host, ".") {
		return URL{}, fmt.Errorf("%w: %q has no host name", ErrInvalid, short(ref))
	}
	if strings.Contains(host, "xn--") && !stable(host) {
		return URL{}, fmt.Errorf("%w: %q: a label of the host is not a valid name in punycode",
			ErrInvalid, short(ref))
	}
	port := p.Port()
	if port != "" {
		if n, err := strconv.Atoi(port); err != nil || badPort(n) {
			return URL{}, fmt.Errorf("%w: %q: port %s is used by another protocol than HTTP", ErrInvalid,
				short(ref), port)
		}
		port = ":" + port
	}
	// The parser keeps a '^', which the standard escapes in a path since 2025.
	pathQuery := strings.ReplaceAll(p.Pathname(), "^", "%5E")
	// Href tells an empty query ("/?") from none; Search does not.
	if _, query, ok := strings.Cut(p.Href(true), "?"); ok {
		pathQuery += "?" + query
	}
	u, ok := assemble(nil, p.Scheme()+"://", host, port, upperEscapes(pathQuery))
	if !ok {
		return URL{}, fmt.Errorf("%w: %q", ErrTooLong, short(ref))
	}
	return u, nil
}

// hasOtherScheme reports whether ref begins with a scheme that is neither http nor https (data:,
// mailto:, javascript: ...). It keeps megabytes of inline images away from the parser, and gives
// broken URLs of other schemes the right error class.
func hasOtherScheme(ref string) bool {
	for i := 0; i < len(ref); i++ {
		switch c := ref[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return !strings.EqualFold(ref[:i], "http") && !strings.EqualFold(ref[:i], "https")
		default:
			return false
		}
	}
	return false
}

// short cuts s for an error message.
func short(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// escapeBytes percent-encodes each byte that is not UTF-8.
func escapeBytes(ref string) string {
	if utf8.ValidString(ref) {
		return ref
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for len(ref) > 0 {
		r, n := utf8.DecodeRuneInString(ref)
		if r == utf8.RuneError && n == 1 {
			b.Write([]byte{'%', digits[ref[0]>>4], digits[ref[0]&15]})
		} else {
			b.WriteString(ref[:n])
		}
		ref = ref[n:]
	}
	return b.String()
}
