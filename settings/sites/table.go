package sites

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// Site is what holds for a URL: the rules that match it, resolved. It is immutable, and the same
// for all URLs that the same rules match.
type Site struct {
	// Settings are the crawl's with the rules' values in place of its own. Exclude has the site's
	// patterns alone; those of the crawl hold, too.
	Settings *crawl.Settings
	// Scope are the scope rules of Settings; nil when they are the crawl's.
	Scope *scope.Rules
	// Headers, Auth, CookiesFile and Source are as in Own.
	Headers     []Header
	Auth        Auth
	CookiesFile string
	Source      netip.Addr
	// Priority is nil unless a rule gives one.
	Priority *float64
	// AuthInsecure, CookiesInsecure: the rule that gives it allows it over http.
	AuthInsecure, CookiesInsecure bool
	// Secrets are the names of the secrets of the headers, Auth and CookiesFile, each once. Those of
	// proxies are not among them.
	Secrets []string
	// Rules are the rules that match, in the order of the file.
	Rules []*Rule
	// ByHost says that no pattern chose among the URLs of the host: all of them have this Site.
	ByHost bool
}

// From is the last of the rules that gives a field; nil: none does, and the crawl's value holds.
func (s *Site) From(field string) *Rule {
	for _, r := range slices.Backward(s.Rules) {
		if _, ok := r.Gives(field); ok {
			return r
		}
	}
	return nil
}

// Overlay makes the settings of a site: those of the crawl with these values in place of its own,
// the later of two for one field. The values passed Checks.Setting.
type Overlay func(values []Setting) (*crawl.Settings, *scope.Rules, error)

// Table finds the Site of a URL. Nil has no rules.
type Table struct {
	file    *File
	overlay Overlay
	fields  map[string]bool // that rules give
	renders bool            // a rule has pages shown to a browser
	indexes bool            // one has pages indexed
	// leavesOut: one has pages left out of the index.
	leavesOut bool
	index

	once      sync.Once
	freeDelay time.Duration // the longest that patterns for any host give; once makes it

	recent [maxRecent]atomic.Pointer[recent]

	mu    sync.RWMutex // guards the maps below
	hosts map[string]*host
	sites map[string]*Site // by the numbers of the rules
}

// index has the patterns of all rules. It is not changed once it is made.
type index struct {
	byHost map[string][]int     // of rules that name the host
	below  map[string][]below   // of rules that name the hosts below a name
	bound  map[string][]pattern // that match on one host only
	free   []pattern            // that may match on any host
}

type below struct {
	rule int
	not  bool // the host itself is not meant
}

type pattern struct {
	rule  int
	match *Match
}

// host is what is known of a host.
type host struct {
	rules []int     // that match all of its URLs, in ascending order
	bound []pattern // that may match some of them, and no URL of another host
	site  *Site     // without patterns; nil: no rule matches
}

// Bounds of what a Table keeps.
const (
	maxHosts  = 1 << 15
	maxSites  = 1 << 15
	maxRecent = 1 << 10
)

// recent is the answer for a URL on a host with patterns: a visit asks several times.
type recent struct {
	url  urlnorm.URL
	site *Site
}

// NewTable makes the table of a file. Nil for a file without rules.
func NewTable(f *File, overlay Overlay) *Table {
	if f == nil || len(f.Rules) == 0 {
		return nil
	}
	t := &Table{file: f, overlay: overlay, fields: map[string]bool{}, hosts: map[string]*host{},
		sites: map[string]*Site{},
		index: index{map[string][]int{}, map[string][]below{}, map[string][]pattern{}, nil}}
	for i, r := range f.Rules {
		for j := range r.Matches {
			t.add(i, &r.Matches[j])
		}
		for field := range r.has {
			t.fields[field] = true
		}
		t.note(r)
	}
	return t
}

