package crawl

import (
	"net/netip"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"crawlnode/web/urlnorm"
)

// Target is a URL that passed the scope rules, for a frontier.
type Target struct {
	URL   urlnorm.URL
	Depth int // links followed from a seed; a redirect leaves it unchanged
	Band  Band
	Hops  int // redirects followed in a row to get here
	Via   Via
	// Again requests one more fetch of a known URL.
	Again bool
	// Suspicious counts the URL against its host's trap budget.
	Suspicious bool
	// Claimed is when its site says that the page has changed (lastmod of a sitemap, date of a feed's
	// entry); the zero time: it says nothing. It brings a visit forward as far as the site is
	// believed.
	Claimed time.Time
	// From is the page on which it was found; "": none.
	From string
	// Anchor is the text of the link that led to it, for the index; "": it has none, or nothing is
	// indexed. At most MaxAnchor bytes count.
	Anchor string
	// Cookies are those that the redirects which led to it have set, in the form of package
	// web/cookies; "": none. Its host is theirs, so they never leave the host's partition.
	Cookies string
	// CookieCheck has the URL fetched once more, with Cookies, if its last answer was a redirect:
	// sites that want cookies set them in one, and lead back to the page that was asked for.
	CookieCheck bool
}

// Source is the host, without its port, of the page on which the target was found; "" when there is
// none.
func (t *Target) Source() string {
	_, rest, _ := strings.Cut(t.From, "://")
	host, _, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	return host
}

// MaxAnchor bounds the text of a link that the index keeps, in bytes.
const MaxAnchor = 128

// CutAnchor is at most MaxAnchor bytes of a text, at a whole character.
func CutAnchor(s string) string {
	if len(s) <= MaxAnchor {
		return s
	}
	n := MaxAnchor
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// OnlyKnown reports whether the URL is fetched once more if it is known, and is not admitted
// otherwise: a person wants it again, but not as a seed. Its depth and how it was found stay as
// they are.
func (t *Target) OnlyKnown() bool { return t.Again && !t.Via.Named() }

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
	// Cookies are those of the Target.
	Cookies string
	// Revisit says that the URL was done and became due.
	Revisit bool
	// Refetch says that the URL was fetched before, so that its record holds a result. The queue sets
	// it.
	Refetch bool
}

// Lease is the right to fetch one Item of one host. It exists in memory only: after a crash the
// item is still in the queue on disk.
type Lease struct {
	Partition Partition
	Epoch     Epoch // of the partition when the lease was given
	Host      Host
	Item      Item
}

// Visit is a Lease with everything that a fetch needs to know of its host.
type Visit struct {
	Lease
	ID     uint64     // identifies the visit to its scheduler
	Late   bool       // its host has no turn for it: a result has come when no visit was open
	Addr   netip.Addr // the address to dial, resolved for this visit
	NoAddr error      // why there is none; wraps ErrRefused if all addresses are denied
	Robots *Robots    // the entry of the item's origin; nil: fetch it first
	// Gap is the minimum time between the requests of this visit, if it makes more than one: the
	// host's current gap, including that of its address.
	Gap time.Duration
	// Received counts the payload's bytes as they arrive; nil: not needed.
	Received *atomic.Int64
	// Domain is the host's registered domain, the unit of fair sharing.
	Domain string
	// Kept gets the nanoseconds for which the page kept pages of other domains from the parser;
	// nil: not needed.
	Kept *atomic.Int64
	// Retries is how often the URL may be tried again, by the setting when the visit began.
	Retries int
	// Excluded: the item must only be refused, without any request.
	Excluded bool
}

// RobotsVerdict is the meaning of a robots.txt answer for its origin (RFC 9309 section 2.3.1).
type RobotsVerdict uint8

// The verdicts. The numbers are written to disk.
const (
	RobotsRules    RobotsVerdict = iota // the body's rules decide
	RobotsAllowAll                      // no such file (4xx): all is allowed
	RobotsDenyAll                       // unreachable (5xx, error): nothing is allowed
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
	// CrawlDelay is the delay that the rules ask for, capped at 60 s; 0: none.
	CrawlDelay time.Duration
	// TDM is tdmrep.json without what is not read; nil: none is known. TDMAsked says that it was asked
	// for since robots.txt was fetched; else it is that of the day before.
	TDM      []byte
	TDMAsked bool
}

// When a host rests because it answers with bot walls: WallLimit of its last WallWindow answers
// were.
const (
	WallWindow = 10
	WallLimit  = 8
	WallRest   = 24 * time.Hour
)

// HostState is the politeness state of a host. It is part of the partition: it moves with it and
// survives restarts. Times are wall times.
type HostState struct {
	// NotBefore is the earliest start of the next request.
	NotBefore time.Time
	// CrawlDelay is that of robots.txt, capped; 0: none.
	CrawlDelay time.Duration
	// Backoff is the extra delay after 429 and 503, halved by each success.
	Backoff time.Duration
	// Latency is the last response time; twice that is a lower bound of the gap.
	Latency time.Duration
	// Failures counts failed connections, name look-ups and robots fetches in a row.
	Failures int
	// FrozenUntil is set when Failures reached the limit.
	FrozenUntil time.Time
	// LastTry is set while a frozen host gets one last attempt at the end of the crawl.
	LastTry bool
	// HoldUntil is the end of the pause that the host asked for (Retry-After), or of the lease below.
	HoldUntil time.Time
	// Lease is that of a worker who may request the host until HoldUntil although no visit is open; 0:
	// nobody may.
	Lease LeaseTag
	// Walls has a bit for each of the last WallWindow answers, the newest the lowest: it was a bot
	// wall.
	Walls uint16
	// WalledSince is when WallLimit of them were walls, and the host began to rest for WallRest; the
	// zero time after an answer that was none.
	WalledSince time.Time
	// BlockedUntil is until when a program outside wants the host left alone. The frontier keeps it;
	// writers of the rest do not change it.
	BlockedUntil time.Time
	// AskedDelay is the least gap that a program outside wants for the host, kept as BlockedUntil is;
	// 0: it wants none.
	AskedDelay time.Duration
	// Requests counts requests of every kind, robots.txt included.
	Requests int64
	// Pages counts pages fetched, for --max-pages-per-host.
	Pages int64
	// Suspicious counts admitted URLs that look like a trap.
	Suspicious int64
	// NearStreak counts the latest pages in a row whose text was nearly that of another page.
	NearStreak int
}
