package urlnorm

import (
	"errors"
	"strconv"
	"strings"
)

// MaxLen is the length limit of a canonical URL, in bytes: the limit that browsers and search
// engines have used for decades.
const MaxLen = 2083

// The classes of refusal. Every error of this package matches exactly one of
// them with errors.Is.
var (
	// ErrTooLong: the canonical form is longer than MaxLen.
	ErrTooLong = errors.New("URL is longer than 2083 bytes")
	// ErrScheme: an absolute URL of another scheme than http and https.
	ErrScheme = errors.New("not an http or https URL")
	// ErrInvalid: the WHATWG standard refuses the URL, its port is one that
	// browsers refuse to fetch, or its host has no name.
	ErrInvalid = errors.New("not a valid URL")
)

// URL is a canonical absolute http or https URL. The zero value is no URL.
// Values are made by this package only; they are immutable
// and can be compared with == and used as map keys.
type URL struct {
	s string // the canonical form, at most MaxLen bytes
	// Offsets into s; MaxLen keeps them far below the limit of uint16.
	hostStart uint16 // the host's first byte
	hostEnd   uint16 // the byte behind the host: ':' or '/'
	pathStart uint16 // the path's first byte, always '/'
	// The '#' of a route (WithRoute); 0: there is none.
	routeStart uint16
}

// Parse reads an absolute URL. Leading and trailing white space is ignored, as
// the standard demands. The result does not share memory with raw.
func Parse(raw string) (URL, error) {
	if u, ok := plainAbsolute(nil, trim(raw)); ok {
		return u, nil
	}
	return whatwgParse("", raw)
}

// Resolve reads ref, as found in a document whose base URL is u: absolute,
// relative to the scheme ("//host/"), to the origin ("/path"), to the directory
// ("path") or to the page itself ("?query", "#fragment", ""). The result does
// not share memory with ref. Resolving against the zero URL is Parse.
func (u URL) Resolve(ref string) (URL, error) { return u.resolve(nil, ref) }

// ResolveBytes is Resolve for a reference out of a header, such as Location, which is made of bytes
// and not of characters: one that is not UTF-8 keeps its value, where Resolve puts U+FFFD.
func (u URL) ResolveBytes(ref string) (URL, error) { return u.Resolve(escapeBytes(ref)) }

func (u URL) resolve(k *Packer, ref string) (URL, error) {
	if v, ok := u.plainRelative(k, trim(ref)); ok {
		return v, nil
	}
	return whatwgParse(u.WithoutRoute().s, ref)
}

// String returns the canonical form; the zero URL gives "".
func (u URL) String() string { return u.s }

// Host returns the lower-case host name or IP literal (IPv6 in brackets), without port.
func (u URL) Host() string { return u.s[u.hostStart:u.hostEnd] }

// Scheme returns "http" or "https".
func (u URL) Scheme() string { return u.s[:max(int(u.hostStart)-len("://"), 0)] }

// Origin returns scheme, host and port, e.g. "http://example.org:8080".
func (u URL) Origin() string { return u.s[:u.pathStart] }

// Port returns the port of the URL's server, and 0 for the zero URL.
func (u URL) Port() uint16 {
	port := map[string]uint16{"http": 80, "https": 443}[u.Scheme()]
	if given, ok := strings.CutPrefix(u.s[u.hostEnd:u.pathStart], ":"); ok {
		n, err := strconv.ParseUint(given, 10, 16)
		if err != nil {
			panic("BUG: a canonical URL has the port " + given)
		}
		port = uint16(n)
	}
	return port
}

// PathQuery returns the path with the query, beginning with "/", as in a request line.
func (u URL) PathQuery() string {
	if u.routeStart > 0 {
		return u.s[u.pathStart:u.routeStart]
	}
	return u.s[u.pathStart:]
}

// Path returns the path without the query, beginning with "/".
func (u URL) Path() string {
	p := u.PathQuery()
	if q := strings.IndexByte(p, '?'); q >= 0 {
		p = p[:q]
	}
	return p
}

// Query returns the query without its "?". It is "" both for a URL that ends in "?" and for one
// without a query.
func (u URL) Query() string {
	_, q, _ := strings.Cut(u.PathQuery(), "?")
	return q
}

// IsZero reports whether u is the zero URL.
func (u URL) IsZero() bool { return u.s == "" }

// MarshalText gives the canonical form, and nothing for the zero URL.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.s), nil }

// UnmarshalText is Parse for package encoding; empty text gives the zero URL.
func (u *URL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*u = URL{}
		return nil
	}
	v, err := Parse(string(text))
	if err != nil {
		return err
	}
	*u = v
	return nil
}

// assemble builds a URL from canonical parts. prefix is "http://" or "https://", port is "" or
// ":8080", pathQuery begins with "/" or "?" or is empty. It reports false when the result is longer
// than MaxLen.
func assemble(k *Packer, prefix, host, port, pathQuery string) (URL, bool) {
	slash := ""
	if pathQuery == "" || pathQuery[0] != '/' {
		slash = "/"
	}
	if len(prefix)+len(host)+len(port)+len(slash)+len(pathQuery) > MaxLen {
		return URL{}, false
	}
	hostEnd := len(prefix) + len(host)
	return URL{
		s:         k.join(prefix, host, port, slash, pathQuery),
		hostStart: uint16(len(prefix)),
		hostEnd:   uint16(hostEnd),
		pathStart: uint16(hostEnd + len(port)),
	}, true
}

// withPath returns the URL of u's origin with the canonical path and query
// dir+rest; dir begins with '/'. It reports false when the whole is too long.
func (u URL) withPath(k *Packer, dir, rest string) (URL, bool) {
	// No canonical path has a '^', but some stored ones do (ParseStored).
	if int(u.pathStart)+len(dir)+len(rest) > MaxLen || strings.IndexByte(dir, '^') >= 0 {
		return URL{}, false
	}
	v := u
	v.s, v.routeStart = k.join(u.s[:u.pathStart], dir, rest, "", ""), 0
	return v, true
}

// trim cuts C0 controls and spaces off both ends.
func trim(s string) string {
	for len(s) > 0 && s[0] <= ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}
