package crawl

import (
	"cmp"
	"net/netip"
	"strings"
	"time"

	"crawlnode/web/preferences"
)

// Settings are the crawl's rules. They belong to the cluster: the founding node's flags set them
// and joiners adopt them. The JSON form is sent between nodes and stored on disk.
type Settings struct {
	Scope   string   `json:"scope"` // page, prefix, host, domain or any
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	Assets  bool     `json:"assets"` // AssetPolicy says which
	// with Assets: on the page's host only; older nodes take it for AssetsAny
	AssetsSameHost bool `json:"assets_same_host,omitempty"`
	// rules of web/normalize; the founder's for the crawl's life
	Normalize       []string       `json:"normalize,omitempty"`
	MaxDepth        int            `json:"max_depth"`          // 0: no bound
	MaxPages        int64          `json:"max_pages"`          // 0: no bound
	MaxPagesPerHost int64          `json:"max_pages_per_host"` // 0: no bound
	MaxDuration     time.Duration  `json:"max_duration"`       // 0: no bound
	MaxBody         int64          `json:"max_body"`           // bytes after decoding
	Delay           time.Duration  `json:"delay"`
	IPDelay         *time.Duration `json:"ip_delay"` // nil: 200 ms outside AllowNet, 0 inside
	UserAgent       string         `json:"user_agent"`
	// see Agent; "": the product token of UserAgent
	RobotsAgent  string         `json:"robots_agent,omitempty"`
	Contact      string         `json:"contact"`
	RobotsIgnore bool           `json:"robots_ignore"` // only for addresses inside AllowNet
	TLSRecord    bool           `json:"tls_record"`    // continue with a bad certificate
	AllowNet     []netip.Prefix `json:"allow_net,omitempty"`
	Archive      bool           `json:"archive"`
	// what pages and links are judged by; nil: all are alike
	Focus    *Topic  `json:"focus,omitempty"`
	FocusMin float64 `json:"focus_min,omitempty"` // pages with a lower score pass no links on; 0 to 1
	// Revisits of known pages (package recrawl). Recrawl is "", which is RecrawlOff, or one of the
	// modes.
	Recrawl         string        `json:"recrawl,omitempty"`
	RecrawlInterval time.Duration `json:"recrawl_interval,omitempty"` // fixed, or the first one
	RecrawlMin      time.Duration `json:"recrawl_min,omitempty"`
	RecrawlMax      time.Duration `json:"recrawl_max,omitempty"`
	// of the fetches while new URLs wait; above 0, at most 1
	RecrawlShare float64 `json:"recrawl_share,omitempty"`
	// probability of a change that a visit needs; from 0 to below 1; nodes before it lack it, and mean
	// 0
	RecrawlWorth float64 `json:"recrawl_worth,omitempty"`
	// "", which is RecrawlText, or RecrawlPayload
	RecrawlChanged string `json:"recrawl_changed,omitempty"`
	// "", the default, or weights as importance.ParseWeights reads them
	Priority string `json:"priority,omitempty"`
	Index    bool   `json:"index,omitempty"` // pages are indexed for search
	// Pages that are shown to a browser (package render). Render is "", which is RenderOff, or one of
	// the modes.
	Render           string   `json:"render,omitempty"`
	RenderMatch      []string `json:"render_match,omitempty"` // patterns as Include has them
	RenderScreenshot bool     `json:"render_screenshot,omitempty"`
	// What servers answer. Absent fields mean the defaults: documents of older nodes lack them.
	Retries *int `json:"retries,omitempty"` // nil: DefaultRetries
	// as retry.ParseStatuses reads it; "": DefaultRetryStatuses
	RetryStatuses string `json:"retry_statuses,omitempty"`
	// of a whole answer; 0: DefaultTimeout
	Timeout time.Duration `json:"timeout,omitempty"`
	// of its head; 0: DefaultHeaderTimeout
	HeaderTimeout time.Duration `json:"header_timeout,omitempty"`
	// "", which is CookiesVisit, or one of the modes
	Cookies string `json:"cookies,omitempty"`
	Blocked string `json:"blocked,omitempty"` // "", which is BlockedBackOff, or BlockedOff
	// What owners say of the use of their pages. Purpose is "", which is DefaultPurpose, or a list as
	// preferences.ParsePurposes reads it; Preferences is "", which is PreferencesMark, or one of the
	// modes.
	Purpose     string `json:"purpose,omitempty"`
	Preferences string `json:"preferences,omitempty"`
	// Documents is "", which is DocumentsOn, or DocumentsOff.
	Documents string `json:"documents,omitempty"`
	// MaxSuspiciousPerHost bounds the URLs of a host that look like a trap. Nil:
	// DefaultSuspiciousPerHost; 0: no bound.
	MaxSuspiciousPerHost *int64 `json:"max_suspicious_per_host,omitempty"`
	// Sites is the file of rules for sites (package settings/sites). Proxies are asked in turn; each
	// is a URL as package web/proxy reads it. None: requests go to the hosts themselves.
	Sites   string   `json:"sites,omitempty"`
	Proxies []string `json:"proxy,omitempty"`
}

