package dashboard

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"crawlnode/config"
	"crawlnode/crawl"
)

// The kinds of fields in the form of the settings.
const (
	kindText   = "text"
	kindChoice = "choice"
	kindLines  = "lines" // a list, one value a line
)

// setting is one field of the form. Its name and its values are those of crawl-config; whether a
// value is right is decided by the node alone.
type setting struct {
	Name    string // as in the API
	Flag    string // as on the command line
	Hint    string
	Kind    string
	Words   []string // of a choice
	Value   string   // as text; the lines of a list
	Problem string   // why the value was refused

	old       json.RawMessage
	emptyNull bool // an empty field is the default
}

// settingGroup is a part of the form.
type settingGroup struct {
	Title    string
	Settings []*setting
}

// settingPlan says where a setting stands in the form, and its hint.
type settingPlan struct{ group, name, hint string }

// settingPlans is the order of the form. A setting without a row stands at its end, with
// what the API says of it.
var settingPlans = []settingPlan{
	{"Scope", "scope", "Which links are followed, seen from each seed."},
	{"Scope", "include",
		"Patterns, one per line; only matching URLs are crawled. Such as *.html or regex:/docs/"},
	{"Scope", "exclude", "Patterns, one per line. Exclude wins over include."},
	{"Scope", "assets",
		"Images, styles and scripts of the pages: none, those on the same host, or any."},
	{"Scope", "focus",
		"The topic model of a focused crawl. crawlnode crawl-config set focus=FILE sets it; " +
			"empty: none."},
	{"Scope", "focus_min",
		"Pages that fit the topic less than this pass no links on. 0 to 1; 0: all do."},
	{"Scope", "index", "Index pages for search: on, those that are fetched from then on."},
	{"Scope", "documents",
		"Read the text and links of PDF, office files, books and plain text: on or off."},
	{"Rendering", "render",
		"Show pages to a browser first: all, or auto, those that seem to need it."},
	{"Rendering", "render_match",
		"Patterns, one per line. With auto: these as well; with all: only these."},
	{"Rendering", "render_screenshot", "Archive a picture of each page that is shown."},
	{"Limits", "max_depth", "Links from a seed. 0: no limit."},
	{"Limits", "max_pages", "Pages of the whole cluster. 0: no limit."},
	{"Limits", "max_pages_per_host", "0: no limit."},
	{"Limits", "max_suspicious_per_host",
		"URLs of a host that look like a trap, as a calendar without an end. 0: no limit."},
	{"Limits", "max_duration", "Such as 2h. 0s: no limit."},
	{"Limits", "max_body", "The longest answer that is kept whole, such as 10MiB."},
	{"Revisits", "recrawl",
		"Visit known pages again: off; fixed, each after the interval; adaptive, each when a " +
			"visit is worth most."},
	{"Revisits", "recrawl_interval",
		"Time between two visits of a page, such as 7d; with adaptive the first guess. Below " +
			"1m only inside allow-net."},
	{"Revisits", "recrawl_min", "The shortest time between two visits, such as 1h."},
	{"Revisits", "recrawl_max", "The longest time between two visits, such as 90d."},
	{"Revisits", "recrawl_share",
		"Share of the fetches for known pages while new ones wait: above 0, at most 1."},
	{"Revisits", "recrawl_worth",
		"With adaptive: the probability of a change that a visit needs, at least 0, below 1. " +
			"0: as often as there is room."},
	{"Revisits", "recrawl_changed",
		"What counts as a change: the text, without numbers and dates, or any byte."},
	{"Revisits", "priority",
		"Weights of a queued URL's score. Today the queue is ordered by depth alone."},
	{"Politeness", "delay", "The least gap between two requests to a host, such as 1s."},
	{"Politeness", "ip_delay",
		"The least gap for one IP address. Empty: 200ms, and 0 inside allow-net."},
	{"Politeness", "robots", "ignore applies inside allow-net only."},
	{"Politeness", "retries",
		"How often a page is tried again that failed, or answered one of the retry statuses."},
	{"Politeness", "retry_statuses",
		"Such as 502,504,520-526; none: no status. After 429 and 503 the host waits."},
	{"Politeness", "timeout", "Time limit of a whole answer, such as 1m."},
	{"Politeness", "header_timeout", "Time limit of an answer's head, such as 15s."},
	{"Politeness", "cookies",
		"visit: cookies set by a redirect go with that page's redirects. host: each host has " +
			"a jar."},
	{"Politeness", "blocked",
		"back-off: a bot wall is archived, neither indexed nor followed, and its host waits."},
	{"Politeness", "purpose",
		"What the crawl is for: any of search, archive, ai-input, ai-train."},
	{"Politeness", "preferences",
		"mark: what owners say of the use of a page is stored with it. obey: pages whose owner " +
			"said no to a purpose are left out."},
	{"Politeness", "contact", "An address for site owners; required outside allow-net."},
	{"Politeness", "user_agent", "The name that web servers see."},
	{"Politeness", "robots_agent",
		"The name that robots.txt, X-Robots-Tag and meta robots have for it. Empty: the first " +
			"word of user_agent."},
	{"Network", "proxy",
		"Proxies, one per line, used in turn, such as socks5://127.0.0.1:1080. Empty: none."},
	{"Network", "tls_verify", "record: continue with a bad certificate and record it."},
	{"Network", "allow_net",
		"Private networks that may be crawled, such as 10.0.0.0/8, one per line."},
}

