package crawl

import "net/http"

// Part is the answer to a request of a page that is shown to a browser: a script, a style sheet,
// data.
type Part struct {
	Status int
	Header http.Header
	Body   []byte // without content coding
	// Refusal is why nothing was fetched; "": there is an answer.
	Refusal string
}

// Rendering is what became of a page that might have been shown to a browser. The zero value:
// nobody has decided.
type Rendering struct {
	Rendered     bool
	Reason       string // for a person
	Milliseconds int64
	Requests     int // of the page, that were answered
}

// RenderReport says whether a page was shown to a browser.
type RenderReport struct {
	Decided      string `json:"decided"` // RenderedPage or PlainPage
	Reason       string `json:"reason"`
	Milliseconds int64  `json:"milliseconds"` // in the browser
	Requests     int    `json:"requests"`     // of the page, that were answered
}

// The decisions of a RenderReport.
const (
	RenderedPage = "rendered"
	PlainPage    = "plain"
)

// Report is r for a reader; nil: nobody has decided.
func (r *Rendering) Report() *RenderReport {
	if r.Reason == "" {
		return nil
	}
	decided := PlainPage
	if r.Rendered {
		decided = RenderedPage
	}
	return &RenderReport{decided, r.Reason, r.Milliseconds, r.Requests}
}

// RenderBlock is what a node says of its browser.
type RenderBlock struct {
	Browser  string  `json:"browser"`          // path; "": there is none
	Broken   string  `json:"broken,omitempty"` // why the browser did not start the last time
	Queued   int     `json:"queued"`
	Busy     int     `json:"busy"`
	Max      int     `json:"max"`
	Pages    int64   `json:"pages"` // since the node's start, as those below
	Failed   int64   `json:"failed"`
	Timeouts int64   `json:"timeouts"`
	Restarts int64   `json:"restarts"`
	Refused  int64   `json:"refused"` // requests
	Hits     int64   `json:"hits"`    // requests that the cache has answered
	Buckets  []int64 `json:"buckets"` // pages by the time that the browser took, by LatencyBuckets
}

// RenderStatus tells of the browsers of the whole cluster.
type RenderStatus struct {
	Mode    string  `json:"mode"`    // off, auto or all
	Browser *string `json:"browser"` // of the answering node; null: it has none, or needs none
	Queued  int     `json:"queued"`
	Busy    int     `json:"busy"`
	Max     int     `json:"max"`

	PagesTotal           int64     `json:"pages_total"`
	FailedTotal          int64     `json:"failed_total"`
	TimeoutsTotal        int64     `json:"timeouts_total"`
	RestartsTotal        int64     `json:"restarts_total"`
	RefusedRequestsTotal int64     `json:"refused_requests_total"`
	CacheHitsTotal       int64     `json:"cache_hits_total"`
	Seconds              Quantiles `json:"seconds"`
}