// DefaultAgent is the product token of a user agent that has none.
const DefaultAgent = "crawlnode"

// Agent is the product token by which robots.txt, X-Robots-Tag headers and robots meta elements
// address this crawl: RobotsAgent, or else that of the user agent.
func (s *Settings) Agent() string { return cmp.Or(s.RobotsAgent, ProductToken(s.UserAgent)) }

// ProductToken is the product token of a User-Agent header (RFC 9309, section 2.2.1): its first
// letters, "_" and "-". A user agent that claims to be a browser is known by the name that its
// robot goes by, as robotName finds it.
func ProductToken(userAgent string) string {
	userAgent = strings.TrimSpace(userAgent)
	if len(userAgent) > len(browser) && strings.EqualFold(userAgent[:len(browser)], browser) {
		userAgent = cmp.Or(robotName(userAgent), userAgent)
	}
	end := 0
	for end < len(userAgent) && isTokenByte(userAgent[end]) {
		end++
	}
	return cmp.Or(userAgent[:end], DefaultAgent)
}

// browser is how the user agent of each browser begins.
const browser = "Mozilla/"

// robotName is where a robot's name begins in a user agent that claims to be a browser; "": it has
// none. The first rule counts that finds one:
//
//	what stands behind "compatible" in a comment       (KHTML, like Gecko; compatible; FieldBot/1.0)
//	the beginning of a comment that names a contact    Safari/605 (FieldBot/1.0; +https://…)
//	the product before a comment that is only that     Safari/605 FieldBot/1.0 (+https://…)
func robotName(userAgent string) string {
	var named string
	for before, rest, ok := strings.Cut(userAgent, "("); ok; before, rest, ok = strings.Cut(rest,
		"(") {
		var comment string
		comment, rest, _ = strings.Cut(rest, ")")
		compatible := false
		for element := range strings.SplitSeq(comment, ";") {
			element = strings.TrimSpace(element)
			if compatible && element != "" {
				return element
			}
			compatible = compatible || strings.EqualFold(element, "compatible")
		}
		if named != "" || !strings.Contains(comment, "://") && !strings.Contains(comment, "@") {
			continue
		}
		if named = strings.TrimSpace(comment); isContact(named) {
			before = strings.TrimSpace(before)
			named = before[strings.LastIndexAny(before, " \t")+1:]
		}
	}
	return named
}

// isContact reports whether the first word of a comment is an address.
func isContact(comment string) bool {
	word, _, _ := strings.Cut(comment, ";")
	word, _, _ = strings.Cut(word, " ")
	return strings.HasPrefix(word, "+") || strings.Contains(word, "://") || strings.Contains(word, "@")
}

// IsProductToken reports whether robots.txt can name an agent so (RFC 9309, section 2.2.1).
func IsProductToken(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isTokenByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '-'
}

// Defaults of the settings about what servers answer.
const (
	// DefaultRetries is how often a URL is tried again.
	DefaultRetries = 3
	// DefaultRetryStatuses are those that say that the same request may succeed soon: time-out,
	// too early, server errors and those of gateways and CDNs.
	DefaultRetryStatuses = "408,425,500,502,504,520-526"
	DefaultTimeout       = 60 * time.Second
	DefaultHeaderTimeout = 15 * time.Second
)

// The modes of Settings.Cookies.
const (
	CookiesOff = "off"
	// those set by a redirect go with that page's redirects, and end with the page
	CookiesVisit = "visit"
	CookiesHost  = "host" // each host has a jar, which is part of its state
)

// The modes of Settings.Blocked.
const (
	BlockedOff     = "off"      // bot walls are pages as others
	BlockedBackOff = "back-off" // they are recognised, and their host backs off
)

// KnowsWalls reports whether bot walls are recognised.
func (s *Settings) KnowsWalls() bool { return s.Blocked != BlockedOff }

// The modes of Settings.Documents.
const (
	DocumentsOff = "off"
	DocumentsOn  = "on" // text and links of PDF, office files, books and plain text are read
)

// ReadsDocuments reports whether files that are no web pages are read.
func (s *Settings) ReadsDocuments() bool { return s.Documents != DocumentsOff }

// DefaultPurpose is what a crawl is for.
const DefaultPurpose = "search,archive"

