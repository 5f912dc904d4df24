package crawl

import (
	"net/netip"
	"strings"
	"time"

	"crawlnode/web/urlnorm"
	"crawlnode/web/wall"
)

// Failure is a URL, or a whole host, that was given up, for the archive.
type Failure struct {
	URL  urlnorm.URL // for a host: the last requested URL
	Host bool        // the host could not be reached, and all its URLs are given up
	At   time.Time   // wall time of the last attempt
	Addr netip.Addr  // the last address used; invalid: none was known
	// Error is the class of the last failure: an ErrCategory's name, rate_limited, or blocked.
	Error    string
	Status   int           // HTTP status of the last answer; 0 without one
	Reason   string        // one sentence for a person
	Attempts int           // failed requests, including this one
	Took     time.Duration // of the last attempt
}

// FailureRateLimited is the Failure.Error of a URL whose attempts all ended with 429 or 503.
const FailureRateLimited = "rate_limited"

// FailureBlocked is the Failure.Error of a URL whose answers were bot walls to the last, and the
// reason of such a URL in lists.
const FailureBlocked = "blocked"

// RecordRedirectsToItself is the reason in the record of a URL whose redirect leads to the URL
// itself, with no cookie that would change the request.
const RecordRedirectsToItself = "redirects_to_itself"

// wallWords begin what the stored reason of a URL behind a wall says; the product's name in
// brackets follows.
const wallWords = FailureBlocked + ": a bot wall ("

// WallReason is the reason of an answer that is the wall of a product.
func WallReason(p wall.Product) string { return wallWords + p.String() + ")" }

// WallOf is the product whose wall a stored reason names; None: it names none. The words may stand
// behind those of a host that was given up.
func WallOf(reason string) wall.Product {
	_, rest, ok := strings.Cut(reason, wallWords)
	if !ok {
		return wall.None
	}
	name, _, _ := strings.Cut(rest, ")")
	return wall.Named(name)
}

// TriedInItsPlace ends the reason of a URL that has failed and is replaced by another one.
const TriedInItsPlace = " is tried in its place"

// GiveUpReason classes why a URL was given up, as in /status.fetch.given_up_by_reason: an
// ErrCategory but for ErrProxy, for which none is given up, GaveUpLimited or GaveUpBlocked. The
// numbers are the places of counters on disk.
type GiveUpReason uint8

// GaveUpLimited: the host, or the URL, answered 429 or 503 to the last. GaveUpBlocked: with a bot
// wall.
const (
	GaveUpLimited    = GiveUpReason(ErrOther) + 1
	GaveUpBlocked    = GaveUpLimited + 1
	NumGiveUpReasons = int(GaveUpBlocked) + 1
)

func (r GiveUpReason) String() string {
	if r < GaveUpLimited {
		return ErrCategory(r).String()
	}
	if r == GaveUpBlocked {
		return FailureBlocked
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
