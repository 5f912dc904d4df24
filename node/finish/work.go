package finish

import "fmt"

// Work is what one node still has to do.
//
// Its fields must be read in the order in which they stand here: what leaves Fetches or SeedLists
// shows in Outbox or Queued by then, so nothing is missed on its way.
type Work struct {
	Joined    bool  // a view lists this boot, and it has the crawl's settings
	Fetches   int   // open
	Moving    int   // partitions that are on their way
	Leased    bool  // it may fetch
	SeedLists int64 // that are being stored
	Outbox    int64 // links that wait for the answer of their owner
	Queued    int64 // URLs
	// LimitReached says that the page limit keeps what is queued from being fetched.
	LimitReached bool
}

// WhyNotIdle names what keeps the node from being idle; "" is nothing.
func (w *Work) WhyNotIdle() string {
	switch {
	case !w.Joined:
		return "it has not joined yet"
	case w.Fetches > 0:
		return fmt.Sprintf("%d fetches are open", w.Fetches)
	case w.Moving > 0:
		return fmt.Sprintf("%d partitions are on their way", w.Moving)
	case !w.Leased:
		return "it has no lease"
	case w.SeedLists > 0:
		return fmt.Sprintf("%d lists of seeds are being stored", w.SeedLists)
	case w.Outbox > 0:
		return fmt.Sprintf("%d links wait in the outbox", w.Outbox)
	case w.Queued > 0 && !w.LimitReached:
		return fmt.Sprintf("%d URLs are queued", w.Queued)
	}
	return ""
}
