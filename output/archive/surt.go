package archive

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Key is the key of a URL in an index: what pywb and the Wayback Machine look a URL up by, which is
// surt(url) of the Python package surt with its defaults. Scheme, user and fragment do not count;
// the host's labels stand in reverse order without "www", "www2" and the like; default ports go;
// escapes are undone as often as there are any, and then made for what has to be escaped; path and
// query are in lower case, without empty and dot segments, without a slash at the end and without
// the usual session ids; the parameters are sorted.
//
//	https://www.Example.org:8080/A//b/?z=%61&a=2  ->  org,example:8080)/a/b?a=2&z=a
//
// Several URLs may have one key: it says where in an index a URL stands, not which one it is.
// What has no host, such as urn:view:..., is its own key. A key never has a space.
func Key(url string) string {
	if url == "" {
		return "-"
	}
	if key, ok := surt(url); ok {
		return key
	}
	return strings.ReplaceAll(url, " ", "%20")
}

// surt makes the key of a URL with a host. Not ok: it has none, or its port is no number.
func surt(url string) (key string, ok bool) {
	if strings.HasPrefix(url, "filedesc") {
		return "", false
	}
	scheme, host, port, path, query := split(url)
	if host = keyHost(host); host == "" {
		return "", false
	}
	b := make([]byte, 0, len(url)+len(host)/2)
	for i := len(host); i >= 0; { // the labels from the last to the first
		j := strings.LastIndexByte(host[:i], '.')
		b = append(b, host[j+1:i]...)
		if i = j; i >= 0 {
			b = append(b, ',')
		}
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", false
		}
		lower := strings.ToLower(scheme)
		if n != 0 && (lower != "http" || n != 80) && (lower != "https" || n != 443) {
			b = strconv.AppendUint(append(b, ':'), n, 10)
		}
	}
	b = append(append(b, ')'), keyPath(path)...)
	if query = keyQuery(query); query != "" {
		b = append(append(b, '?'), query...)
	}
	return string(b), true
}

// split takes a URL apart, without user and fragment. A URL without a scheme is one of http.
func split(url string) (scheme, host, port, path, query string) {
	url = strings.Trim(url, " \t\n\r\v\f")
	if strings.ContainsAny(url, "\n\r\t") {
		url = strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(url)
	}
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok || !isScheme(scheme) {
		scheme, rest = "http", "//"+url
	}
	for scheme == "http" || scheme == "https" { // http://https://host/
		after, http := strings.CutPrefix(rest, "//http://")
		if !http {
			after, ok = strings.CutPrefix(rest, "//https://")
			if !ok {
				break
			}
			scheme = "https"
		} else {
			scheme = "http"
		}
		rest = "//" + after
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, _ = strings.Cut(rest, "?")
	path = rest
	if authority, ok := strings.CutPrefix(rest, "//"); ok {
		path = ""
		if i := strings.IndexByte(authority, '/'); i >= 0 {
			authority, path = authority[:i], authority[i:]
		}
		host, port = splitAuthority(authority)
	}
	if host == "" && strings.HasPrefix(scheme, "http") && path != "" { // http:////host/
		host, path, _ = strings.Cut(strings.TrimLeft(path, "/"), "/")
		path = "/" + path
	}
	return scheme, host, port, path, query
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if letter := c >= 'a' && c <= 'z'; !letter &&
			(i == 0 || (s[i] < '0' || s[i] > '9') && !strings.ContainsRune("+-.", rune(s[i]))) {
			return false
		}
	}
	return s != ""
}

// splitAuthority finds host and port; the brackets of an IPv6 address go.
func splitAuthority(authority string) (host, port string) {
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	authority = strings.TrimRight(authority, ":")
	if _, after, ok := strings.Cut(authority, "["); ok {
		host, port, _ = strings.Cut(after, "]")
		_, port, _ = strings.Cut(port, ":")
		return host, port
	}
	host, port, _ = strings.Cut(authority, ":")
	return host, port
}

// toASCII maps names as the codec of the keys' makers does, which knows IDNA 2003.
var toASCII = idna.New(idna.MapForLookup(), idna.Transitional(true), idna.StrictDomainName(false))

// keyHost is a host in its one spelling, "" when there is none.
func keyHost(host string) string {
	host = unescaped(host)
	for i := range len(host) {
		if host[i] < 0x80 {
			continue
		}
		if strings.HasPrefix(host, ".") || strings.Contains(host, "..") {
			break // no name
		}
		host = strings.ToValidUTF8(host, "")
		if ascii, err := toASCII.ToASCII(host); err == nil {
			host = ascii
		}
		break
	}
	host = strings.Trim(strings.ReplaceAll(host, "..", "."), ".")
	if ip, ok := addressOf(host); ok {
		return ip
	}
	host = lower(escaped(lower(host)))
	if rest, ok := strings.CutPrefix(host, "www"); ok {
		if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, "0123456789"), "."); ok {
			return rest
		}
	}
	return host
}