// note takes in what a rule turns on or off. Its values passed Checks.Setting.
func (t *Table) note(r *Rule) {
	for i := range r.Settings {
		s := &r.Settings[i]
		off := len(s.Texts) == 1 && (s.Texts[0] == "off" || s.Texts[0] == "false")
		switch s.Field {
		case "render":
			t.renders = t.renders || !off
		case "index":
			t.indexes, t.leavesOut = t.indexes || !off, t.leavesOut || off
		}
	}
}

func (x *index) add(rule int, m *Match) {
	switch {
	case m.pattern == nil && m.below:
		x.below[m.host] = append(x.below[m.host], below{rule, m.not})
	case m.pattern == nil:
		x.byHost[m.host] = append(x.byHost[m.host], rule)
	case m.host != "":
		x.bound[m.host] = append(x.bound[m.host], pattern{rule, m})
	default:
		x.free = append(x.free, pattern{rule, m})
	}
}

// File is what the table was made of.
func (t *Table) File() *File {
	if t == nil {
		return &File{}
	}
	return t.file
}

// Scopes reports whether a rule gives a field of the scope: which URLs are crawled at all.
func (t *Table) Scopes() bool { return t.gives("include", "exclude", "max-depth") }

// Renders reports whether a rule has pages shown to a browser.
func (t *Table) Renders() bool { return t != nil && t.renders }

// Indexes reports whether a rule has pages indexed.
func (t *Table) Indexes() bool { return t != nil && t.indexes }

// LeavesOut reports whether a rule has pages left out of the index.
func (t *Table) LeavesOut() bool { return t != nil && t.leavesOut }

// gives reports whether a rule gives one of the fields.
func (t *Table) gives(fields ...string) bool {
	if t == nil {
		return false
	}
	for _, f := range fields {
		if t.fields[f] {
			return true
		}
	}
	return false
}

// Of is the site of a URL; nil: no rule matches it.
func (t *Table) Of(u urlnorm.URL) *Site {
	if t == nil {
		return nil
	}
	h := t.host(u.Host())
	if len(h.bound)+len(t.free) == 0 {
		return h.site
	}
	place := &t.recent[xxh3.HashString(u.String())%maxRecent]
	if r := place.Load(); r != nil && r.url == u {
		return r.site
	}
	r := &recent{u, t.match(h, u)}
	place.Store(r)
	return r.site
}

// match finds the site of a URL on a host with patterns.
func (t *Table) match(h *host, u urlnorm.URL) *Site {
	rules := h.rules[:len(h.rules):len(h.rules)]
	for _, list := range [...][]pattern{h.bound, t.free} {
		for _, p := range list {
			if p.match.matches(u) {
				rules = append(rules, p.rule)
			}
		}
	}
	if len(rules) == len(h.rules) {
		return h.site
	}
	return t.site(sorted(rules), false)
}

// OfHost is the site of a host: what holds for all of its URLs; nil: no rule does.
func (t *Table) OfHost(name string) *Site {
	if t == nil {
		return nil
	}
	return t.host(name).site
}

// LongestDelay is the longest delay that patterns may give to URLs of a host, and that others of
// its URLs need not have; 0: no pattern gives one.
func (t *Table) LongestDelay(host string) time.Duration {
	if !t.gives("delay") {
		return 0
	}
	var longest time.Duration
	for _, p := range t.bound[host] {
		longest = max(longest, t.delayOf(p.rule))
	}
	t.once.Do(func() {
		for _, p := range t.free {
			t.freeDelay = max(t.freeDelay, t.delayOf(p.rule))
		}
	})
	return max(longest, t.freeDelay)
}

// delayOf is the delay that a rule gives; 0: none.
func (t *Table) delayOf(rule int) time.Duration {
	if _, ok := t.file.Rules[rule].Gives("delay"); !ok {
		return 0
	}
	return t.site([]int{rule}, false).Settings.Delay
}

func sorted(rules []int) []int {
	rules = slices.Clone(rules)
	slices.Sort(rules)
	return slices.Compact(rules)
}

