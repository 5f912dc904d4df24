package urlnorm

import (
	"fmt"
	"strconv"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// maxRaw bounds, in bytes and without its fragment, what is given to the
// WHATWG parser, which takes memory in proportion. The longest reference that
// can still have a short canonical form is one with many dot segments.
const maxRaw = 8 * MaxLen

// whatwgParse reads ref with the full parser, against base unless that is "".
func whatwgParse(base, ref string) (URL, error) {
	ref = trim(ref)
	if hasOtherScheme(ref) {
		return URL{}, fmt.Errorf("%w: %q", ErrScheme, short(ref))
	}
	// The '#' stays: behind it white space is trimmed, before it escaped.
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i+1]
	}
	if len(ref) > maxRaw {
		return URL{}, fmt.Errorf("%w: %q", ErrTooLong, short(ref))
	}
	if !decodable(base) {
		base = "" // of an earlier form (ParseStored): no other host can be made of it
	}
	if !decodable(ref) {
		return URL{}, fmt.Errorf("%w: %q: a label of the host begins with xn-- and is no punycode", ErrInvalid, short(ref))
	}
	p, host, err := parseRef(base, ref)
	if err != nil {
		return URL{}, fmt.Errorf("%w: %q: %v", ErrInvalid, short(ref), err)
	}
	return canonical(p, host, ref)
}

// canonical brings what the standard made of ref into our form.
func canonical(p *whatwg.Url, host, ref string) (URL, error) {
	if p.Scheme() != "http" && p.Scheme() != "https" {
		return URL{}, fmt.Errorf("%w: %q", ErrScheme, short(ref))
	}
	// One dot behind a name is its root and says nothing. Two are an empty
	// label, which no name server knows.
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || strings.HasSuffix(host, ".") {
		return URL{}, fmt.Errorf("%w: %q has no host name", ErrInvalid, short(ref))
	}
	if strings.Contains(host, "xn--") && !stable(host) {
		return URL{}, fmt.Errorf("%w: %q: a label of the host is no name in punycode", ErrInvalid, short(ref))
	}
	port := p.Port()
	if port != "" {
		if n, err := strconv.Atoi(port); err != nil || badPort(n) {
			return URL{}, fmt.Errorf("%w: %q: port %s is used by another protocol than HTTP", ErrInvalid, short(ref), port)
		}
		port = ":" + port
	}
	// The parser keeps a '^', which the standard escapes in a path since 2025.
	pathQuery := strings.ReplaceAll(p.Pathname(), "^", "%5E")
	// Href tells an empty query ("/?") from none, Search does not.
	if _, query, ok := strings.Cut(p.Href(true), "?"); ok {
		pathQuery += "?" + query
	}
	u, ok := assemble(p.Scheme()+"://", host, port, upperEscapes(pathQuery))
	if !ok {
		return URL{}, fmt.Errorf("%w: %q", ErrTooLong, short(ref))
	}
	return u, nil
}

// hasOtherScheme reports whether ref begins with a scheme that is neither http
// nor https (data:, mailto:, javascript: ...). It spares the parser megabytes
// of inline images, and gives broken URLs of other schemes the right class.
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
