package robots

import (
	"slices"
	"strings"
	"time"
)

// MaxBody is how many bytes of a file are read. Section 2.5 of RFC 9309 asks for at least as many.
const MaxBody = 500 << 10

// Rules are the rules of one robots.txt file for one agent. The nil pointer and the zero value
// allow everything.
type Rules struct {
	rules      []rule // longest pattern first; of equal ones, Allow first
	crawlDelay time.Duration
	hasDelay   bool
	sitemaps   []string
	usage      []Usage
}

// The lines about what pages may be used for.
const (
	ContentUsage  = "Content-Usage"  // draft-ietf-aipref-attach-05, section 3
	ContentSignal = "Content-Signal" // contentsignals.org
)

// Usage is a line about what pages may be used for.
type Usage struct {
	Name  string // ContentUsage or ContentSignal
	Path  string // the pattern of the pages, in normal form; "": all
	Value string // what is said, as written
}

// rule is one Allow or Disallow line.
type rule struct {
	pattern string // not empty; in normal form
	allow   bool
}

func (r rule) String() string {
	if r.allow {
		return "Allow: " + r.pattern
	}
	return "Disallow: " + r.pattern
}

// Parse parses a robots.txt body for the product token agent (case does not matter). It uses at
// most the first MaxBody bytes. No file is malformed: lines that cannot be understood are skipped.
// The result does not share memory with body.
func Parse(body []byte, agent string) *Rules {
	h := &handler{agent: agent}
	parse(body, h)
	group := h.global
	if h.everSpecific {
		group = h.specific
	}
	slices.SortStableFunc(group.rules, func(a, b rule) int {
		switch {
		case len(a.pattern) != len(b.pattern):
			return len(b.pattern) - len(a.pattern)
		case a.allow == b.allow:
			return 0
		case a.allow:
			return -1
		}
		return 1
	})
	return &Rules{
		rules:      group.rules,
		crawlDelay: group.delay,
		hasDelay:   group.hasDelay,
		sitemaps:   h.sitemaps,
		usage:      group.usage,
	}
}

// Allowed reports whether the agent may fetch url, an absolute URL or a path
// with query; canonical URLs are meant. /robots.txt itself is always allowed
// (section 2.2.2).
//
// A percent escape of an unreserved character is that character, on both sides
// (section 2.2.2): "/%7Euser" and "/~user" are one path. Escapes of reserved
// characters are not: "%2F" is no "/", "%2A" no wildcard.
func (r *Rules) Allowed(url string) bool {
	allowed, _ := r.Explain(url)
	return allowed
}

// Explain is Allowed with the line that decided, such as "Disallow: /private/", or "" when no line
// matches.
func (r *Rules) Explain(url string) (allowed bool, line string) {
	if r == nil {
		return true, ""
	}
	path := normalForm(pathQuery(url))
	if path == "/robots.txt" {
		return true, ""
	}
	for i := range r.rules {
		if rule := &r.rules[i]; matches(path, rule.pattern, strings.Index) {
			return rule.allow, rule.String()
		}
	}
	return true, ""
}

// Blocked returns the patterns of the Disallow lines for the agent, at most max.
func (r *Rules) Blocked(max int) []string {
	var patterns []string
	if r == nil {
		return nil
	}
	for i := range r.rules {
		if rule := &r.rules[i]; !rule.allow && len(patterns) < max {
			patterns = append(patterns, rule.pattern)
		}
	}
	return patterns
}

// Usage returns the lines about the use of url, in their order: of those of a name, the ones with
// the longest pattern that matches. Several of that length all count; the vocabulary says how they
// are combined (section 3.1 of the draft).
func (r *Rules) Usage(url string) []Usage {
	if r == nil || len(r.usage) == 0 {
		return nil
	}
	path := normalForm(pathQuery(url))
	longest := map[string]int{}
	var found []Usage
	for _, u := range r.usage {
		if !matches(path, u.Path, strings.Index) {
			continue
		}
		n, known := longest[u.Name]
		if known && len(u.Path) < n {
			continue
		}
		if known && len(u.Path) > n {
			found = slices.DeleteFunc(found, func(f Usage) bool { return f.Name == u.Name })
		}
		longest[u.Name] = len(u.Path)
		found = append(found, u)
	}
	return found
}

// Pattern is a pattern of paths, as robots.txt has them, for files of others that use them.
type Pattern struct{ normal string }

// PatternOf reads a pattern.
func PatternOf(text string) Pattern { return Pattern{normalForm(text)} }

// Path is the path of a URL in the form in which patterns are compared.
type Path struct{ normal string }

// PathOf is the path of an absolute URL, with its query.
func PathOf(url string) Path { return Path{normalForm(pathQuery(url))} }

// Matches reports whether the pattern matches a path from its start.
func (p Pattern) Matches(path Path) bool { return matches(path.normal, p.normal, strings.Index) }

// Size is the approximate memory of r in bytes, without its sitemaps.
func (r *Rules) Size() int {
	// a string is rounded up, by 8 bytes on average
	const fixed, perRule, perUsage, perString = 200, 24, 64, 8
	n := fixed + perRule*cap(r.rules)
	for i := range r.rules {
		n += len(r.rules[i].pattern) + perString
	}
	for i := range r.usage {
		n += perUsage + len(r.usage[i].Path) + len(r.usage[i].Value)
	}
	return n
}

// CrawlDelay returns the Crawl-delay that the file asks of the agent: the largest if it names
// several, at most a day. It is false if the file names none. RFC 9309 has no Crawl-delay, but many
// sites use it.
func (r *Rules) CrawlDelay() (time.Duration, bool) {
	if r == nil {
		return 0, false
	}
	return r.crawlDelay, r.hasDelay
}

// Sitemaps returns the values of the file's Sitemap lines as they stand, in
// order, at most 1,000. The caller must not change the slice.
func (r *Rules) Sitemaps() []string {
	if r == nil {
		return nil
	}
	return r.sitemaps
}

// matches reports whether pattern matches path from its start (section 2.2.3). '*' stands for any
// bytes, '$' at the end of the pattern for the end of the path. Between two stars the leftmost
// match is as good as any other, so there is no backtracking: index, which is strings.Index, reads
// each byte of path at most once, and a piece that it has found is not read again.
func matches(path, pattern string, index func(s, piece string) int) bool {
	pattern, toEnd := strings.CutSuffix(pattern, "$")
	piece, pattern, star := strings.Cut(pattern, "*")
	if !strings.HasPrefix(path, piece) {
		return false
	}
	path = path[len(piece):]
	for star {
		piece, pattern, star = strings.Cut(pattern, "*")
		if !star && toEnd {
			return strings.HasSuffix(path, piece)
		}
		at := index(path, piece)
		if at < 0 {
			return false
		}
		path = path[at+len(piece):]
	}
	return !toEnd || path == ""
}

// pathQuery returns the path and query of an absolute URL, a URL without
// scheme, or a path; "/" when there is none.
func pathQuery(url string) string {
	rest := strings.TrimPrefix(url, "//")
	rest, _, _ = strings.Cut(rest, "#")
	// A "://" after the start of the path or query is not the one of the scheme.
	start := strings.IndexAny(rest, "/?;")
	if scheme := strings.Index(rest, "://"); scheme >= 0 && (start < 0 || start > scheme) {
		rest = rest[scheme+len("://"):]
		start = strings.IndexAny(rest, "/?;")
	}
	switch {
	case start < 0:
		return "/"
	case rest[start] != '/':
		return "/" + rest[start:]
	}
	return rest[start:]
}
