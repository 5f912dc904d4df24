package urlnorm

import (
	"net/netip"
	"strings"
)

// The plain parser accepts a reference only when every byte of it stands for itself. It leaves all
// others to the WHATWG parser, so a refusal here says nothing about the reference.

// Classes of bytes that stand for themselves, by position.
const (
	inHost = 1 << iota
	inPath
	inQuery
)

// class is read-only after initialisation. '%' counts as plain in a path and a query; the escape
// that follows is checked separately.
var class = func() (t [256]uint8) {
	mark := func(bytes string, as uint8) {
		for i := 0; i < len(bytes); i++ {
			t[bytes[i]] |= as
		}
	}
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		"0123456789"
	mark(lower+upper+digits+"-._", inHost|inPath|inQuery)
	mark("~!$&()*+,;=:@[]/%", inPath|inQuery)
	mark("?", inQuery)
	return t
}()

// plainAbsolute parses an absolute URL without white space around it.
func plainAbsolute(k *Packer, raw string) (URL, bool) {
	for _, prefix := range [...]string{"http://", "https://"} {
		if strings.HasPrefix(raw, prefix) {
			return plainAuthority(k, prefix, raw[len(prefix):])
		}
	}
	return URL{}, false
}

// plainAuthority parses host, port, path and query after "scheme://".
func plainAuthority(k *Packer, prefix, rest string) (URL, bool) {
	host, ok := plainHost(rest)
	if !ok {
		return URL{}, false
	}
	rest = rest[len(host):]
	port := ""
	if rest != "" && rest[0] == ':' {
		if port, ok = plainPort(rest); !ok {
			return URL{}, false
		}
		rest = rest[len(port):]
	}
	// Only a byte that ends an authority is accepted here: a '@', a '\' or a byte outside ASCII
	// must not be taken for the start of a path.
	if rest != "" && rest[0] != '/' && rest[0] != '?' && rest[0] != '#' {
		return URL{}, false
	}
	pathQuery, ok := plainPathQuery(rest)
	if !ok {
		return URL{}, false
	}
	if port == ":80" && prefix == "http://" || port == ":443" && prefix == "https://" {
		port = ""
	}
	return assemble(k, prefix, strings.ToLower(host), port, pathQuery)
}

// plainHost returns the host at the start of s: a dotted IPv4 address, or a name of plain labels. A
// plain label is not empty, does not begin or end with a hyphen and is not punycode. The last label
// must not begin with a digit: it might be a number, and the host an address in an unusual
// notation.
func plainHost(s string) (string, bool) {
	end, labelStart := 0, 0
	for ; end < len(s) && class[s[end]]&inHost != 0; end++ {
		if s[end] == '.' {
			if !plainLabel(s[labelStart:end]) {
				return "", false
			}
			labelStart = end + 1
		}
	}
	last := s[labelStart:end]
	if !plainLabel(last) {
		return "", false
	}
	if '0' <= last[0] && last[0] <= '9' {
		addr, err := netip.ParseAddr(s[:end])
		return s[:end], err == nil && addr.Is4()
	}
	return s[:end], true
}

// plainLabel leaves labels with a hyphen at an end, or at the third and fourth place, to the full
// parser.
func plainLabel(l string) bool {
	if l == "" || l[0] == '-' || l[len(l)-1] == '-' {
		return false
	}
	return len(l) < 4 || l[2] != '-' || l[3] != '-'
}

// plainPort returns the ":port" that s begins with, when it is one to five
// digits without leading zero and not a bad port.
func plainPort(s string) (string, bool) {
	n, end := 0, 1
	for ; end < len(s) && '0' <= s[end] && s[end] <= '9' && end <= 5; end++ {
		n = 10*n + int(s[end]-'0')
	}
	if end == 1 || s[1] == '0' || n > 65535 || badPort(n) {
		return "", false
	}
	return s[:end], true
}

