package robots

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jimsmart/grobotstxt"
)

const (
	maxSitemaps = 1000
	maxDelay    = 24 * time.Hour
	// maxUsage is how long a preference may be, in bytes, and maxUsages how many a group may have.
	maxUsage  = 1 << 10
	maxUsages = 200
)

// Readable returns the part of body that Parse reads: the whole lines within its first MaxBody
// bytes. Half a Disallow line would forbid more than the whole one. A caller that cuts a longer
// file must leave at least one byte more than MaxBody.
func Readable(body []byte) []byte {
	if len(body) <= MaxBody {
		return body
	}
	body = body[:MaxBody]
	return body[:bytes.LastIndexAny(body, "\r\n")+1]
}

// parse feeds the lines of body to h.
func parse(body []byte, h *handler) { grobotstxt.Parse(escapeValues(Readable(body)), h) }

// group is what the groups of one kind, ours or those for "*", add up to.
type group struct {
	rules    []rule
	delay    time.Duration
	hasDelay bool
	usage    []Usage
}

// handler collects the lines for one agent. A group is one or more User-agent lines and the rules
// up to the next User-agent line that follows a rule; other lines do not end it (section 2.2.1).
type handler struct {
	agent string

	specific, global     group
	inSpecific, inGlobal bool // the agents of the current group
	ruleSeen             bool // the current group has a rule
	// For lines about usage, these are rules too and end the list of agents: the draft makes them part
	// of a group (draft-ietf-aipref-attach-05, section 3). For what may be fetched they are not, since
	// a parser that does not know them passes them over.
	usageSpecific, usageGlobal, usageSeen bool
	everSpecific                          bool // some group names the agent, even an empty one
	sitemaps                              []string
}

var _ grobotstxt.ParseHandler = (*handler)(nil)

// HandleRobotsStart implements grobotstxt.ParseHandler, as the methods below do.
func (h *handler) HandleRobotsStart() {}

// HandleRobotsEnd does nothing.
func (h *handler) HandleRobotsEnd() {}

// HandleUserAgent begins a group or adds an agent to the current one. "* x"
// counts as "*", and "Name/1.0" as "Name".
func (h *handler) HandleUserAgent(_ int, value string) {
	if h.ruleSeen {
		h.inSpecific, h.inGlobal, h.ruleSeen = false, false, false
	}
	if h.usageSeen {
		h.usageSpecific, h.usageGlobal, h.usageSeen = false, false, false
	}
	if value == "*" || strings.HasPrefix(value, "* ") || strings.HasPrefix(value, "*\t") {
		h.inGlobal, h.usageGlobal = true, true
		return
	}
	if h.agent != "" && strings.EqualFold(productToken(value), h.agent) {
		h.inSpecific, h.usageSpecific, h.everSpecific = true, true, true
	}
}

// HandleAllow takes an Allow line. A rule for a directory's index page also covers the directory,
// as Google does.
func (h *handler) HandleAllow(_ int, value string) {
	value = normalForm(value)
	h.add(value, true)
	if slash := strings.LastIndexByte(value, '/'); slash >= 0 &&
		strings.HasPrefix(value[slash:], "/index.htm") {
		h.add(value[:slash+1]+"$", true)
	}
}

// HandleDisallow takes a Disallow line.
func (h *handler) HandleDisallow(_ int, value string) { h.add(normalForm(value), false) }

// HandleSitemap takes a Sitemap line, which belongs to no group.
func (h *handler) HandleSitemap(_ int, value string) {
	if value != "" && len(h.sitemaps) < maxSitemaps {
		h.sitemaps = append(h.sitemaps, strings.Clone(value))
	}
}