// host finds what is known of a host.
func (t *Table) host(name string) *host {
	t.mu.RLock()
	h := t.hosts[name]
	t.mu.RUnlock()
	if h != nil {
		return h
	}
	h = &host{rules: slices.Clone(t.byHost[name])}
	for rest := name; rest != ""; _, rest, _ = strings.Cut(rest, ".") {
		for _, b := range t.below[rest] {
			if !b.not || rest != name {
				h.rules = append(h.rules, b.rule)
			}
		}
	}
	h.rules = sorted(h.rules)
	h.bound = t.bound[name]
	h.site = t.site(h.rules, len(h.bound)+len(t.free) == 0)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.hosts) >= maxHosts {
		clear(t.hosts)
	}
	t.hosts[strings.Clone(name)] = h
	return h
}

// site resolves rules, in ascending order. byHost says that no pattern can match on the host.
func (t *Table) site(rules []int, byHost bool) *Site {
	if len(rules) == 0 {
		return nil
	}
	key := make([]byte, 0, 32)
	for _, r := range rules {
		key = append(strconv.AppendInt(key, int64(r), 36), ' ')
	}
	if byHost {
		key = append(key, 'h')
	}
	t.mu.RLock()
	s := t.sites[string(key)]
	t.mu.RUnlock()
	if s != nil {
		return s
	}
	s = t.resolve(rules)
	s.ByHost = byHost
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.sites) >= maxSites {
		clear(t.sites)
	}
	t.sites[string(key)] = s
	return s
}

func (t *Table) resolve(rules []int) *Site {
	s := &Site{}
	var values []Setting
	for _, i := range rules {
		r := t.file.Rules[i]
		s.Rules = append(s.Rules, r)
		values = append(values, r.Settings...)
		s.take(r)
	}
	for _, h := range s.Headers {
		s.needs(h.Secret)
	}
	s.needs(s.Auth.Secret)
	s.needs(s.CookiesFile)
	var err error
	if s.Settings, s.Scope, err = t.overlay(values); err != nil {
		panic("BUG: rules for sites that were checked: " + err.Error())
	}
	return s
}

// take lets a later rule override what earlier ones gave.
func (s *Site) take(r *Rule) {
	for _, h := range r.Own.Headers {
		s.Headers = slices.DeleteFunc(s.Headers, func(o Header) bool {
			return strings.EqualFold(o.Name, h.Name)
		})
		if h.Insecure = r.Own.Insecure; h.Value != "" || h.Secret != "" {
			s.Headers = append(s.Headers, h)
		}
	}
	if _, ok := r.Gives("auth"); ok {
		s.Auth, s.AuthInsecure = r.Own.Auth, r.Own.Insecure
	}
	if _, ok := r.Gives("cookies-file"); ok {
		s.CookiesFile, s.CookiesInsecure = r.Own.CookiesFile, r.Own.Insecure
	}
	if _, ok := r.Gives("source-address"); ok {
		s.Source = r.Own.Source
	}
	if _, ok := r.Gives("priority"); ok {
		s.Priority = &r.Own.Priority
	}
}

func (s *Site) needs(secret string) {
	if secret != "" && !slices.Contains(s.Secrets, secret) {
		s.Secrets = append(s.Secrets, secret)
	}
}

// Text is the value of a field that only sites have, as a rule would give it; "": there is none. A
// header's is not among them.
func (s *Site) Text(field string) string {
	named := func(secret string) string {
		if secret == "" {
			return ""
		}
		return "secret:" + secret
	}
	switch field {
	case "auth":
		if s.Auth.Scheme != "" {
			return s.Auth.Scheme + ": " + named(s.Auth.Secret)
		}
	case "cookies-file":
		return named(s.CookiesFile)
	case "insecure":
		if r := s.From(field); r != nil {
			return strconv.FormatBool(r.Own.Insecure)
		}
	case "source-address":
		if s.Source.IsValid() {
			return s.Source.String()
		}
	case "priority":
		if s.Priority != nil {
			return strconv.FormatFloat(*s.Priority, 'g', -1, 64)
		}
	}
	return ""
}
