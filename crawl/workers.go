package crawl

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"crawlnode/web/urlnorm"
)

// Errors about leases. The API answers 429 and 410.
var (
	// ErrTooManyLeased says that a worker, or all workers of a node together, have as many URLs
	// without a result as they may have.
	ErrTooManyLeased = errors.New(
		"too many leased URLs have no result yet: send results first, or let leases end")
	// ErrLeaseEnded says that no result counts.
	ErrLeaseEnded = errors.New("the lease has ended, or this cluster never gave it: " +
		"its URLs are queued again, so fetch what next gives instead")
)

// ErrMoving says that it is not known yet who decides about a URL.
var ErrMoving = errors.New("its partition is moving to another node: try again in a moment")

// LeaseHold says until when nobody else may request a leased URL's host, and for which lease.
type LeaseHold struct {
	Until time.Time
	Lease LeaseTag
}

// LeaseClaim is a leased URL whose result has come, although the node that has it now has not given
// the lease.
type LeaseClaim struct {
	Partition Partition
	URL       urlnorm.URL
	Lease     LeaseTag
}

// MaxLeaseBatch bounds the URLs that a worker gets at a time.
const MaxLeaseBatch = 1000

// The words of WorkerResult.Status.
const (
	WorkerSuccess = "success" // the host has answered
	WorkerError   = "error"   // it has not, or with an error
	// WorkerPostponed: there is no answer, and the URL is not tried again before its client says so.
	WorkerPostponed = "postponed"
)

// LeaseTag names one URL of one lease in its host's state, which outlives the node that gave the
// lease. 0: none.
type LeaseTag uint64

// TagOf is the tag of a canonical URL in the lease id. Who does not know the id cannot make it.
func TagOf(id, url string) LeaseTag {
	sum := sha256.Sum256([]byte(id + "\x00" + url))
	return LeaseTag(max(binary.BigEndian.Uint64(sum[:]), 1))
}

// LeasedURL is a URL that a worker may fetch until its lease ends.
type LeasedURL struct {
	URL      string  `json:"url"` // canonical
	Priority float64 `json:"priority"`
	Host     Host    `json:"host"`
	// IP is the address to connect to; "": the worker resolves the name itself.
	IP     string       `json:"ip"`
	Robots LeasedRobots `json:"robots_rules"`
	// DelaySeconds is the gap that the host gets after the result, before its next URL is given out.
	DelaySeconds float64 `json:"delay_seconds"`
	Depth        int     `json:"depth"`
	// ETag and LastModified are validators of an earlier fetch: send them, and report status 304 if
	// the page is unchanged.
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
}

// LeasedRobots is what robots.txt says of a leased URL. The node has judged it: what is forbidden
// is not leased.
type LeasedRobots struct {
	Allowed    bool     `json:"allowed"`
	CrawlDelay *float64 `json:"crawl_delay"` // seconds; null: it asks for none
}

// NextQuery asks for URLs.
type NextQuery struct {
	Worker string        // names the worker, for limits and figures
	Most   int           // URLs at most
	Wait   time.Duration // for the first of them
	// Life is how long the lease lasts; 0: as --lease says. With it, a URL whose lease ends is given
	// out again as it was.
	Life time.Duration
	// Host is the only host whose URLs are wanted; "": any.
	Host Host
	// Crawl is the crawl whose URLs are wanted; "": the cluster's own. Any wants those of all crawls.
	Crawl string
	Any   bool
}

// LeaseNote is what clients have said of a leased URL, and of which crawl it is.
type LeaseNote struct {
	Crawl    string   `json:"crawl,omitempty"` // "": the cluster's own
	Metadata Metadata `json:"metadata,omitempty"`
}

// MaxLeaseLife bounds the time for which a lease may be asked.
const MaxLeaseLife = 30 * 24 * time.Hour

// WorkerLease is the document of GET /api/v1/frontier/next.
type WorkerLease struct {
	URLs []LeasedURL `json:"urls"` // each of another host
	// of the URLs, in their order; for clients of the URLFrontier protocol
	Notes []LeaseNote `json:"-"`
	// LeaseID is sent with the results; "" without URLs.
	LeaseID        string     `json:"lease_id"`
	LeaseExpiresAt *time.Time `json:"lease_expires_at"` // by the node's clock; null without URLs
	LeaseSeconds   float64    `json:"lease_seconds"`    // until then
	// CrawlState says whether it is worth asking again.
	CrawlState string `json:"crawl_state"`
	UserAgent  string `json:"user_agent"` // to be sent with every request
	// RobotsAgent is the product token by which robots directives of pages address the crawl.
	RobotsAgent string `json:"robots_agent"`
}

