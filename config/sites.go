package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/settings/sites"
	"crawlnode/web/fetcher"
	"crawlnode/web/proxy"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// Sites is the setting --sites: the text of a file of rules (package settings/sites), or the file
// that it is to be read from. The zero value is none.
type Sites struct {
	Text   string
	path   string // not read yet
	broken bool   // it could not be read, as was told
}

// SitesFrom reads a file of rules, without judging it. The error names the file.
func SitesFrom(path string) (string, error) {
	text, err := readFile(path)
	if err != nil {
		return "", fmt.Errorf("%w: give a YAML file of rules that this user can read", err)
	}
	return string(text), nil
}

// UnmarshalText takes the path of a file, which read reads, or the text of the rules. A text has
// more than one line, or begins as a YAML list or a comment does.
func (s *Sites) UnmarshalText(text []byte) error {
	*s = Sites{}
	switch t := string(text); {
	case strings.Contains(t, "\n"), strings.HasPrefix(t, "-"), strings.HasPrefix(t, "["),
		strings.HasPrefix(t, "#"):
		s.Text = t
	default:
		s.path = t
	}
	return nil
}

// MarshalText is the inverse.
func (s Sites) MarshalText() ([]byte, error) {
	if s.path != "" {
		return []byte(s.path), nil
	}
	return []byte(s.Text), nil
}

// String names the rules in a report: their size, and a hash, by which two nodes are compared.
// "": there are none.
func (s Sites) String() string {
	if s.Text == "" {
		return s.path
	}
	return SitesName(s.Text)
}

// SitesName is how reports name a text of rules; "" without one.
func SitesName(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%s of rules, %016x", Size(len(text)), xxh3.HashString(text))
}

// read reads the file, if one was named.
func (s *Sites) read() error {
	if s.path == "" {
		return nil
	}
	path := s.path
	text, err := SitesFrom(path)
	if *s = (Sites{Text: text, broken: err != nil}); err != nil {
		return fmt.Errorf("--sites: %w", err)
	}
	if _, problems := ParseSites(text, nil); len(problems) > 0 { // the lines are the file's
		s.broken = true
		return sitesError(path+": ", problems)
	}
	return nil
}

// keeps reports whether a change of the setting names what is set: the report's text.
func (s *Sites) keeps(raw json.RawMessage) bool {
	var text string
	return json.Unmarshal(raw, &text) == nil && text == s.String()
}

// sitesError lists problems, each with the flag.
func sitesError(where string, problems []sites.Problem) error {
	var lines []error
	for _, p := range problems {
		lines = append(lines, fmt.Errorf("--sites: %s%w", where, p))
	}
	return errors.Join(lines...)
}

// validateSites checks the rules.
func (c *Config) validateSites() error {
	switch {
	case c.Sites.broken:
		return nil // it was told
	case c.Sites.path != "":
		if _, err := os.Stat(c.Sites.path); err != nil {
			return fmt.Errorf("--sites: %q is neither a list of rules nor a file", c.Sites.path)
		}
		return fmt.Errorf("--sites: %q names a file on one machine, and the setting is the whole "+
			"cluster's: crawlnode crawl-config set sites=@FILE sends the rules themselves", c.Sites.path)
	}
	_, problems := parseSites(c.Sites.Text, c)
	return sitesError("", problems)
}

// ParseSites reads rules for sites. Their values are checked beside the settings of the crawl: a
// delay of 0, say, needs a network that may be crawled so. Nil: the defaults.
func ParseSites(text string, s *crawl.Settings) (*sites.File, []sites.Problem) {
	c := Default()
	if s != nil {
		c = ofSettings(s, "")
	}
	return parseSites(text, &c)
}

func parseSites(text string, base *Config) (*sites.File, []sites.Problem) {
	if text == "" {
		return &sites.File{}, nil
	}
	plain := *base
	plain.Sites = Sites{}
	told := map[string]error{} // many rules have the same values
	return sites.Parse([]byte(text), sites.Checks{
		Suggest: Suggest,
		Setting: func(s sites.Setting) error {
			key := fmt.Sprintf("%s %q", s.Field, s.Texts)
			err, known := told[key]
			if !known {
				err = plain.checkSite(s)
				told[key] = err
			}
			return err
		},
		Header: fetcher.CheckHeader,
	})
}

// checkSite checks a value of a rule as if it were the crawl's.
func (c *Config) checkSite(s sites.Setting) error {
	own := *c
	f := fieldNamed(&own, sites.SettingOf(s.Field))
	if err := own.setSite(f, s); err != nil {
		return err
	}
	err := f.check()
	switch s.Field {
	case "delay", "user-agent", "robots-agent":
		err = errors.Join(err, own.validatePoliteness())
	case "include", "exclude":
		err = errors.Join(err, own.validateScope())
	case "recrawl-min", "recrawl-max":
		// Their order is judged when the rules of a URL are joined.
		err = errors.Join(err, checkInterval(f.name, time.Duration(f.value.Int()), len(c.AllowNet) > 0))
	case "proxy":
		err = errors.Join(err, own.validateProxies())
	case "recrawl-worth":
		err = errors.Join(err, own.validateRevisits())
	}
	if err == nil {
		return nil
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if text, ok := strings.CutPrefix(line, "--"+f.name+": "); ok {
			return errors.New(text)
		}
	}
	return nil
}