// startNames are the settings in the form that starts a crawl.
var startNames = []string{"scope", "max_depth", "max_pages", "max_duration", "delay", "contact"}

// settingsOf lists the settings of a report that can be changed, by group and in the form's order.
func settingsOf(report crawl.SettingsReport) []settingGroup {
	plans := slices.Clone(settingPlans)
	all := map[string]*setting{}
	for _, r := range config.ReportedSettings() {
		i := slices.IndexFunc(report, func(v crawl.SettingValue) bool { return v.Name == r.Name })
		if i < 0 || !r.Changeable || r.Name == "sites" { // rules for sites have a page of their own
			continue
		}
		all[r.Name] = newSetting(r, report[i].Value)
		if !slices.ContainsFunc(plans, func(p settingPlan) bool { return p.name == r.Name }) {
			plans = append(plans, settingPlan{"More", r.Name, r.Meaning})
		}
	}
	var groups []settingGroup
	for _, p := range plans {
		s := all[p.name]
		if s == nil {
			continue
		}
		if len(groups) == 0 || groups[len(groups)-1].Title != p.group {
			groups = append(groups, settingGroup{Title: p.group})
		}
		g := &groups[len(groups)-1]
		s.Hint = p.hint
		g.Settings = append(g.Settings, s)
	}
	return groups
}

// newSetting makes a field of a value of the report.
func newSetting(r config.Reported, value any) *setting {
	s := &setting{Name: r.Name, Flag: strings.ReplaceAll(r.Name, "_", "-"), Kind: kindText}
	var err error
	if s.old, err = json.Marshal(value); err != nil {
		panic("BUG: " + err.Error()) // texts, numbers and lists of texts
	}
	switch v := value.(type) {
	case nil:
	case []string:
		s.Value = strings.Join(v, "\n")
	default:
		s.Value = fmt.Sprint(v)
	}
	switch s.Words = r.Words; {
	case r.Type == "boolean":
		s.Kind, s.Words = kindChoice, []string{"false", "true"}
	case r.Type == "array":
		s.Kind = kindLines
	case r.Words != nil:
		s.Kind = kindChoice
	}
	s.emptyNull = r.Null || r.Type == "integer" || r.Type == "number"
	return s
}

// settingsForm is a form with settings, and what was wrong with them.
type settingsForm struct {
	Version string
	Groups  []settingGroup
	General []string // problems of no field that is shown
}

func newSettingsForm(report *crawl.CrawlReport) *settingsForm {
	return &settingsForm{Version: report.Version, Groups: settingsOf(report.Settings)}
}

// only keeps the named settings, in this order, as one group.
func (f *settingsForm) only(names []string) *settingsForm {
	g := settingGroup{}
	for _, name := range names {
		if s := f.find(name); s != nil {
			g.Settings = append(g.Settings, s)
		}
	}
	f.Groups = []settingGroup{g}
	return f
}

func (f *settingsForm) find(name string) *setting {
	for _, g := range f.Groups {
		for _, s := range g.Settings {
			if s.Name == name || s.Flag == name {
				return s
			}
		}
	}
	return nil
}

// take puts the sent values into the fields, and returns those that differ from what is set, with
// the old ones, as JSON. A field that was not sent stays.
func (f *settingsForm) take(sent url.Values) (changes, old map[string]json.RawMessage) {
	changes, old = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for _, g := range f.Groups {
		for _, s := range g.Settings {
			if !sent.Has(s.Name) {
				continue
			}
			value := strings.TrimSpace(strings.ReplaceAll(sent.Get(s.Name), "\r\n", "\n"))
			if value == s.Value {
				continue
			}
			s.Value, old[s.Name] = value, s.old
			changes[s.Name] = s.json()
		}
	}
	return changes, old
}

// json is the value of a field as a change of the settings takes it: a text as on the command
// line, a list of texts, or null for the default.
func (s *setting) json() json.RawMessage {
	var v any = s.Value
	switch {
	case s.Kind == kindLines:
		lines := []string{}
		for line := range strings.Lines(s.Value) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		v = lines
	case s.Value == "" && s.emptyNull:
		v = nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error()) // texts
	}
	return raw
}

// blame puts problems beside their fields.
func (f *settingsForm) blame(wrong *crawl.FieldErrors) {
	for _, p := range wrong.Fields {
		if s := f.find(p.Field); s != nil && s.Problem == "" {
			s.Problem = p.Detail
			continue
		}
		f.General = append(f.General, p.Field+": "+p.Detail)
	}
}
