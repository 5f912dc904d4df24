package crawl

import (
	"strconv"
	"time"

	"crawlnode/web/preferences"
	"crawlnode/web/wall"
)

// Kind classifies the result of a visit. Politeness and the frontier use the Kind and never the
// HTTP status.
type Kind uint8

// The kinds of outcome.
const (
	// Fetched: an HTTP answer of any status was read; the URL is done.
	Fetched Kind = iota
	// RobotsFetched: the visit was spent on robots.txt; the item waits for its next turn.
	RobotsFetched
	// Refused: robots.txt or a budget forbids the URL; no request was made.
	Refused
	// URLFailed: this URL failed (timeout, broken answer), or answered a status that may change
	// soon. It is tried again as package retry says, and then has failed.
	URLFailed
	// RateLimited: 429, 503 or a bot wall; the host backs off, the item stays queued. It
	// counts as an attempt of the URL.
	RateLimited
	// HostFailed: the host could not be reached (DNS, connect, TLS, robots
	// unreachable); counts against the host, the item stays queued.
	HostFailed
	// Aborted: the node cancelled the fetch (hand-over, stop), or no proxy of the site's rule works
	// (ErrProxy). The item stays queued, and nothing but the category ErrProxy is counted.
	Aborted
	// RobotsPending: the host's robots.txt redirects to another host, whose holder fetches it, or
	// within the host, whose delay must pass first. The item stays queued, and the host is visited
	// again when that is possible.
	RobotsPending
	// Blocked: the URL's address or port must not be connected to, and DNS cannot change that. The
	// URL has failed, the host has not. No request was made.
	Blocked
	// Lost: a kept connection ended without a byte of an answer, which says nothing about the URL.
	// The item stays queued, nothing but the gap is counted, and the next request has a new
	// connection.
	Lost
)

