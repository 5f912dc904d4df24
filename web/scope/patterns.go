package scope

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"crawlnode/web/urlnorm"
)

// pattern is a compiled pattern.
type pattern struct {
	rule  string // for people: "exclude glob:*.zip"
	match func(urlnorm.URL) bool
	host  string // the only host of URLs that it can match; "": there may be several
}

// firstMatch returns the first of list that matches u, or nil.
func firstMatch(list []pattern, u urlnorm.URL) *pattern {
	for i := range list {
		if list[i].match(u) {
			return &list[i]
		}
	}
	return nil
}

// compilePattern reads one pattern; the package comment has the syntax.
func compilePattern(text string) (pattern, error) {
	kind, rest, ok := strings.Cut(text, ":")
	if !ok {
		kind, rest = "glob", text
	}
	switch kind {
	case "glob":
		return compileGlob(rest)
	case "regex":
		return compileRegex(rest)
	case "host":
		return compileHost(rest)
	case "prefix":
		return compilePrefix(rest)
	}
	if looksLikeKind(kind, rest) {
		return pattern{}, fmt.Errorf(
			"kind %q is unknown: put glob:, regex:, host: or prefix: before the pattern", kind)
	}
	return compileGlob(text)
}

// looksLikeKind tells a mistyped kind ("regexp:^x") from a URL or a host with
// port ("http://x", "localhost:8080/x").
func looksLikeKind(word, rest string) bool {
	for _, c := range word {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return word != "" && rest != "" && !strings.HasPrefix(rest, "//") &&
		(rest[0] < '0' || rest[0] > '9') && rest[0] != '*'
}

var errEmpty = errors.New("the pattern is empty")

func compileGlob(glob string) (pattern, error) {
	if glob == "" {
		return pattern{}, errEmpty
	}
	written := escaped(glob)
	pieces := strings.Split(written, "*")
	if glob[0] == '/' {
		return pattern{match: func(u urlnorm.URL) bool { return matchGlob(pieces, u.PathQuery()) }}, nil
	}
	matches := func(pieces []string, u urlnorm.URL) bool {
		return matchGlob(pieces, u.String()) || matchGlob(pieces, withoutScheme(u))
	}
	host := hostOfGlob(glob)
	named := withHost(glob)
	if named == written {
		return pattern{host: host, match: func(u urlnorm.URL) bool { return matches(pieces, u) }}, nil
	}
	// What stands where a host may stand can be part of a path as well: "*.Old/*".
	hosts := strings.Split(named, "*")
	return pattern{
		host:  host,
		match: func(u urlnorm.URL) bool { return matches(pieces, u) || matches(hosts, u) },
	}, nil
}

// hostOfGlob is the host that a glob begins with, behind a scheme or without one, in canonical
// form; "": it begins with another thing, or only with a part of a host.
func hostOfGlob(glob string) string {
	rest := afterScheme(glob)
	end := strings.IndexAny(rest, "/*")
	if end <= 0 || rest[end] == '*' || strings.Contains(glob[:len(glob)-len(rest)], "*") {
		return ""
	}
	u, err := urlnorm.Parse("http://" + rest[:end] + "/")
	if err != nil || strings.ContainsAny(rest[:end], "@?#\\") {
		return ""
	}
	return u.Host()
}

// escaped is a part of a glob as paths and queries of canonical URLs have it: escapes in upper
// case, and in place of each byte that a URL cannot have (URL Standard, the percent-encode sets of
// path and query) its escape.
func escaped(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>':
			fmt.Fprintf(&b, "%%%02X", c)
		case c == '%' && i+2 < len(glob) && isHex(glob[i+1]) && isHex(glob[i+2]):
			b.WriteString(strings.ToUpper(glob[i : i+3]))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// withHost is a glob with the name at its beginning, behind a scheme and "*.", as hosts of
// canonical URLs have it: in lower case, in Punycode, without the port that is the scheme's.
// Without such a name it is the escaped glob.
func withHost(glob string) string {
	rest := afterScheme(glob)
	scheme := strings.ToLower(glob[:len(glob)-len(rest)])
	below := ""
	if name, ok := strings.CutPrefix(rest, "*."); ok {
		below, rest = "*.", name
	}
	end := strings.IndexAny(rest, "/*")
	if end <= 0 { // a path follows each host
		return escaped(glob)
	}
	name := rest[:end]
	with := "http://"
	if scheme == "https://" {
		with = scheme
	}
	u, err := urlnorm.Parse(with + name + "/")
	if err != nil || strings.ContainsAny(name, "@?#\\") {
		return escaped(glob)
	}
	return scheme + below + strings.TrimSuffix(withoutScheme(u), "/") + escaped(rest[len(name):])
}

// matchGlob reports whether s consists of pieces, in their order, with anything between them. The
// leftmost match of a piece is as good as any, so it takes linear time.
func matchGlob(pieces []string, s string) bool {
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return s == first
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, piece := range pieces[1 : len(pieces)-1] {
		at := strings.Index(s, piece)
		if at < 0 {
			return false
		}
		s = s[at+len(piece):]
	}
	return true
}

func compileRegex(text string) (pattern, error) {
	if text == "" {
		return pattern{}, errEmpty
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return pattern{}, err
	}
	return pattern{match: func(u urlnorm.URL) bool { return re.MatchString(u.String()) }}, nil
}

func compileHost(text string) (pattern, error) {
	if text == "" {
		return pattern{}, errEmpty
	}
	name, below := strings.CutPrefix(text, "*.")
	if strings.Contains(name, "*") {
		return pattern{}, errors.New(
			"a '*' may only stand for all hosts below a name, as in host:*.example.org")
	}
	// The canonical form of the name, as in URLs. Only an IPv6 address has colons; it is written in
	// brackets.
	u, err := urlnorm.Parse("http://" + name + "/")
	if err != nil || strings.ContainsAny(name, "/\\?#@") ||
		strings.Contains(name, ":") && !strings.HasSuffix(name, "]") {
		return pattern{}, errors.New("not a host name: write it without scheme, port and path")
	}
	host := u.Host()
	if below {
		return pattern{
			match: func(u urlnorm.URL) bool { return strings.HasSuffix(u.Host(), "."+host) },
		}, nil
	}
	return pattern{host: host, match: func(u urlnorm.URL) bool { return u.Host() == host }}, nil
}

func compilePrefix(text string) (pattern, error) {
	switch {
	case text == "":
		return pattern{}, errEmpty
	case text[0] == '/':
		// Escapes and dot segments as in canonical URLs.
		u, err := urlnorm.Parse("http://h" + text)
		if err != nil {
			return pattern{}, err
		}
		start := u.PathQuery()
		return pattern{
			match: func(u urlnorm.URL) bool { return strings.HasPrefix(u.PathQuery(), start) },
		}, nil
	}
	if err := namesHost(text); err != nil {
		return pattern{}, err
	}
	if afterScheme(text) != text {
		u, err := urlnorm.Parse(text)
		if err != nil {
			return pattern{}, err
		}
		start := u.String()
		return pattern{
			host:  u.Host(),
			match: func(u urlnorm.URL) bool { return strings.HasPrefix(u.String(), start) },
		}, nil
	}
	u, err := urlnorm.Parse("http://" + text)
	if err != nil {
		return pattern{}, err
	}
	start := withoutScheme(u)
	return pattern{
		host:  u.Host(),
		match: func(u urlnorm.URL) bool { return strings.HasPrefix(withoutScheme(u), start) },
	}, nil
}

// namesHost checks that a prefix begins with a whole host name, so that it can match a URL: parsers
// of URLs take "http:" for a host of that name, and "*.example.org" too.
func namesHost(text string) error {
	host := afterScheme(text)
	if end := strings.IndexAny(host, "/?#\\"); end >= 0 {
		host = host[:end]
	}
	name, port, hasPort := strings.Cut(host, ":")
	switch {
	case strings.Contains(host, "*"):
		return errors.New("a '*' has no meaning in a prefix: use host:*.example.org for all hosts " +
			"below a name, or glob: patterns")
	case host == "", strings.HasPrefix(host, "."):
		return errors.New(
			"there is no host: write prefix:example.org/path, or prefix:/path for all hosts")
	case hasPort && port == "", !hasPort &&
		(strings.EqualFold(name, "http") || strings.EqualFold(name, "https")):
		return fmt.Errorf(
			"%q is no host: write prefix:https://example.org/, or regex:^https: for all URLs of a scheme",
			host)
	}
	return nil
}

// afterScheme returns what stands behind the scheme of a URL, if it has one. The path may have
// another URL in it.
func afterScheme(text string) string {
	if before, after, ok := strings.Cut(text, "://"); ok && !strings.ContainsAny(before, "/?#") {
		return after
	}
	return text
}

// withoutScheme returns host, port, path and query.
func withoutScheme(u urlnorm.URL) string {
	return u.String()[len(u.Scheme())+len("://"):]
}

// Pattern is one pattern of those that Rules are made of, for other uses than a scope.
type Pattern struct{ p pattern }

// ParsePattern reads a pattern; the package comment has the syntax.
func ParsePattern(text string) (Pattern, error) {
	p, err := compilePattern(text)
	return Pattern{p}, err
}

// Matches reports whether the pattern matches u.
func (p Pattern) Matches(u urlnorm.URL) bool { return p.p.match(u) }

// Host is the only host whose URLs can match, in canonical form; "": those of others can, too.
func (p Pattern) Host() string { return p.p.host }
