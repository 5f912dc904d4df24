package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"crawlnode/crawl"
)

// live are the flags of the crawl's settings that can be changed while it runs.
var live = []string{
	"scope", "include", "exclude", "assets", "focus", "focus-min", "max-depth", "max-pages", "max-pages-per-host", "max-suspicious-per-host", "max-duration", "max-body",
	"delay", "ip-delay", "user-agent", "robots-agent", "contact", "robots", "tls-verify", "allow-net", "retries", "retry-statuses", "timeout", "header-timeout", "cookies", "priority", "index",
	"recrawl", "recrawl-interval", "recrawl-min", "recrawl-max", "recrawl-share", "recrawl-changed",
	"render", "render-match", "render-screenshot",
}

// foundersOnly are the flags of the crawl's settings that cannot.
var foundersOnly = []string{"store", "normalize"}

// whyFixed explains why the other flags cannot. A flag that is not listed here is a setting of one
// node.
var whyFixed = map[string]string{
	"partitions":   "is fixed by the founding node for the cluster's life",
	"replication":  "is fixed by the founding node for the cluster's life",
	"cluster":      "cannot change during the life of the cluster",
	"normalize":    "decides which URLs are known, so it is fixed when the crawl is founded: another one needs another --data-dir",
	"store":        "is fixed when a node starts, because it opens its archive then: restart the nodes with the flag",
	"seed":         "is not a setting of a running crawl: add seeds with crawlnode seeds add",
	"seeds":        "is not a setting of a running crawl: add seeds with crawlnode seeds add",
	"exclude-file": "is read when a node starts: give its patterns as exclude",
}

// Report converts settings to the names and values of the command line.
func Report(s *crawl.Settings) crawl.SettingsReport {
	c := ofSettings(s, "")
	r := crawl.SettingsReport{
		Scope: c.Mode, Include: orEmpty(c.Include), Exclude: orEmpty(c.Exclude), Assets: c.Assets, Normalize: orEmpty(c.Normalize),
		Focus: s.Focus.String(), FocusMin: s.FocusMin,
		MaxDepth: c.MaxDepth, MaxPages: c.MaxPages, MaxPagesPerHost: c.MaxPagesPerHost,
		MaxSuspiciousPerHost: c.MaxSuspiciousPerHost,
		MaxDuration:          c.MaxDuration.String(), MaxBody: c.MaxBody.String(),
		Delay: c.Delay.String(), UserAgent: s.UserAgent, RobotsAgent: c.RobotsAgent, Contact: c.Contact, Robots: c.Robots, TLSVerify: c.TLSVerify,
		AllowNet: []string{}, Store: c.Store, Index: c.Index, Priority: c.Priority, Recrawl: c.Recrawl, RecrawlInterval: shortDuration(c.RecrawlInterval),
		RecrawlMin: shortDuration(c.RecrawlMin), RecrawlMax: shortDuration(c.RecrawlMax), RecrawlShare: c.RecrawlShare, RecrawlChanged: c.RecrawlChanged,
		Render: c.Render, RenderMatch: orEmpty(c.RenderMatch), RenderScreenshot: c.RenderScreenshot,
		Retries: c.Retries, RetryStatuses: c.RetryStatuses, Timeout: c.Timeout.String(), HeaderTimeout: c.HeaderTimeout.String(), Cookies: c.Cookies,
	}
	if c.IPDelay != nil {
		text := c.IPDelay.String()
		r.IPDelay = &text
	}
	for _, p := range c.AllowNet {
		r.AllowNet = append(r.AllowNet, p.String())
	}
	return r
}

// equal compares two values of a setting, lists as sets.
func (f field) equal(other field) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(f.texts()))), slices.Compact(slices.Sorted(slices.Values(other.texts()))))
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// ofSettings is the inverse of Settings: a Config whose Settings(version) are s. A default user
// agent, of whatever version, is generated again, so that it follows the contact.
func ofSettings(s *crawl.Settings, version string) Config {
	word := func(second bool, words ...string) string {
		if second {
			return words[1]
		}
		return words[0]
	}
	c := Default()
	c.Mode, c.Include, c.Exclude, c.Assets = s.Scope, slices.Clone(s.Include), slices.Clone(s.Exclude), s.AssetPolicy()
	c.Normalize, c.Focus.Topic, c.FocusMin = slices.Clone(s.Normalize), s.Focus, s.FocusMin
	c.MaxDepth, c.MaxPages, c.MaxPagesPerHost, c.MaxDuration, c.MaxBody = s.MaxDepth, s.MaxPages, s.MaxPagesPerHost, s.MaxDuration, Size(s.MaxBody)
	c.MaxSuspiciousPerHost = s.SuspiciousPerHost()
	c.Delay, c.IPDelay, c.Contact, c.AllowNet = s.Delay, s.IPDelay, s.Contact, slices.Clone(s.AllowNet)
	c.RobotsAgent = s.RobotsAgent
	c.Robots, c.TLSVerify, c.Store = word(s.RobotsIgnore, "obey", "ignore"), word(s.TLSRecord, "strict", "record"), word(s.Archive, "none", "warc")
	c.Index = word(s.Index, "off", "on")
	c.Render, c.RenderMatch, c.RenderScreenshot = cmp.Or(s.Render, crawl.RenderOff), slices.Clone(s.RenderMatch), s.RenderScreenshot
	c.Priority, c.Revisits = cmp.Or(s.Priority, c.Priority), revisitsOf(s)
	c.Answers = answersOf(s)
	own := c.userAgent(version)
	name, rest, _ := strings.Cut(own, " ")
	theirName, theirRest, _ := strings.Cut(s.UserAgent, " ")
	if rest != theirRest || product(name) != product(theirName) {
		c.UserAgent = s.UserAgent
	}
	return c
}