// WorkerResults is the body of POST /api/v1/frontier/results.
type WorkerResults struct {
	LeaseID string         `json:"lease_id"`
	Results []WorkerResult `json:"results"`
}

// WorkerResult is what a worker says of one leased URL.
type WorkerResult struct {
	URL           string `json:"url"`
	Status        string `json:"status"` // WorkerSuccess or WorkerError
	HTTPStatus    int    `json:"http_status,omitempty"`
	ContentType   string `json:"content_type,omitempty"`
	ContentLength int64  `json:"content_length,omitempty"`
	// SHA-1 of the payload; other hashes are ignored
	ContentHash string  `json:"content_hash,omitempty"`
	Simhash     Simhash `json:"simhash,omitempty"`
	FetchTimeMS float64 `json:"fetch_time_ms,omitempty"`
	// Links are those of the page, or of a redirect its target alone. Relative ones are resolved
	// against URL.
	Links      []string `json:"links,omitempty"`
	LinksFound int      `json:"links_found,omitempty"` // before the worker's own rules
	// IsDuplicate is accepted and not used: the cluster compares hashes itself.
	IsDuplicate bool `json:"is_duplicate,omitempty"`
	// why there was no answer; may begin with a category of /status, as in "dns: ..."
	Error      string  `json:"error,omitempty"`
	RetryAfter float64 `json:"retry_after,omitempty"` // seconds, of an answer 429 or 503
}

// Simhash is a fingerprint as programs write it: 16 hexadecimal digits, or a number.
type Simhash string

// UnmarshalJSON takes both.
func (s *Simhash) UnmarshalJSON(raw []byte) error {
	if n, err := strconv.ParseUint(string(raw), 10, 64); err == nil {
		*s = Simhash(strconv.FormatUint(n, 16))
		return nil
	}
	return json.Unmarshal(raw, (*string)(s))
}

// ResultsReport is what became of results.
type ResultsReport struct {
	Processed        int `json:"processed"` // they count, now or since they were first sent
	RetriesScheduled int `json:"retries_scheduled"`
	// Ended counts results that did not count: the lease of the URL has ended, or it was never part of
	// it.
	Ended int `json:"ended"`
}

// Add adds the figures of another part of the results.
func (r *ResultsReport) Add(o ResultsReport) {
	r.Processed += o.Processed
	r.RetriesScheduled += o.RetriesScheduled
	r.Ended += o.Ended
}

// FoundURLs is the body of POST /api/v1/frontier/urls.
type FoundURLs struct {
	URLs []FoundURL `json:"urls"`
	// CrawlID is accepted and not used: a cluster has one crawl.
	CrawlID string `json:"crawl_id,omitempty"`
}

// FoundURL is a URL that a program outside has found.
type FoundURL struct {
	URL      string   `json:"url"`
	Priority *float64 `json:"priority,omitempty"` // 0 to 1
	// SourceURL is the page with the link. With it, or with a depth above 0, the URL is judged as a
	// link, and otherwise as a seed.
	SourceURL string `json:"source_url,omitempty"`
	Depth     int    `json:"depth,omitempty"`
	// DiscoveredAt is accepted and not used: a link says nothing of when its page has changed.
	DiscoveredAt *time.Time `json:"discovered_at,omitempty"`
}

// IsSeed reports whether the URL is a seed, which opens its scope, and no link.
func (f *FoundURL) IsSeed() bool { return f.SourceURL == "" && f.Depth == 0 }

// FoundReport is what became of FoundURLs.
type FoundReport struct {
	Accepted   int `json:"accepted"`
	Rejected   int `json:"rejected"` // invalid, or out of scope
	Duplicates int `json:"duplicates"`
}

// WorkersStatus is the part of the status about workers of all nodes.
type WorkersStatus struct {
	Active     int64 `json:"active"` // workers with a leased URL, at each node
	Leases     int64 `json:"leases"` // with a leased URL
	LeasedURLs int64 `json:"leased_urls"`
	// leases that ended with a URL that had no result, since the nodes started
	ExpiredTotal int64 `json:"expired_total"`
}
