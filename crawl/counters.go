package crawl

import (
	"crawlnode/web/preferences"
	"crawlnode/web/wall"
)

// ErrCategory classifies a failed fetch, as in /status.fetch.errors_by_category.
type ErrCategory uint8

// The categories, in the order of /status. The numbers are written to disk.
const (
	ErrDNS ErrCategory = iota
	ErrConnect
	ErrTLS
	ErrTimeout
	ErrProtocol
	ErrTruncated
	ErrBlockedAddress
	ErrOther
	ErrProxy         // no proxy of the site's rule works: never the site's failure, nor a URL's
	NumErrCategories = iota
)

// ErrCategoryNames are the JSON names of the categories.
var ErrCategoryNames = [NumErrCategories]string{
	"dns", "connect", "tls", "timeout", "protocol", "truncated", "blocked_address", "other", "proxy",
}

// Known is c, or ErrOther for a number that no category has.
func (c ErrCategory) Known() ErrCategory {
	if c >= NumErrCategories {
		return ErrOther
	}
	return c
}

func (c ErrCategory) String() string { return ErrCategoryNames[c.Known()] }

// SkipReason classifies a URL that was not queued or not fetched, as in
// /status.fetch.skipped_by_reason.
type SkipReason uint8

// The reasons, in the order of /status. A store has a counter of each, in the order of
// Counters.Each, so new ones come last. A record has the reason as a sentence.
const (
	SkipOutOfScope SkipReason = iota
	SkipRobots
	SkipDepth
	SkipTrap
	SkipTooLong
	SkipHostBudget
	SkipScheme
	SkipInvalid
	SkipNoFollow   // the page asks that its links are not followed
	SkipFocus      // the page is further from the topic than --focus-min allows
	NumSkipReasons = iota
)

// SkipReasonNames are the JSON names of the reasons.
var SkipReasonNames = [NumSkipReasons]string{"out_of_scope", "robots", "depth", "trap", "too_long",
	"host_budget", "scheme", "invalid", "nofollow", "focus"}

func (r SkipReason) String() string { return SkipReasonNames[min(int(r), NumSkipReasons-1)] }

// SkipCounts counts skipped links by reason.
type SkipCounts [NumSkipReasons]int64

// LatencyBuckets are the upper bounds, in milliseconds, of the response-time histogram; the last
// bucket has no bound. Buckets can be summed over partitions and nodes, and quantiles are computed
// from the sums.
var LatencyBuckets = [...]int64{1, 2, 4, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750,
	1000, 1500, 2000, 3000, 5000, 10000, 20000, 60000}

// NumLatencyBuckets counts the buckets including the unbounded one.
const NumLatencyBuckets = len(LatencyBuckets) + 1

// Counters are the crawl's totals. Each partition has its own, written in the same transaction as
// the records they count. So they move, survive and are replicated with the partition. A cluster's
// totals are their sum.
type Counters struct {
	Pages      int64 // queued URLs that got an HTTP response, of any status
	Bytes      int64 // body bytes read
	Robots     int64 // robots.txt requests
	Seen       int64 // records
	Duplicates int64 // adds of URLs that were already known
	Queued     [Bands]int64
	Hosts      int64    // hosts with at least one record
	Responses  [4]int64 // 2xx, 3xx, 4xx, 5xx
	Errors     [NumErrCategories]int64
	Skipped    SkipCounts
	Failed     int64 // URLs given up
	LinksFound int64
	Captures   int64 // archive records written (response and revisit)
	ContentDup int64 // captures with a payload seen before
	Outbox     int64 // links not yet acknowledged by their owner
	Latency    [NumLatencyBuckets]int64
	Contents   int64 // payloads whose first capture the partition knows
	NearDup    int64 // pages whose text is nearly that of another
	// Answered visits of pages that were due. NotModified are those answered by 304, Unchanged those
	// without a change, 304 included, Gone those answered by 404 and 410.
	Revisits, NotModified, Unchanged, Changed, Gone int64
	// how late pages were put into the queue
	Overdue        [NumOverdueBuckets]int64
	QueuedRevisits int64 // of Queued, those that were done and became due
	// Texts counts the URLs with a document for the index, TextBytes sums the sizes, and TextChanges
	// counts how often a document was written or taken out.
	Texts, TextBytes, TextChanges int64
	Retries                       int64 // requests that were, or will be, made again
	// of Failed, but for URLs that another one replaces
	GivenUp     [NumGiveUpReasons]int64
	Walls       [wall.MaxProducts]int64 // answers that were bot walls, by wall.Product
	HostsWalled int64                   // hosts with HostState.WalledSince
	// LeftOut counts visits of pages that are left out because their owner said no to a purpose, by
	// it.
	LeftOut [preferences.NumPurposes]int64
	// Guests are URLs of other crawls, GuestsActive those of them that are to be fetched, now or at a
	// date. NoteDates are URLs that a client wants again at a date, and NoteBytes what notes and
	// guests take.
	Guests, GuestsActive, NoteDates, NoteBytes int64
}

// OverdueBuckets are the upper bounds, in seconds, of the histogram of how late due pages are put
// into the queue; the last bucket has no bound.
var OverdueBuckets = [...]int64{1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600, 4 * 3600, 12 * 3600,
	24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600, 30 * 24 * 3600}

// NumOverdueBuckets counts the buckets including the unbounded one.
const NumOverdueBuckets = len(OverdueBuckets) + 1