// product is the name in a product token.
func product(token string) string {
	name, _, _ := strings.Cut(token, "/")
	return name
}

// Change returns settings with changes applied, after the same checks as on the command line. Names
// are those of flags; _ counts as -. The error is a *crawl.FieldErrors that lists everything that
// is wrong.
func Change(s *crawl.Settings, changes map[string]json.RawMessage, version string) (crawl.Settings, error) {
	c := ofSettings(s, version)
	before, fields := ofSettings(s, version), map[string]field{}
	for _, f := range fieldsOf(&c) {
		fields[f.name] = f
	}
	wrong, fixed := &crawl.FieldErrors{}, 0
	add := func(name, format string, args ...any) {
		wrong.Fields = append(wrong.Fields, crawl.FieldError{Field: name, Detail: fmt.Sprintf(format, args...)})
	}
	named := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		flag := strings.ReplaceAll(name, "_", "-")
		f, known := fields[flag]
		switch {
		case !known:
			add(name, "is not a setting%s", didYouMean(flag))
		case named[flag]:
			add(name, "is given twice")
		case flag == "focus" && c.Focus.keeps(changes[name]):
		case flag == "user-agent" && isText(changes[name], s.UserAgent):
			continue // from the report: a default one still follows the contact
		case slices.Contains(live, flag):
			if err := f.setJSON(changes[name]); err != nil {
				add(name, "%v", err)
			}
		case slices.Contains(foundersOnly, flag) && f.setJSON(changes[name]) == nil && f.equal(fieldNamed(&before, flag)): // unchanged from the report
		default:
			fixed++
			add(name, "%s", cmp.Or(whyFixed[flag], "is a setting of one node: change the flag where it is started"))
		}
		named[flag] = true
	}
	if len(wrong.Fields) > 0 {
		wrong.Fixed = fixed == len(wrong.Fields)
		return crawl.Settings{}, wrong
	}
	moved := func(flag string) bool {
		return named[flag] && !fields[flag].equal(fieldNamed(&before, flag))
	}
	wrong.Fields = c.liveProblems(moved("contact") || moved("allow-net"))
	if len(wrong.Fields) > 0 {
		return crawl.Settings{}, wrong
	}
	changed := c.Settings(version)
	if !moved("contact") && !named["user-agent"] { // otherwise a node of another release would insert its version
		changed.UserAgent = s.UserAgent
	}
	return changed, nil
}

// isText reports whether a JSON value is that text.
func isText(raw json.RawMessage, text string) bool {
	var s *string
	return json.Unmarshal(raw, &s) == nil && s != nil && *s == text
}

// liveProblems lists the problems of the crawl's settings, by field. reach says that where the crawl may go, or who answers for
// it, was changed: only then a missing contact is one.
func (c *Config) liveProblems(reach bool) []crawl.FieldError {
	err := errors.Join(c.validateScope(), c.validatePoliteness(), c.validateOutputAndLimits(), c.validateRevisits(), c.validateRender(), c.validateAnswers())
	if err == nil && c.Contact == "" && len(c.AllowNet) == 0 && reach {
		err = errors.New("--contact: is required to crawl anything outside --allow-net: give a contact for site owners")
	}
	if err == nil {
		return nil
	}
	var problems []crawl.FieldError
	for line := range strings.SplitSeq(err.Error(), "\n") {
		flag, detail, _ := strings.Cut(strings.TrimPrefix(line, "--"), ": ")
		problems = append(problems, crawl.FieldError{Field: strings.ReplaceAll(flag, "-", "_"), Detail: detail})
	}
	return problems
}

func didYouMean(flag string) string {
	if s := Suggest(flag, live); s != "" {
		return fmt.Sprintf("; did you mean %q?", strings.ReplaceAll(s, "-", "_"))
	}
	return ": crawlnode crawl-config show lists them"
}

func fieldNamed(c *Config, name string) field {
	for _, f := range fieldsOf(c) {
		if f.name == name {
			return f
		}
	}
	panic("BUG: no setting is called " + name)
}

// setJSON parses a JSON value into the setting: text as on the command line, a number, true or
// false, a list of texts, or null for the default.
func (f field) setJSON(raw json.RawMessage) error {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return fmt.Errorf("is not a JSON value: %w", err)
	}
	switch v := v.(type) {
	case nil:
		def := fieldNamed(defaults(), f.name)
		f.value.Set(def.value)
		return nil
	case string:
		return f.set(f.split(v))
	case bool:
		return f.set([]string{fmt.Sprint(v)})
	case json.Number:
		return f.set([]string{v.String()})
	case []any:
		if !f.list() {
			return errors.New("takes one value, not a list")
		}
		values := make([]string, len(v))
		for i, x := range v {
			text, ok := x.(string)
			if !ok {
				return errors.New("must be a list of texts")
			}
			values[i] = text
		}
		return f.set(values)
	}
	return errors.New("must be a text, a number, true, false or a list of texts, not an object")
}

func defaults() *Config {
	c := Default()
	return &c
}