// HandleUnknownAction takes all other lines.
func (h *handler) HandleUnknownAction(_ int, action, value string) {
	for _, name := range [...]string{ContentUsage, ContentSignal} {
		if strings.EqualFold(action, name) {
			h.usage(name, value)
			return
		}
	}
	g := h.current()
	if g == nil || !strings.EqualFold(action, "crawl-delay") {
		return
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(seconds) || seconds < 0 {
		return
	}
	delay := maxDelay
	if seconds < maxDelay.Seconds() {
		delay = time.Duration(seconds * float64(time.Second))
	}
	g.delay, g.hasDelay = max(g.delay, delay), true
}

// add takes a rule whose pattern is in normal form.
func (h *handler) add(pattern string, allow bool) {
	g := h.current()
	if g == nil {
		return
	}
	h.ruleSeen, h.usageSeen = true, true
	if pattern == "" { // it matches nothing
		return
	}
	g.rules = append(g.rules, rule{pattern: strings.Clone(pattern), allow: allow})
}

// usage takes a line about the use of pages. A path stands before what is said of it; without one
// it is said of the whole site (section 3.2 of the draft).
func (h *handler) usage(name, value string) {
	h.usageSeen = true
	var g *group
	switch {
	case h.usageSpecific:
		g = &h.specific
	case h.usageGlobal:
		g = &h.global
	default:
		return
	}
	u := Usage{Name: name, Value: strings.TrimSpace(value)}
	if strings.HasPrefix(u.Value, "/") {
		end := strings.IndexAny(u.Value, " \t")
		if end < 0 {
			return // it says nothing
		}
		u.Path, u.Value = normalForm(u.Value[:end]), strings.TrimSpace(u.Value[end:])
	}
	if u.Value == "" || len(u.Value) > maxUsage || len(g.usage) == maxUsages {
		return
	}
	u.Path, u.Value = strings.Clone(u.Path), strings.Clone(u.Value)
	g.usage = append(g.usage, u)
}

// current returns the group that gets the current lines; nil when they are for other agents. A
// group for both our agent and "*" is ours.
func (h *handler) current() *group {
	switch {
	case h.inSpecific:
		return &h.specific
	case h.inGlobal:
		return &h.global
	}
	return nil
}

// productToken returns the product token that value begins with (section
// 2.2.1).
func productToken(value string) string {
	for i := 0; i < len(value); i++ {
		if c := value[i]; !('a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '-') {
			return value[:i]
		}
	}
	return value
}

// escapeValues returns body with the percent escapes in upper case and all bytes outside ASCII
// escaped (section 2.2.2), except where they are not part of a path: in a byte order mark, and in
// user-agent and sitemap lines. The line parser would do so itself, but it turns the digits of an
// escape into control bytes. It leaves a value alone that needs no change.
func escapeValues(body []byte) string {
	var b strings.Builder
	b.Grow(len(body))
	// The parser skips a byte order mark, and also its first bytes alone.
	mark := 0
	for mark < len("\uFEFF") && mark < len(body) && body[mark] == "\uFEFF"[mark] {
		mark++
	}
	b.Write(body[:mark])
	body = body[mark:]
	for len(body) > 0 {
		end := 0
		for end < len(body) && body[end] != '\n' && body[end] != '\r' {
			end++
		}
		line := body[:min(end+1, len(body))]
		body = body[len(line):]
		if end == 0 || line[0] == '#' { // the parser ignores it too, but slowly
			continue
		}
		if keepsValue(line) {
			b.Write(line)
			continue
		}
		escapeLine(&b, line)
	}
	return b.String()
}

// keepsValue reports whether line is a user-agent or sitemap line.
func keepsValue(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	for _, key := range [...]string{"user", "sitemap", "site-map"} {
		if len(line) >= len(key) && strings.EqualFold(string(line[:len(key)]), key) {
			return true
		}
	}
	return false
}

func escapeLine(b *strings.Builder, line []byte) {
	start := 0
	for i, c := range line {
		if c >= 0x80 {
			b.WriteString(upperEscapes(string(line[start:i])))
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
			start = i + 1
		}
	}
	b.WriteString(upperEscapes(string(line[start:])))
}

// upperEscapes returns s with its percent escapes in upper case.
func upperEscapes(s string) string {
	at := strings.IndexByte(s, '%')
	if at < 0 {
		return s
	}
	b := []byte(s)
	for i := at; i+2 < len(b); i++ {
		if b[i] == '%' && isHex(b[i+1]) && isHex(b[i+2]) {
			b[i+1], b[i+2] = upperHex(b[i+1]), upperHex(b[i+2])
			i += 2
		}
	}
	return string(b)
}

// normalForm returns s in the form in which section 2.2.2 compares: percent escapes in upper case,
// those of unreserved characters (RFC 3986 section 2.3) replaced by the character, and characters
// that a URL cannot have escaped, as the URL Standard does in a path. Reserved characters and their
// escapes stay different.
func normalForm(s string) string {
	i := 0
	for i < len(s) && plain[s[i]] {
		i++
	}
	if i == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)+16), s[:i]...)
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case plain[c]:
			b = append(b, c)
		case c != '%':
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		case i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]):
			b = append(b, c)
		default:
			if c = unhex(s[i+1])<<4 | unhex(s[i+2]); unreserved(c) {
				b = append(b, c)
			} else {
				b = append(b, '%', upperHex(s[i+1]), upperHex(s[i+2]))
			}
			i += 2
		}
	}
	return string(b)
}

// plain are the bytes that need no escape: unreserved and reserved characters. The table is
// read-only after initialisation.
var plain = func() (t [256]bool) {
	const reserved = ":/?#[]@!$&'()*+,;="
	for c := range t {
		t[c] = unreserved(byte(c)) || strings.IndexByte(reserved, byte(c)) >= 0
	}
	return t
}()

func unreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' ||
		c == '_' || c == '~'
}

const hexDigits = "0123456789ABCDEF"

// unhex is the value of a hexadecimal digit.
func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func upperHex(c byte) byte {
	if c >= 'a' {
		c -= 'a' - 'A'
	}
	return c
}
