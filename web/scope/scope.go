package scope

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"crawlnode/web/urlnorm"
)

// The modes: which URLs around a seed belong to the crawl.
const (
	Page   = "page"   // the seeds themselves
	Prefix = "prefix" // the seed's folder and everything below
	Host   = "host"   // the seed's host, with every scheme and port
	Domain = "domain" // the seed's registrable domain with all hosts in it
	Any    = "any"    // everything
)

// The reasons of a refusal, as counted in /status.
const (
	OutOfScope = "out_of_scope"
	TooDeep    = "depth"
	Trap       = "trap"
)

// Options are the settings of a scope.
type Options struct {
	// Mode is one of the modes; "" means Host.
	Mode string
	// Include, if not empty, restricts the links to those that a pattern matches. It does not apply
	// at depth 0, to URLs that a person named.
	Include []string
	// Exclude refuses what a pattern matches, including seeds and included URLs.
	Exclude []string
	// MaxDepth is the largest number of links from a seed; 0 means no limit.
	MaxDepth int
	// Site returns the rules of a URL's site, when it has others for these three; nil: it has none.
	// A nil function: no site has. It must not block; those rules' own Site is not asked.
	Site func(urlnorm.URL) *Rules
}

// Rules are compiled Options. They are immutable.
type Rules struct {
	site             func(urlnorm.URL) *Rules
	crawl            *Rules // with ForSite: what it excludes is excluded here, too
	mode             string
	include, exclude []pattern
	maxDepth         int
	tooDeep          string // the sentence for URLs beyond maxDepth
}

