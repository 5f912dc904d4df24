package finish

import "github.com/dustin/go-humanize/english"

// Work is the remaining work of one node.
//
// Its fields must be read in this order: work that leaves Fetches or SeedLists
// is then already in Outbox or Queued, so nothing is missed.
type Work struct {
	Joined    bool  // a view lists this boot, and it has the crawl's settings
	Fetches   int   // open
	Moving    int   // partitions that move
	Leased    bool  // it may fetch
	SeedLists int64 // being stored
	Outbox    int64 // links not yet acknowledged by their owner
	Queued    int64 // URLs
	Due       int64 // known pages that are about to be queued, because their next visit is due
	Wanted    int64 // URLs that clients want later: those of other crawls, and those with a date
	// LimitReached says that the page limit holds back the queued URLs.
	LimitReached bool
}

// Idle reports whether nothing is left to do.
func (w Work) Idle() bool { return w.WhyNotIdle() == "" }

// WhyNotIdle is why the node is not idle; "" when it is.
func (w *Work) WhyNotIdle() string {
	switch {
	case !w.Joined:
		return "it has not joined yet"
	case w.Fetches > 0:
		return english.Plural(w.Fetches, "fetch is open", "fetches are open")
	case w.Moving > 0:
		return english.Plural(w.Moving, "partition is moving", "partitions are moving")
	case !w.Leased:
		return "it has no lease"
	case w.SeedLists > 0:
		return english.Plural(int(w.SeedLists), "list of seeds is being stored",
			"lists of seeds are being stored")
	case w.Outbox > 0:
		return english.Plural(int(w.Outbox), "link waits in the outbox", "links wait in the outbox")
	case w.Queued > 0 && !w.LimitReached:
		return english.Plural(int(w.Queued), "URL is queued", "URLs are queued")
	case w.Due > 0 && !w.LimitReached:
		return english.Plural(int(w.Due), "known page is due", "known pages are due")
	case w.Wanted > 0 && !w.LimitReached:
		return english.Plural(int(w.Wanted), "URL waits", "URLs wait") +
			" for a client of the URLFrontier protocol"
	}
	return ""
}
