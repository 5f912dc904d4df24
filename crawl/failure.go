package crawl

import (
	"net/netip"
	"time"

	"crawlnode/web/urlnorm"
)

// Failure is a URL, or a whole host, that is given up, on its way into the archive.
type Failure struct {
	URL  urlnorm.URL // of a host: the one that was asked for last
	Host bool        // nothing of its host could be reached, and all its URLs are given up
	At   time.Time   // wall time of the last attempt
	Addr netip.Addr  // that was asked last; invalid: none was known
	// Error is the class of the last failure: an ErrCategory's name, or rate_limited.
	Error    string
	Status   int           // HTTP status of the last answer; 0 without one
	Reason   string        // one sentence for a person
	Attempts int           // requests that failed, this one included
	Took     time.Duration // of the last attempt
}

// FailureRateLimited is the Failure.Error of a URL that was answered with 429 or 503
// to the end.
const FailureRateLimited = "rate_limited"