// Compile checks o. The error lists everything that is wrong with it.
func Compile(o Options) (*Rules, error) {
	r := &Rules{
		site:     o.Site,
		mode:     o.Mode,
		maxDepth: o.MaxDepth,
		tooDeep:  fmt.Sprintf("deeper than %d links from a seed", o.MaxDepth),
	}
	var errs []error
	switch o.Mode {
	case "":
		r.mode = Host
	case Page, Prefix, Host, Domain, Any:
	default:
		errs = append(errs,
			fmt.Errorf("scope %q is unknown: use page, prefix, host, domain or any", o.Mode))
	}
	if o.MaxDepth < 0 {
		errs = append(errs, fmt.Errorf("depth limit %d is negative: use 0 for none", o.MaxDepth))
	}
	compile := func(what string, list []string) (out []pattern) {
		for _, text := range list {
			p, err := compilePattern(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s pattern %q: %w", what, text, err))
				continue
			}
			p.rule = what + " " + text
			out = append(out, p)
		}
		return out
	}
	r.include = compile("include", o.Include)
	r.exclude = compile("exclude", o.Exclude)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

// ForSite makes the rules of a site out of those of its crawl. MaxDepth of o stands in place of the
// crawl's, Include too unless it is nil, and Exclude beside: the patterns of the crawl are shared,
// not compiled again. The error lists everything that is wrong with o. Mode and Site of o do not
// count.
func (r *Rules) ForSite(o Options) (*Rules, error) {
	o.Mode, o.Site = r.mode, nil
	own, err := Compile(o)
	if err != nil {
		return nil, err
	}
	if own.crawl = r; o.Include == nil {
		own.include = r.include
	}
	return own, nil
}

// excludedBy is the first exclude pattern that matches u; nil: none does.
func (r *Rules) excludedBy(u urlnorm.URL) *pattern {
	if r.crawl != nil {
		if p := firstMatch(r.crawl.exclude, u); p != nil {
			return p
		}
	}
	return firstMatch(r.exclude, u)
}

// Verdict is the judgement of one URL.
type Verdict struct {
	Admit bool
	// Reason is the refusal's class: OutOfScope, TooDeep or Trap; "" with Admit.
	Reason string
	// Rule is the rule that decided, for people, e.g. "exclude glob:*/private/*".
	Rule string
	// Suspicious: admitted, but it looks like a trap. Rule says why.
	Suspicious bool
}

// Decide decides about u, found depth links from a seed: 0 for a seed and for
// what a seed redirects to. seeds may be nil for none.
func (r *Rules) Decide(u urlnorm.URL, depth int, seeds *Seeds) Verdict {
	inside, rule := r.inside(u, seeds)
	if !inside {
		return Verdict{Reason: OutOfScope, Rule: rule}
	}
	r = r.of(u)
	if p := r.excludedBy(u); p != nil {
		return Verdict{Reason: OutOfScope, Rule: p.rule}
	}
	if len(r.include) > 0 && depth > 0 {
		p := firstMatch(r.include, u)
		if p == nil {
			return Verdict{Reason: OutOfScope, Rule: "no include pattern matches"}
		}
		rule = p.rule
	}
	if r.maxDepth > 0 && depth > r.maxDepth {
		return Verdict{Reason: TooDeep, Rule: r.tooDeep}
	}
	if segment, repeats := repeatedSegment(u.Path() + u.Route()); repeats {
		return Verdict{
			Reason: Trap,
			Rule:   "the path has the segment \"" + segment + "\" four times or more",
		}
	}
	if why := suspicion(u, depth); why != "" {
		return Verdict{Admit: true, Suspicious: true, Rule: why}
	}
	return Verdict{Admit: true, Rule: rule}
}

// DecideAsset decides about a part of a page that is in scope: an image, a script, a style sheet,
// or what a style sheet refers to. Modes, include patterns and depth do not apply to it.
func (r *Rules) DecideAsset(u urlnorm.URL) Verdict {
	r = r.of(u)
	if p := r.excludedBy(u); p != nil {
		return Verdict{Reason: OutOfScope, Rule: p.rule}
	}
	if segment, repeats := repeatedSegment(u.Path() + u.Route()); repeats {
		return Verdict{
			Reason: Trap,
			Rule:   "the path has the segment \"" + segment + "\" four times or more",
		}
	}
	if why := suspicion(u, 0); why != "" {
		return Verdict{Admit: true, Suspicious: true, Rule: why}
	}
	return Verdict{Admit: true, Rule: "part of a page in scope"}
}

// CoversHost reports whether the mode may include any page of u's host.
func (r *Rules) CoversHost(u urlnorm.URL, seeds *Seeds) bool {
	return r.Covers(u, seeds) || seeds != nil && seeds.covers(Host, u)
}

// Excludes reports whether an exclude pattern keeps u out, wherever it was found.
func (r *Rules) Excludes(u urlnorm.URL) bool { return r.of(u).excludedBy(u) != nil }

// of is the rules for a URL's patterns and depth: those of its site, if it has its own.
func (r *Rules) of(u urlnorm.URL) *Rules {
	if r.site == nil {
		return r
	}
	return cmp.Or(r.site(u), r)
}

// Covers reports whether the mode includes u, relative to the seeds, regardless of patterns and
// limits.
func (r *Rules) Covers(u urlnorm.URL, seeds *Seeds) bool {
	inside, _ := r.inside(u, seeds)
	return inside
}

// inside is Covers, and returns the rule.
func (r *Rules) inside(u urlnorm.URL, seeds *Seeds) (bool, string) {
	if r.mode == Any {
		return true, "scope any"
	}
	if seeds != nil && seeds.covers(r.mode, u) {
		switch r.mode {
		case Page:
			return true, "scope page: a seed"
		case Prefix:
			return true, "scope prefix: in a seed's folder"
		case Domain:
			return true, "scope domain: in a seed's domain"
		}
		return true, "scope host: on a seed's host"
	}
	switch r.mode {
	case Page:
		return false, "scope page: not a seed"
	case Prefix:
		return false, "scope prefix: not in a seed's folder"
	case Domain:
		return false, "scope domain: not in a seed's domain"
	}
	return false, "scope host: not on a seed's host"
}

// EntryOf returns the scope entry of a seed in this mode: one line of printable ASCII, the same for
// all seeds that open the same scope, and only a few bytes longer than the longest URL.
func (r *Rules) EntryOf(seed urlnorm.URL) string {
	switch r.mode {
	case Page:
		return pageEntry + seed.String()
	case Prefix:
		return prefixEntry + folder(seed)
	}
	return hostEntry + seed.Host()
}

// folder returns the seed's host and path up to the last slash.
func folder(u urlnorm.URL) string {
	path := u.Path()
	return u.Host() + path[:strings.LastIndexByte(path, '/')+1]
}
