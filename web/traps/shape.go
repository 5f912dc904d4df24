package traps

import (
	"strings"

	"crawlnode/web/urlnorm"
)

// The placeholders in shapes. Canonical URLs have neither of these bytes: they are escaped.
const (
	number = '\x01' // a run of digits
	token  = '\x02' // a random token: a session id, a digest, a UUID
)

// shape is a URL with placeholders, in parts.
type shape struct {
	path   string   // begins with "/"
	params []string // of the query, name and value
	query  bool     // there is a "?"
}

// shapeOf makes the shape of a URL. A route, as "#/months/5", is a part of what it follows.
func shapeOf(u urlnorm.URL) shape {
	rest, route, routed := strings.Cut(pathAndMore(u), "#")
	path, query, ok := strings.Cut(rest, "?")
	s := shape{path: maskPath(path), query: ok}
	if routed {
		route = "#" + maskPath(route)
	}
	if !ok {
		s.path += route
		return s
	}
	for p := range strings.SplitSeq(query, "&") {
		name, value, ok := strings.Cut(p, "=")
		switch {
		case !ok:
			p = mask(p)
		case isSession(name):
			p = name + "=" + string(token)
		default:
			p = name + "=" + mask(value)
		}
		s.params = append(s.params, p)
	}
	s.params[len(s.params)-1] += route
	return s
}

// pathAndMore is what follows the origin.
func pathAndMore(u urlnorm.URL) string { return u.String()[len(u.Origin()):] }

// key is the shape in one text.
func (s *shape) key() string {
	if !s.query {
		return s.path
	}
	return s.path + "?" + strings.Join(s.params, "&")
}

// maskPath masks each segment, and each parameter of a segment, as in ";jsessionid=1A2B".
func maskPath(path string) string {
	var b strings.Builder
	for i, segment := range strings.Split(path, "/") {
		if i > 0 {
			b.WriteByte('/')
		}
		for j, part := range strings.Split(segment, ";") {
			if j > 0 {
				b.WriteByte(';')
			}
			if name, value, ok := strings.Cut(part, "="); ok && j > 0 {
				b.WriteString(name + "=")
				if part = value; isSession(name) {
					b.WriteByte(token)
					continue
				}
			}
			b.WriteString(mask(part))
		}
	}
	return b.String()
}

// mask puts placeholders into a segment or a value.
func mask(s string) string {
	if isToken(s) {
		return string(token)
	}
	if strings.IndexFunc(s, func(c rune) bool { return '0' <= c && c <= '9' }) < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '%' && i+2 < len(s): // the digits of an escape are none of the text
			b = append(b, s[i:i+3]...)
			i += 2
		case !isDigit(s[i]):
			b = append(b, s[i])
		case len(b) == 0 || b[len(b)-1] != number:
			b = append(b, number)
		}
	}
	return string(b)
}

// isToken reports whether s looks random: a UUID, 8 hexadecimal digits or more, or 16 letters and
// digits or more, each with letters and digits.
func isToken(s string) bool {
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		s = strings.ReplaceAll(s, "-", "")
	}
	if len(s) < 8 {
		return false
	}
	letters, digits, hex, changes := 0, 0, true, 0
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digits++
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			letters++
			hex = hex && c|0x20 <= 'f'
		default:
			return false
		}
		if i > 0 && isDigit(s[i]) != isDigit(s[i-1]) {
			changes++
		}
	}
	return letters > 0 && digits > 0 && (hex || len(s) >= 16 && changes >= 3)
}

// isSession reports whether a parameter of this name has a session id, whatever it looks like.
func isSession(name string) bool {
	switch name = strings.ToLower(name); name {
	case "jsessionid", "phpsessid", "sessionid", "session_id", "session", "sessid", "sid", "cfid",
		"cftoken", "oscsid", "osclid", "zenid":
		return true
	}
	return strings.HasPrefix(name, "aspsessionid")
}
