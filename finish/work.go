package finish

import "fmt"

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
		return fmt.Sprintf("%d fetches are open", w.Fetches)
	case w.Moving > 0:
		return fmt.Sprintf("%d partitions are moving", w.Moving)
	case !w.Leased:
		return "it has no lease"
	case w.SeedLists > 0:
		return fmt.Sprintf("%d lists of seeds are being stored", w.SeedLists)
	case w.Outbox > 0:
		return fmt.Sprintf("%d links wait in the outbox", w.Outbox)
	case w.Queued > 0 && !w.LimitReached:
		return fmt.Sprintf("%d URLs are queued", w.Queued)
	case w.Due > 0 && !w.LimitReached:
		return fmt.Sprintf("%d known pages are due", w.Due)
	}
	return ""
}