// plainPathQuery returns s up to the fragment, with its escapes in upper case.
// s begins at a path segment's start, or with '/', '?' or '#'. No segment may
// begin with a dot, in clear or escaped, so there are no dot segments in it.
func plainPathQuery(s string) (string, bool) {
	want := uint8(inPath)
	segmentStart, lowerHex := true, false
	end := 0
scan:
	for ; end < len(s); end++ {
		c := s[end]
		if class[c]&want == 0 {
			switch {
			case c == '#':
				break scan
			case c == '?' && want == inPath:
				want = inQuery
				continue
			}
			return "", false
		}
		switch c {
		case '.':
			if segmentStart && want == inPath {
				return "", false
			}
		case '%':
			if end+2 >= len(s) || !isHex(s[end+1]) || !isHex(s[end+2]) {
				return "", false
			}
			if want == inPath && s[end+1] == '2' && s[end+2]|0x20 == 'e' {
				return "", false
			}
			lowerHex = lowerHex || s[end+1] >= 'a' || s[end+2] >= 'a'
		}
		segmentStart = c == '/'
	}
	if lowerHex {
		return upperEscapes(s[:end]), true
	}
	return s[:end], true
}

// plainRelative resolves ref, without white space around it, against u.
func (u URL) plainRelative(k *Packer, ref string) (URL, bool) {
	switch {
	case u.IsZero() || strings.HasPrefix(ref, "http"):
		return plainAbsolute(k, ref)
	case ref == "" || ref[0] == '#':
		return u.WithoutRoute(), true
	case strings.HasPrefix(ref, "//"):
		return plainAuthority(k, u.s[:u.hostStart], ref[len("//"):])
	}
	dir, rest := "", ref
	switch {
	case ref[0] == '?':
		dir = u.Path()
	case ref[0] != '/':
		var ok bool
		if dir, rest, ok = u.plainDirectory(ref); !ok {
			return URL{}, false
		}
	}
	rest, ok := plainPathQuery(rest)
	if !ok {
		return URL{}, false
	}
	return u.withPath(k, dir, rest)
}

// plainDirectory takes leading "./" and "../" off ref and returns the
// directory, ending in '/', to which the rest is relative.
func (u URL) plainDirectory(ref string) (dir, rest string, ok bool) {
	path := u.Path()
	dir = path[:strings.LastIndexByte(path, '/')+1]
	rest = ref
	for {
		switch {
		case strings.HasPrefix(rest, "./"):
			rest = rest[len("./"):]
		case strings.HasPrefix(rest, "../"):
			rest = rest[len("../"):]
			// One segment is removed; the root is its own parent.
			if parent := dir[:len(dir)-1]; parent != "" {
				dir = parent[:strings.LastIndexByte(parent, '/')+1]
			}
		default:
			return dir, rest, len(rest) < len(ref) || !mayHaveScheme(ref)
		}
	}
}

// mayHaveScheme reports whether ref has a ':' in its first segment.
func mayHaveScheme(ref string) bool {
	for i := 0; i < len(ref); i++ {
		switch ref[i] {
		case ':':
			return true
		case '/', '?', '#':
			return false
		}
	}
	return false
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// upperEscapes writes every percent escape of s in upper case (RFC 3986
// section 6.2.2.1). A '%' that begins no escape stays as it is.
func upperEscapes(s string) string {
	var b []byte
	for i := 0; i+2 < len(s); i++ {
		if s[i] != '%' || !isHex(s[i+1]) || !isHex(s[i+2]) {
			continue
		}
		if s[i+1] >= 'a' || s[i+2] >= 'a' {
			if b == nil {
				b = []byte(s)
			}
			b[i+1], b[i+2] = upper(s[i+1]), upper(s[i+2])
		}
		i += 2
	}
	if b == nil {
		return s
	}
	return string(b)
}

func upper(c byte) byte {
	if c >= 'a' {
		c -= 'a' - 'A'
	}
	return c
}