// validateProxies requires addresses without passwords.
func (c *Config) validateProxies() error {
	var problems []error
	for _, text := range c.Proxy {
		if _, err := proxy.Parse(text); err != nil {
			problems = append(problems, fmt.Errorf("--proxy: %w", err))
		}
	}
	return errors.Join(problems...)
}

// setSite gives a setting the value of a rule.
func (c *Config) setSite(f field, s sites.Setting) error {
	texts := slices.Clone(s.Texts)
	for i, text := range texts {
		switch { // as YAML has it
		case s.Field == "index" && text == "true":
			texts[i] = "on"
		case s.Field == "index" && text == "false":
			texts[i] = "off"
		}
	}
	if s.Field == "proxy" && slices.Equal(texts, []string{"none"}) {
		texts = []string{}
	}
	if err := f.set(texts); err != nil {
		return err
	}
	if len(texts) == 0 && f.list() {
		f.value.SetZero()
	}
	return nil
}

// SiteOverlay makes the settings of sites out of those of the crawl. Exclude has the site's own
// patterns alone: what the crawl excludes is excluded beside.
func SiteOverlay(base *crawl.Settings) sites.Overlay {
	plain := *base
	plain.Sites, plain.Exclude = "", nil // no site's settings hold the rules
	common := ofSettings(&plain, "")
	ofCrawl := sync.OnceValues(func() (*scope.Rules, error) {
		return scope.Compile(
			scope.Options{Mode: base.Scope, Include: base.Include, Exclude: base.Exclude})
	})
	return func(values []sites.Setting) (*crawl.Settings, *scope.Rules, error) {
		c, s := common, plain
		byName, scoped := map[string]both{}, scope.Options{}
		for _, b := range settingsOfCrawl(&c, &s) {
			byName[b.name] = b
		}
		hasScope := false
		for _, v := range values {
			b := byName[sites.SettingOf(v.Field)]
			if err := c.setSite(b.field, v); err != nil {
				return nil, nil, fmt.Errorf("line %d: %s: %w", v.Line, v.Field, err)
			}
			b.store()
			switch v.Field {
			case "include":
				scoped.Include, hasScope = append([]string{}, s.Include...), true // not nil
			case "exclude", "max-depth":
				hasScope = true
			}
		}
		if r := &c.Revisits; r.Recrawl != crawl.RecrawlOff { // bounds of two rules need not fit
			r.RecrawlMax = max(r.RecrawlMax, r.RecrawlMin)
			r.RecrawlInterval = min(max(r.RecrawlInterval, r.RecrawlMin), r.RecrawlMax)
			for _, b := range byName {
				if b.tag.Get("together") == "recrawl_max" {
					b.store()
				}
			}
		}
		if !hasScope {
			return &s, nil, nil
		}
		whole, err := ofCrawl()
		if err != nil {
			return nil, nil, err
		}
		scoped.Exclude, scoped.MaxDepth = s.Exclude, s.MaxDepth
		rules, err := whole.ForSite(scoped)
		return &s, rules, err
	}
}

// ExplainSite says what holds for a URL, and by which rules.
func ExplainSite(s *crawl.Settings, table *sites.Table, u urlnorm.URL) crawl.SiteReport {
	r := crawl.SiteReport{URL: u.String(), Rules: []crawl.SiteRule{}, Values: []crawl.SiteValue{}}
	site := table.Of(u)
	if site == nil {
		site = &sites.Site{Settings: s}
	}
	for _, rule := range site.Rules {
		r.Rules = append(r.Rules, crawl.SiteRule{Line: rule.Line, Match: rule.Matching(u)})
	}
	c := ofSettings(site.Settings, "")
	c.UserAgent = site.Settings.UserAgent
	for _, field := range sites.Fields() {
		if field == "headers" {
			r.Values = append(r.Values, headerValues(site)...)
			continue
		}
		v := crawl.SiteValue{Field: field}
		if flag := sites.SettingOf(field); flag != "" {
			texts := fieldNamed(&c, flag).texts()
			if field == "exclude" && len(site.Rules) > 0 {
				texts = append(slices.Clone(s.Exclude), texts...)
			}
			v.Value = strings.Join(texts, ", ")
		} else {
			v.Value = site.Text(field)
		}
		if rule := site.From(field); rule != nil {
			line, _ := rule.Gives(field)
			v.Line = &line
		}
		r.Values = append(r.Values, v)
	}
	return r
}

// headerValues lists the headers, each with the rule that gives it.
func headerValues(site *sites.Site) (values []crawl.SiteValue) {
	for _, h := range site.Headers {
		v := crawl.SiteValue{Field: "headers." + h.Name, Value: h.Value, Line: &h.Line}
		if h.Secret != "" {
			v.Value = "secret:" + h.Secret
		}
		values = append(values, v)
	}
	return values
}
