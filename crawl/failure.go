package crawl

import (
	"net/netip"
	"time"

	"crawlnode/web/urlnorm"
)

// Failure is a URL, or a whole host, that was given up, for the archive.
type Failure struct {
	URL  urlnorm.URL // for a host: the last requested URL
	Host bool        // the host could not be reached, and all its URLs are given up
	At   time.Time   // wall time of the last attempt
	Addr netip.Addr  // the last address used; invalid: none was known
	// Error is the class of the last failure: an ErrCategory's name, or rate_limited.
	Error    string
	Status   int           // HTTP status of the last answer; 0 without one
	Reason   string        // one sentence for a person
	Attempts int           // failed requests, including this one
	Took     time.Duration // of the last attempt
}

// FailureRateLimited is the Failure.Error of a URL whose attempts all ended with 429 or 503.
const FailureRateLimited = "rate_limited"

// TriedInItsPlace ends the reason of a URL that has failed and is replaced by another one.
const TriedInItsPlace = " is tried in its place"

// GiveUpReason classes why a URL was given up, as in /status.fetch.given_up_by_reason: an
// ErrCategory, or GaveUpLimited.
type GiveUpReason uint8

// GaveUpLimited: the host, or the URL, answered 429 or 503 to the last.
const (
	GaveUpLimited    GiveUpReason = NumErrCategories
	NumGiveUpReasons              = NumErrCategories + 1
)

func (r GiveUpReason) String() string {
	if r < GaveUpLimited {
		return ErrCategory(r).String()
	}
	return FailureRateLimited
}

// GiveUpReasonOf is the reason with that name, or that of ErrOther.
func GiveUpReasonOf(name string) GiveUpReason {
	for r := range GiveUpReason(NumGiveUpReasons) {
		if r.String() == name {
			return r
		}
	}
	return GiveUpReason(ErrOther)
}