// addressOf reads an IPv4 address as inet_aton does, without numbers in base 16: one to four parts,
// the last of which fills what is left. A lone number counts modulo 2^32.
func addressOf(host string) (string, bool) {
	if host == "" || strings.Trim(host, "0123456789.") != "" {
		return "", false
	}
	if !strings.Contains(host, ".") {
		n := uint32(0)
		for i := range len(host) {
			n = n*10 + uint32(host[i]-'0')
		}
		return addressOfNumber(n), true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return "", false
	}
	var n uint64
	for i, part := range parts {
		base, bits := 10, 8
		if len(part) > 1 && part[0] == '0' {
			base = 8
		}
		if i == len(parts)-1 {
			bits = 8 * (4 - i)
		}
		v, err := strconv.ParseUint(part, base, bits)
		if err != nil {
			return "", false
		}
		n = n<<bits | v
	}
	return addressOfNumber(uint32(n)), true //nolint:gosec // 32 bits in all
}

func addressOfNumber(n uint32) string {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String() //nolint:gosec // a byte each
}

// pathSessions are session ids in a path, before a file of ASP.NET.
var pathSessions = [...]*regexp.Regexp{
	regexp.MustCompile(`^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$`),
	regexp.MustCompile(`^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$`),
}

// keyPath is a path in its one spelling.
func keyPath(path string) string {
	path = lower(escaped(segments(unescaped(path))))
	if strings.Contains(path, ".aspx") {
		for _, r := range pathSessions {
			path = r.ReplaceAllString(path, "$1$2")
		}
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}

// segments leaves out empty and dot segments, but the last one when it is empty.
func segments(path string) string {
	if path == "" {
		return "/"
	}
	if !strings.Contains(path, "//") && !strings.Contains(path, "/.") {
		return path
	}
	var kept []string
	for _, s := range strings.Split(path, "/")[1:] {
		switch {
		case s == ".":
		case s == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return "/"
	}
	last := kept[len(kept)-1]
	kept = slices.DeleteFunc(kept[:len(kept)-1], func(s string) bool { return s == "" })
	return "/" + strings.Join(append(kept, last), "/")
}

// querySessions are session ids in a query. What stands behind one follows what stands before it.
var querySessions = [...]*regexp.Regexp{
	regexp.MustCompile(`(?i)^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$`),
	regexp.MustCompile(`(?i)^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$`),
	regexp.MustCompile(`(?i)^(.*)sid=[0-9a-z]{32}(?:&(.*))?$`),
	regexp.MustCompile(`(?i)^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$`),
	regexp.MustCompile(`(?i)^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$`),
}

// keyQuery is a query in its one spelling.
func keyQuery(query string) string {
	if query == "" {
		return ""
	}
	query = lower(escaped(unescaped(query)))
	if strings.Contains(query, "id=") || strings.Contains(query, "aspsessionid") {
		for _, r := range querySessions {
			query = r.ReplaceAllString(query, "$1$2")
		}
	}
	if len(query) < 2 || !strings.Contains(query, "&") {
		return query
	}
	params := strings.Split(query, "&")
	slices.SortFunc(params, func(a, b string) int {
		aName, aValue, aHas := strings.Cut(a, "=")
		bName, bValue, bHas := strings.Cut(b, "=")
		switch {
		case aName != bName || aHas == bHas:
			return cmp.Or(strings.Compare(aName, bName), strings.Compare(aValue, bValue))
		case bHas:
			return -1 // a name alone stands before the name with a value
		}
		return 1
	})
	return strings.Join(params, "&")
}

// unescaped undoes percent escapes until none is left, in one pass: what an escape stands for may
// end another one.
func unescaped(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		b = append(b, s[i])
		for len(b) >= 3 && b[len(b)-3] == '%' {
			high, ok1 := hexDigit(b[len(b)-2])
			low, ok2 := hexDigit(b[len(b)-1])
			if !ok1 || !ok2 {
				break
			}
			b = append(b[:len(b)-3], high<<4|low)
		}
	}
	return string(b)
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// escaped escapes what is not a visible character of ASCII, and % and #.
func escaped(s string) string {
	const digits = "0123456789ABCDEF"
	plain := func(c byte) bool { return c > ' ' && c < 0x7f && c != '%' && c != '#' }
	n := 0
	for n < len(s) && plain(s[n]) {
		n++
	}
	if n == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)+16), s[:n]...)
	for ; n < len(s); n++ {
		if c := s[n]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

// lower is s with the letters of ASCII in lower case: what is no UTF-8 stays as it is.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if c := b[i]; c >= 'A' && c <= 'Z' {
					b[i] = c | 0x20
				}
			}
			return string(b)
		}
	}
	return s
}