// Each calls f with every number of c, always in the same order. It is the only list of the fields
// for encoding and decoding. Stores are written in this order, so new fields come last.
func (c *Counters) Each(f func(*int64)) {
	for _, p := range [...]*int64{&c.Pages, &c.Bytes, &c.Robots, &c.Seen, &c.Duplicates, &c.Hosts,
		&c.Failed, &c.LinksFound, &c.Captures, &c.ContentDup, &c.Outbox} {
		f(p)
	}
	for _, s := range [...][]int64{c.Queued[:], c.Responses[:], c.Errors[:ErrProxy],
		c.Skipped[:SkipNoFollow], c.Latency[:], c.Skipped[SkipNoFollow : SkipNoFollow+1]} {
		for i := range s {
			f(&s[i])
		}
	}
	f(&c.Contents)
	f(&c.NearDup)
	for _, p := range [...]*int64{&c.Revisits, &c.NotModified, &c.Unchanged, &c.Changed, &c.Gone} {
		f(p)
	}
	for i := range c.Overdue {
		f(&c.Overdue[i])
	}
	f(&c.Skipped[SkipFocus])
	f(&c.QueuedRevisits)
	f(&c.Texts)
	f(&c.TextBytes)
	f(&c.TextChanges)
	f(&c.Retries)
	for i := range c.GivenUp {
		f(&c.GivenUp[i])
	}
	f(&c.HostsWalled)
	for i := range c.Walls {
		f(&c.Walls[i])
	}
	for i := range c.LeftOut {
		f(&c.LeftOut[i])
	}
	f(&c.Errors[ErrProxy])
	for _, p := range [...]*int64{&c.Guests, &c.GuestsActive, &c.NoteDates, &c.NoteBytes} {
		f(p)
	}
}

// Plus adds d to c.
func (c *Counters) Plus(d *Counters) { c.add(d, 1) }

// Minus subtracts d from c.
func (c *Counters) Minus(d *Counters) { c.add(d, -1) }

// add is written field by field, not with Each: it runs for each partition of each commit, and a
// call for each number took 1 % of a page.
func (c *Counters) add(d *Counters, times int64) {
	c.Pages += times * d.Pages
	c.Bytes += times * d.Bytes
	c.Robots += times * d.Robots
	c.Seen += times * d.Seen
	c.Duplicates += times * d.Duplicates
	c.Hosts += times * d.Hosts
	c.Failed += times * d.Failed
	c.LinksFound += times * d.LinksFound
	c.Captures += times * d.Captures
	c.ContentDup += times * d.ContentDup
	c.Outbox += times * d.Outbox
	c.Contents += times * d.Contents
	c.NearDup += times * d.NearDup
	c.Revisits += times * d.Revisits
	c.NotModified += times * d.NotModified
	c.Unchanged += times * d.Unchanged
	c.Changed += times * d.Changed
	c.Gone += times * d.Gone
	c.QueuedRevisits += times * d.QueuedRevisits
	c.Texts += times * d.Texts
	c.TextBytes += times * d.TextBytes
	c.TextChanges += times * d.TextChanges
	c.Retries += times * d.Retries
	for i := range c.GivenUp {
		c.GivenUp[i] += times * d.GivenUp[i]
	}
	c.HostsWalled += times * d.HostsWalled
	c.Guests += times * d.Guests
	c.GuestsActive += times * d.GuestsActive
	c.NoteDates += times * d.NoteDates
	c.NoteBytes += times * d.NoteBytes
	for i := range c.Walls {
		c.Walls[i] += times * d.Walls[i]
	}
	for i := range c.LeftOut {
		c.LeftOut[i] += times * d.LeftOut[i]
	}
	for i := range c.Overdue {
		c.Overdue[i] += times * d.Overdue[i]
	}
	for i := range c.Queued {
		c.Queued[i] += times * d.Queued[i]
	}
	for i := range c.Responses {
		c.Responses[i] += times * d.Responses[i]
	}
	for i := range c.Errors {
		c.Errors[i] += times * d.Errors[i]
	}
	for i := range c.Skipped {
		c.Skipped[i] += times * d.Skipped[i]
	}
	for i := range c.Latency {
		c.Latency[i] += times * d.Latency[i]
	}
}

// QueuedTotal is the sum over the bands.
func (c *Counters) QueuedTotal() int64 {
	var n int64
	for _, q := range c.Queued {
		n += q
	}
	return n
}

// Observe adds one response time to the histogram.
func (c *Counters) Observe(milliseconds int64) {
	for i, bound := range LatencyBuckets {
		if milliseconds <= bound {
			c.Latency[i]++
			return
		}
	}
	c.Latency[NumLatencyBuckets-1]++
}

// CountDefects counts what was wrong with an answer that is used all the same: its certificate, or
// that its payload is not whole.
func (c *Counters) CountDefects(o *Outcome) {
	if o.Kind != Fetched && o.Kind != RateLimited {
		return
	}
	if o.Category == ErrTLS {
		c.Errors[ErrTLS]++
	}
	if o.Truncated != "" {
		c.Errors[ErrTruncated]++
	}
}

// CountLeftOut counts a page whose owner said no to a purpose of the crawl.
func (c *Counters) CountLeftOut(o *Outcome) {
	if o.LeftOut == 0 {
		return
	}
	for p := range preferences.NumPurposes {
		if o.LeftOut.Has(p) {
			c.LeftOut[p]++
		}
	}
}

// CountWall counts an answer that was a bot wall.
func (c *Counters) CountWall(o *Outcome) {
	if o.Wall != wall.None {
		c.Walls[min(o.Wall, wall.MaxProducts-1)]++
	}
}
