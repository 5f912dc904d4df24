package crawl

import (
	"encoding/json"
	"errors"
	"strings"
)

// ErrChanged is inside an error when the settings have changed since they were read. The API
// answers 412.
var ErrChanged = errors.New("the settings have changed meanwhile")

// CrawlReport is the document of GET and PUT /api/v1/crawl.
type CrawlReport struct {
	State        string  `json:"state"`         // CrawlIdle...
	FinishReason *string `json:"finish_reason"` // FinishExhausted...; null unless it is finished
	// Version names this state of the crawl document. It is also the ETag, and equal on all members
	// that have the last change.
	Version  string         `json:"version"`
	Settings SettingsReport `json:"settings"`
	// Untold names the members that did not confirm a change in time. They follow as soon as they
	// can be reached; until then they continue as before.
	Untold []string `json:"untold"`
}

// SettingsReport has the crawl's settings, with the names and values of the command line, but _ for
// -. All except Store and Normalize can be changed while the crawl runs.
type SettingsReport struct {
	Scope            string      `json:"scope"` // page, prefix, host, domain or any
	Include          []string    `json:"include"`
	Exclude          []string    `json:"exclude"`
	Assets           AssetPolicy `json:"assets"`             // off, same-host or any
	Normalize        []string    `json:"normalize"`          // rules that make URLs equal; fixed when the crawl is founded
	Focus            string      `json:"focus"`              // name and digest of the topic model; "": none
	FocusMin         float64     `json:"focus_min"`          // pages with a lower score pass no links on
	MaxDepth         int         `json:"max_depth"`          // 0: no bound, as with all limits but max_body
	MaxPages         int64       `json:"max_pages"`          // of the whole cluster
	MaxPagesPerHost  int64       `json:"max_pages_per_host"` //
	MaxDuration      string      `json:"max_duration"`       // such as 2h30m0s
	MaxBody          string      `json:"max_body"`           // such as 10MiB
	Delay            string      `json:"delay"`              // such as 1s
	IPDelay          *string     `json:"ip_delay"`           // null: 200ms outside allow_net, 0 inside
	UserAgent        string      `json:"user_agent"`
	RobotsAgent      string      `json:"robots_agent"` // product token; "": that of user_agent
	Contact          string      `json:"contact"`
	Robots           string      `json:"robots"`     // obey or ignore, which applies inside allow_net only
	TLSVerify        string      `json:"tls_verify"` // strict or record
	AllowNet         []string    `json:"allow_net"`
	Store            string      `json:"store"`             // warc or none; fixed when a node starts
	Index            string      `json:"index"`             // off or on
	Render           string      `json:"render"`            // off, auto or all
	RenderMatch      []string    `json:"render_match"`      // patterns
	RenderScreenshot bool        `json:"render_screenshot"` // a picture of each rendered page is archived
	Retries          int         `json:"retries"`           // how often a URL is tried again
	RetryStatuses    string      `json:"retry_statuses"`    // such as 502,520-526; none: no status
	Timeout          string      `json:"timeout"`           // of a whole answer, such as 1m0s
	HeaderTimeout    string      `json:"header_timeout"`    // of its head
	Cookies          string      `json:"cookies"`           // off or visit
	Priority         string      `json:"priority"`          // weights, such as depth=1
	Recrawl          string      `json:"recrawl"`           // off, fixed or adaptive
	RecrawlInterval  string      `json:"recrawl_interval"`  // such as 7d
	RecrawlMin       string      `json:"recrawl_min"`
	RecrawlMax       string      `json:"recrawl_max"`
	RecrawlShare     float64     `json:"recrawl_share"`   // above 0, at most 1
	RecrawlChanged   string      `json:"recrawl_changed"` // text or payload
	// MaxSuspiciousPerHost bounds the URLs of a host that look like a trap; 0: no bound.
	MaxSuspiciousPerHost int64 `json:"max_suspicious_per_host"`
}

// CrawlChange is the body of PUT /api/v1/crawl: the named settings change and the others stay. A CrawlReport
// with other settings is one: what it says of the crawl's state is compared, and never set.
type CrawlChange struct {
	// Version, if not "", is the version of the document that the change is based on; any other one
	// refuses the change. The header If-Match has the same meaning.
	Version string `json:"version,omitempty"`
	// Settings holds values by the names of SettingsReport: texts as on the command
	// line, numbers, true or false, lists of texts. null is the flag's default.
	Settings map[string]json.RawMessage `json:"settings"`
	// State and FinishReason, if they are not empty, must be those of the crawl.
	State        string  `json:"state,omitempty"`
	FinishReason *string `json:"finish_reason,omitempty"`
	// Untold is ignored: it says what became of an earlier change.
	Untold []string `json:"untold,omitempty"`
}

// FieldError is what is wrong with one field of a request.
type FieldError struct {
	Field  string `json:"field"`
	Detail string `json:"detail"` // what is wrong and what to do
}

// FieldErrors lists everything that is wrong with a request.
type FieldErrors struct {
	Fields []FieldError
	// Fixed: the request is valid, but the setting cannot change while the nodes run. The API
	// answers 409, otherwise 400.
	Fixed bool
}

func (e *FieldErrors) Error() string {
	lines := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		lines[i] = f.Field + ": " + f.Detail
	}
	return strings.Join(lines, "\n")
}
