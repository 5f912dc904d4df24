package crawl

import (
	"net/netip"
	"sync/atomic"
	"time"

	"crawlnode/web/urlnorm"
)

// Target is a URL that passed the scope rules, on its way into a frontier.
type Target struct {
	URL   urlnorm.URL
	Depth int // links followed from a seed; a redirect leaves it unchanged
	Band  Band
	Hops  int // redirects followed in a row to get here
	Via   Via
	// Again asks for one more fetch of a URL that is already known.
	Again bool
	// Suspicious counts the URL against its host's trap budget.
	Suspicious bool
}

// Routed is a Target with the partition of its host.
type Routed struct {
	Partition Partition
	Target    Target
}

// Item is an admitted URL in its host's queue.
type Item struct {
	URL      urlnorm.URL
	Band     Band
	Seq      uint64 // place in the host's queue of that band
	Depth    int
	Hops     int
	Via      Via
	Attempts int // fetches of this URL that failed so far
	// NotBefore is the earliest next attempt, the zero time for "at once".
	NotBefore time.Time
	// ETag and LastModified are the validators of an earlier fetch, or "".
	ETag, LastModified string
}

// Lease is the right to fetch one Item of one host. It lives in memory only:
// a crash puts the item back, because it never left the queue on disk.
type Lease struct {
	Partition Partition
	Epoch     Epoch // of the partition when the lease was given
	Host      Host
	Item      Item
}

// Visit is a Lease with all that a fetch needs to know of its host.
type Visit struct {
	Lease
	ID     uint64     // names the visit to the scheduler that gave it
	Addr   netip.Addr // the address to dial, resolved for this visit
	NoAddr error      // why there is none; ErrRefused is in it when there are some that must not be asked
	Robots *Robots    // the entry of the item's origin; nil: fetch it first
	// Gap is what must lie between the requests of this visit, where it makes
	// more than one: the host's present gap, its address's included.
	Gap time.Duration
	// Received counts the payload's bytes as they arrive; nil: nobody wants to know.
	Received *atomic.Int64
	// Domain is the host's registered domain, by which what is bounded is shared out.
	Domain string
	// Kept takes for how many nanoseconds the page kept those of other domains from the
	// parser; nil: nobody wants to know.
	Kept *atomic.Int64
	// Excluded: the item is only to be refused; nothing may be requested.
	Excluded bool
}

// RobotsVerdict says what a robots.txt answer means for its origin (RFC 9309
// section 2.3.1).
type RobotsVerdict uint8

// The verdicts. The numbers are written to disk.
const (
	RobotsRules    RobotsVerdict = iota // the body's rules decide
	RobotsAllowAll                      // no such file (4xx): all is allowed
	RobotsDenyAll                       // unreachable (5xx, error): nothing is
)

// Robots is what is known of one origin's robots.txt. It is part of the host's
// state and immutable once made.
type Robots struct {
	Origin  string // scheme://host[:port]
	Verdict RobotsVerdict
	Status  int       // of the answer; 0 when there was none
	Fetched time.Time // wall time
	Expires time.Time // at most 24 h after Fetched
	Body    []byte    // at most 500 KiB; nil unless Verdict is RobotsRules
	// CrawlDelay is what the rules ask for, capped at 60 s; 0 when they do not.
	CrawlDelay time.Duration
}

// HostState is what politeness remembers of a host. It is part of the
// partition: it moves with it and survives restarts. Times are wall times.
type HostState struct {
	// NotBefore is the earliest start of the next request.
	NotBefore time.Time
	// CrawlDelay is robots.txt's wish, capped; 0 when it has none.
	CrawlDelay time.Duration
	// Backoff is the extra delay after 429 and 503, halved by each success.
	Backoff time.Duration
	// Latency is the last response time; twice that is a lower bound of the gap.
	Latency time.Duration
	// Failures counts failed connections, name look-ups and robots fetches in a row.
	Failures int
	// FrozenUntil is set when Failures reached the limit.
	FrozenUntil time.Time
	// LastTry is set while a frozen host has its one last try in a crawl that
	// is otherwise at its end.
	LastTry bool
	// HoldUntil is what the host itself asked for (Retry-After).
	HoldUntil time.Time
	// Requests counts requests of every kind, robots.txt included.
	Requests int64
	// Pages counts pages fetched, for --max-pages-per-host.
	Pages int64
	// Suspicious counts admitted URLs that look like a trap.
	Suspicious int64
	// NearStreak counts the last pages in a row whose text was nearly that of
	// another page.
	NearStreak int
}