// The modes of Settings.Preferences.
const (
	PreferencesIgnore = "ignore" // nobody asks for them
	PreferencesMark   = "mark"   // they are stored with each page
	PreferencesObey   = "obey"   // and decide what is given away
)

// Purposes is what the crawl is for.
func (s *Settings) Purposes() preferences.Purposes {
	p, err := preferences.ParsePurposes(cmp.Or(s.Purpose, DefaultPurpose))
	if err != nil { // settings are checked where they come in
		p, _ = preferences.ParsePurposes(DefaultPurpose)
	}
	return p
}

// ReadsPreferences reports whether it matters what owners say of the use of their pages.
func (s *Settings) ReadsPreferences() bool { return s.Preferences != PreferencesIgnore }

// ObeysPreferences reports whether pages are left out whose owner said no.
func (s *Settings) ObeysPreferences() bool { return s.Preferences == PreferencesObey }

// Obeyed are the purposes to which an owner's no leaves a page out; none with another mode than
// obey.
func (s *Settings) Obeyed() preferences.Purposes {
	if !s.ObeysPreferences() {
		return 0
	}
	return s.Purposes()
}

// ReadsTDMFile reports whether tdmrep.json of each site is read.
func (s *Settings) ReadsTDMFile() bool {
	return s.ReadsPreferences() && s.Purposes().ReadsTDMFile()
}

// DefaultSuspiciousPerHost is how many URLs that look like a trap a host may have.
const DefaultSuspiciousPerHost = 10_000

// SuspiciousPerHost is how many URLs that look like a trap a host may have; 0: any number.
func (s *Settings) SuspiciousPerHost() int64 {
	if s.MaxSuspiciousPerHost == nil {
		return DefaultSuspiciousPerHost
	}
	return *s.MaxSuspiciousPerHost
}

// RetryCount is how often a URL is tried again.
func (s *Settings) RetryCount() int {
	if s.Retries == nil {
		return DefaultRetries
	}
	return *s.Retries
}

// RetryList is the list of statuses that are tried again.
func (s *Settings) RetryList() string { return cmp.Or(s.RetryStatuses, DefaultRetryStatuses) }

// Times are the limits for a whole answer and for its head.
func (s *Settings) Times() (whole, head time.Duration) {
	return cmp.Or(s.Timeout, DefaultTimeout), cmp.Or(s.HeaderTimeout, DefaultHeaderTimeout)
}

// VisitCookies reports whether cookies that a redirect sets go with the page's redirects.
// They do with a jar for each host, too.
func (s *Settings) VisitCookies() bool { return s.Cookies != CookiesOff }

// HostCookies reports whether each host has a jar of its own.
func (s *Settings) HostCookies() bool { return s.Cookies == CookiesHost }

// The modes of Settings.Recrawl.
const (
	RecrawlOff      = "off"
	RecrawlFixed    = "fixed"    // each page after RecrawlInterval
	RecrawlAdaptive = "adaptive" // each page when a visit is worth its price
)

// What counts as a change (Settings.RecrawlChanged).
const (
	RecrawlText    = "text"    // the text differs by more than a near-duplicate does
	RecrawlPayload = "payload" // any byte differs
)

// The modes of Settings.Render. Pages that match Settings.RenderMatch are shown to a browser in all
// but RenderOff.
const (
	RenderOff  = "off"
	RenderAuto = "auto" // those that seem to need it
	RenderAll  = "all"  // each HTML page; with Settings.RenderMatch those that match
)

// Renders reports whether pages are shown to a browser.
func (s *Settings) Renders() bool { return s.Render == RenderAuto || s.Render == RenderAll }

// RecrawlFloor is the shortest time between two visits of a page outside AllowNet.
const RecrawlFloor = time.Minute

// RecrawlBounds are the times between two visits of a page: the first or fixed one, the shortest
// and the longest. They are never below RecrawlFloor for pages that are not inside AllowNet.
func (s *Settings) RecrawlBounds(inside bool) (interval, shortest, longest time.Duration) {
	floor := RecrawlFloor
	if inside {
		floor = 0
	}
	return max(s.RecrawlInterval, floor), max(s.RecrawlMin, floor), max(s.RecrawlMax, floor)
}

// Revisits reports whether known pages are visited again.
func (s *Settings) Revisits() bool {
	return s.Recrawl == RecrawlFixed || s.Recrawl == RecrawlAdaptive
}

// Allowed reports whether addr is inside AllowNet.
func (s *Settings) Allowed(addr netip.Addr) bool {
	for _, p := range s.AllowNet {
		if p.Contains(addr.Unmap()) {
			return true
		}
	}
	return false
}