var kindNames = [...]string{"fetched", "robots_fetched", "refused", "url_failed", "rate_limited",
	"host_failed", "aborted", "robots_pending", "blocked", "lost"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Response is what politeness needs to know of a visit. The scheduler gets it when the last byte
// was read, before the page is parsed or stored.
type Response struct {
	Kind       Kind
	Requested  bool          // a request was started, so the gap counts from now
	Took       time.Duration // from the start of the request to its last byte
	Bytes      int64         // of the payload
	RetryAfter time.Duration // requested by the server; 0 without one
	Robots     *Robots       // with RobotsFetched, and with HostFailed by robots
	Wall       bool          // with RateLimited and HostFailed: the answer is a bot wall
	HoldPages  time.Duration // with Aborted: the host gets no visit but errands for so long
	Lease      LeaseTag      // with Aborted: who may still request the host, for RetryAfter
}

// ArchiveRef is the position of a capture. The zero value: nothing was stored.
type ArchiveRef struct {
	Node   NodeID
	File   string // file name, without folder
	Offset int64  // of the record's gzip member
	Length int64  // of the record's gzip member
	// Record is the UUID of the record's WARC-Record-ID, as Put returns it; it is not stored
	// elsewhere.
	Record [16]byte
}

// Digest is the SHA-1 of a payload.
type Digest [20]byte

// Original names the first capture of a payload, as revisit records do.
type Original struct {
	Record    [16]byte // UUID of its WARC-Record-ID
	Node      NodeID   // in whose archive it is
	URL       string   // canonical
	FetchedAt time.Time
}

// Outcome is the complete result of a visit.
type Outcome struct {
	Kind   Kind
	Status int // HTTP status; 0 without an answer
	// with URLFailed, HostFailed and Blocked; ErrProxy with Aborted; ErrTLS with Fetched: despite an
	// invalid certificate
	Category ErrCategory
	// one sentence for a person; "" when fetched and nothing is to be said of it
	Reason      string
	FetchedAt   time.Time     // wall time of the request
	Took        time.Duration // as in Response
	Bytes       int64         // body bytes read from the wire
	ContentType string
	Digest      [20]byte // SHA-1 of the payload, for WARC and duplicates
	Truncated   string   // why the payload is not whole, as WARC-Truncated says it; "": it is
	ETag        string
	LastMod     string
	// Conditional says that validators were sent, so that the status may be 304.
	Conditional bool
	// Text is the fingerprint of the text without its numbers, which change with every request; 0:
	// none.
	Text uint64
	// MaxAge is how long the answer says that it is fresh (Cache-Control, Expires); 0: it does not
	// say.
	MaxAge  time.Duration
	Archive ArchiveRef
	// Refers says that the record at Archive has no payload: it refers to an earlier capture with the
	// same one.
	Refers bool
	// Unchanged says that the page was sent again as it was read before: Digest and Basis are those of
	// its record. It was not read once more, so there are no links, no text and no document: what is
	// known of these stays, as with status 304.
	Unchanged bool
	// Basis is what the reading of a page that was delivered (2xx) depended on; 0: it must be read
	// again.
	Basis Basis
	// Wall is the product whose bot wall the answer is, with RateLimited and HostFailed. It has no
	// links, no text and no document.
	Wall wall.Product
	// Skip is the class of the reason, with Refused.
	Skip SkipReason
	// Targets are the links that passed the scope rules, without repeats.
	Targets []Target
	// Unjudged are targets that no scope entry known to the fetching node admits, while entries may
	// be missing. They wait in the page's outbox until they can be judged.
	Unjudged []Target
	// Skipped counts the links that did not pass, by reason.
	Skipped SkipCounts
	// LinksFound counts all links seen, before any rule.
	LinksFound int
	// Robots is the entry to store with the host, with RobotsFetched and HostFailed.
	Robots *Robots
	// Answer is the fetched file of another host's robots.txt, with ViaRobots.
	Answer *RobotsAnswer
	// Part is what a page shown to a browser has asked for, with ViaPart.
	Part *Part
	// Rendering says whether the page was shown to a browser, and why; nil: nobody asked.
	Rendering *Rendering
	// IsSitemap says that the answer was read as a sitemap file: it is counted separately and is
	// not a page.
	IsSitemap bool
	// NoIndex says that the page's head or header asks search engines to leave it out. It is
	// archived all the same; an index made from the archive must obey it.
	NoIndex bool
	// Preferences is what the page's owner says of its use, an encoded preferences.Record; "":
	// nothing.
	Preferences string
	// PreferencesUnread says that the page's own word is not known, as it was read by nobody who asked
	// for it: the next visit must bring it whole.
	PreferencesUnread bool
	// LeftOut are the purposes of the crawl to which the owner says no, when that is obeyed.
	LeftOut preferences.Purposes
	// First says that the payload is new: completing the visit must report the capture.
	First bool
	// DuplicateOf is the URL of an earlier capture with the same payload; "": none is
	// known.
	DuplicateOf string
	// Document is what the index needs of the page, in the form of package search; nil: the page is
	// not indexed.
	Document []byte
	// Simhash is the fingerprint of the page's text; 0: it has none.
	Simhash uint64
	// NearOf is the URL of a page whose text is nearly the same; "": none is known.
	NearOf string
	// HostCookies, when not nil, is the host's jar after the answer, in the form of package
	// web/cookies.
	HostCookies *string
	// ScopeAlias, when not "", is a host whose scope the seed's redirect extends to.
	ScopeAlias string
}

// SearchRefused reports whether the page is left out of the index because its owner says so
// otherwise than by noindex.
func (o *Outcome) SearchRefused() bool { return o.LeftOut.Has(preferences.Search) }

// DepthCut reports whether links of the page are left out for their depth.
func (o *Outcome) DepthCut() bool {
	return o.Skipped[SkipDepth] > 0 || o.Unchanged && o.Basis.DepthCut()
}

// Said is what the owner said of the use of a page at its newest visit, as it holds at now; nil:
// the page was not visited. A record that cannot be read says nothing.
func (r *Record) Said(now time.Time) *preferences.PagePreferences {
	if r.Status == 0 {
		return nil
	}
	p, _ := preferences.Decode(r.Preferences)
	report := p.Report(now)
	return &report
}

// RecordState is the state of a URL.
type RecordState uint8

// The states of a record. The numbers are written to disk.
const (
	Queued         RecordState = iota + 1 // waits for a fetch
	Done                                  // fetched
	Failed                                // given up, Reason says why
	RefusedForever                        // refused by robots.txt or a budget
)

var recordStateNames = [...]string{"unknown", "queued", "done", "failed", "refused"}

func (s RecordState) String() string {
	if int(s) < len(recordStateNames) {
		return recordStateNames[s]
	}
	return "state(" + strconv.Itoa(int(s)) + ")"
}

// Record is what is known of one URL.
type Record struct {
	Item
	State     RecordState
	Status    int
	FetchedAt time.Time
	Reason    string
	Digest    [20]byte
	// Basis is that of the reading of the content that Digest stands for.
	Basis   Basis
	Archive ArchiveRef
	// DuplicateOf and NearOf are those of the Outcome.
	DuplicateOf, NearOf string
	// Visits is an encoded recrawl.Record, as the store keeps it; "": nothing was learnt of visits.
	Visits string
	// VisitedAt is the time of the newest visit, and CheckAt when the page is due or planned anew; the
	// zero time without Visits.
	VisitedAt, CheckAt time.Time
	// ChangedAt is the time of the newest visit that found other content than the one before it; the
	// zero time: none did, or it was before this was kept.
	ChangedAt time.Time
	// DepthCut: links were left out for their depth, so a request with a lower depth needs the content
	// again.
	DepthCut bool
	// Referrer names the page on which the URL was found first, as the store keeps it: Frontier.Refer
	// makes its URL of it. "": none.
	Referrer string
	// Rendering says whether the page that was delivered last was shown to a browser.
	Rendering Rendering
	// Preferences is that of the Outcome, of the newest visit.
	Preferences string
}
