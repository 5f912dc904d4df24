package crawl

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// ErrNoURL is inside an error when a text is no URL that could be crawled. The API answers 400.
var ErrNoURL = errors.New("not a URL to crawl")

// SiteReport is the document of GET /api/v1/sites/test: which rules for sites apply to a URL, and
// what follows from them.
type SiteReport struct {
	URL    string      `json:"url"` // canonical
	Rules  []SiteRule  `json:"rules"`
	Values []SiteValue `json:"values"` // of all fields; headers are listed one by one
}

// SiteRule is a rule that applies to a URL.
type SiteRule struct {
	Line  int      `json:"line"`  // of its first field in the file
	Match []string `json:"match"` // those of its patterns that match the URL
}

// SiteValue is the value of a field for a URL. A secret has only its name.
type SiteValue struct {
	Field string `json:"field"` // a header's is headers.NAME
	Value string `json:"value"` // as on the command line; "": none
	// Line is the line of the rule that gives the value; null: it is the crawl's.
	Line *int `json:"line"`
}

// SitesReport answers PUT /api/v1/sites.
type SitesReport struct {
	// Version names the crawl document that has the rules, as CrawlReport.Version does. The ETag is
	// that of the rules: SitesTag.
	Version string `json:"version"`
	// Untold names the members that did not confirm the change in time. They follow as soon as they
	// can be reached.
	Untold []string `json:"untold"`
}

// SitesTag names a text of rules among all others. It is the ETag of GET /api/v1/sites, without
// quotation marks.
func SitesTag(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// MaxSitesBytes bounds a text of rules. In JSON, where some bytes take two, the crawl document fits
// into one message between nodes (package peer).
const MaxSitesBytes = 2 << 20
