package sites

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// File is a parsed file of rules. It is immutable.
type File struct{ Rules []*Rule }

// Texts are the rules that give some settings of the crawl: their values of those, and their
// patterns, in the order of the file. Two files with equal texts give all URLs the same values of
// them.
func (f *File) Texts(fields ...string) string {
	var b []byte
	for _, r := range f.Rules {
		n := len(b)
		for i := range r.Settings {
			if s := &r.Settings[i]; slices.Contains(fields, s.Field) {
				b = fmt.Appendf(b, " %s=%q", s.Field, s.Texts)
			}
		}
		for i := range r.Matches {
			if len(b) > n {
				b = fmt.Appendf(b, " %q", r.Matches[i].Text)
			}
		}
	}
	return string(b)
}

// Secrets are the names of the secrets of all rules but those of proxies, each once.
func (f *File) Secrets() (names []string) {
	for _, r := range f.Rules {
		for _, name := range r.secrets() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Rule is one entry of a file. It is immutable.
type Rule struct {
	Line    int // of its first field, from 1
	Matches []Match
	// Settings are its values of settings of the crawl, in the order of the file.
	Settings []Setting
	// Own are its other values; a field that Has does not have counts for nothing.
	Own Own
	has map[string]int // the line of each field that the rule gives
}

// Setting is a value of a setting of the crawl, as it was written.
type Setting struct {
	Field string // of the rule
	Line  int
	Texts []string // one; any number for a list
}

// Own are the values of the fields that only sites have.
type Own struct {
	// Headers are further lines of each request's head; one with an empty Value and no Secret is
	// taken away.
	Headers     []Header
	Auth        Auth       // "": none
	CookiesFile string     // the name of a secret, whose value is the path of a cookie file; "": none
	Source      netip.Addr // the address of this machine that connections come from; zero: any
	Priority    float64    // of the site's pages in the queue, from 0 to 1, which is first
	Insecure    bool       // secrets go over http, too
}

// Header is one line of a request's head.
type Header struct {
	Name   string
	Value  string
	Secret string // the name of the secret that is the value; "": Value is
	Line   int
	// Insecure: the secret goes over http, too. A Table sets it.
	Insecure bool
}

// Auth is what an Authorization header is made of (RFC 9110, section 11.6.2).
type Auth struct {
	Scheme string // basic (RFC 7617) or bearer (RFC 6750); "": none
	Secret string // the name of the secret
}

// The schemes of Auth.
const (
	Basic  = "basic"
	Bearer = "bearer"
)

// Gives reports whether the rule gives a field, and in which line.
func (r *Rule) Gives(field string) (line int, ok bool) {
	line, ok = r.has[field]
	return line, ok
}

// NeedsSecret reports whether the rule has a value that is a secret.
func (r *Rule) NeedsSecret() bool { return len(r.secrets()) > 0 }

// secrets are the names of the secrets that requests carry because of the rule.
func (r *Rule) secrets() (names []string) {
	for _, name := range []string{r.Own.Auth.Secret, r.Own.CookiesFile} {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, h := range r.Own.Headers {
		if h.Secret != "" {
			names = append(names, h.Secret)
		}
	}
	return names
}

// Match is one pattern of a rule.
type Match struct {
	Text    string // as it was written
	host    string // the host that the URLs must have; with below any host under it, too
	below   bool
	not     bool           // with below: not the host itself
	pattern *scope.Pattern // of the URL; nil: the host is enough
}

// NamesHosts reports whether the pattern names hosts, and nothing else of a URL.
func (m *Match) NamesHosts() bool { return m.pattern == nil }

// matches reports whether u matches.
func (m *Match) matches(u urlnorm.URL) bool {
	if m.pattern != nil {
		return m.pattern.Matches(u)
	}
	if u.Host() == m.host {
		return !m.not
	}
	return m.below && strings.HasSuffix(u.Host(), "."+m.host)
}

// Matching are those of the rule's patterns that match a URL.
func (r *Rule) Matching(u urlnorm.URL) (texts []string) {
	for i := range r.Matches {
		if m := &r.Matches[i]; m.matches(u) {
			texts = append(texts, m.Text)
		}
	}
	return texts
}
