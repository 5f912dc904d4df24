package core

import (
	"container/list"
	"net/netip"
	"slices"
	"time"

	"crawlnode/crawl"
)

// Cursor is a position in a host's queue on disk, one sequence number per band. The zero
// Cursor is the head. The scheduler only stores it.
type Cursor = [crawl.Bands]uint64

// Status is the place of a host in memory.
type Status uint8

// The places. See the package documentation for the moves between them.
const (
	// Dry: there is nothing in memory to fetch. A Refill is under way, or a visit is not
	// completed yet, or the host leaves memory soon.
	Dry Status = iota
	// Waiting: the host's time, or that of its next item, has not come.
	Waiting
	// Resolving: its time has come, an address is being looked up.
	Resolving
	// AddressWait: it waits in the line of an address that serves other hosts as well.
	AddressWait
	// Ready: Next may hand it out. If the address has a delay, the host has the address's
	// turn.
	Ready
	// InFlight: a visit is open. There is never a second one.
	InFlight
	// OverShare: it would be ready, but its domain or block has its share of the fetchers
	// already. It waits in the line of that one, without the turn of its address.
	OverShare
	// PartitionFrozen: its partition is about to move; nothing is handed out or requested.
	PartitionFrozen
	// Dying: its last try failed; its URLs are being given up.
	Dying
	numStatus = iota
)

var statusNames = [numStatus]string{"dry", "waiting", "resolving", "address_wait", "ready",
	"in_flight", "over_share", "partition_frozen", "dying"}

func (s Status) String() string { return statusNames[min(int(s), numStatus-1)] }

// host is one host in memory. Core owns it.
type host struct {
	name  crawl.Host
	part  crawl.Partition
	state crawl.HostState
	// saved: the newest state was returned for writing.
	saved bool
	// acquired is when this process took the host over; the zero time after the first
	// request that ended later.
	acquired time.Time
	// taken is as in Queue; it ends with acquired. takenPause is the longest pause of the items that
	// may have been asked for then: a request without an outcome was for one that is still queued.
	taken      time.Time
	takenPause time.Duration
	// pagesAfter: until then only errands are handed out.
	pagesAfter time.Time
	robots     []*crawl.Robots
	turns      int           // visits since Activate
	errors     int64         // those of them that failed, for people
	requests   int64         // since Activate, for people
	took       time.Duration // by all of them
	queued     int64         // URLs on disk at the last read, for people
	limits     limits
	// last has the URL of the last request if the pause after it is its own, which is paused; else
	// nil and 0.
	last   *crawl.Item
	paused time.Duration

	items  []crawl.Item // sorted by band and sequence
	cursor Cursor       // where the next Refill begins
	more   bool         // disk has, or may have, entries behind cursor
	// rewind: disk may have entries before cursor that are not in memory. They are read
	// when the host is dry.
	rewind  bool
	loading bool // a Refill is under way
	// ended are the URLs of visits that were completed while it was: what it has read of them may be
	// from before.
	ended []string
	noted bool       // entries were queued while it was
	fresh crawl.Band // best band of the URLs queued since the last Refill; Bands: none

	// excluded: the first item will only be refused. It stays true while the host has none
	// in memory.
	excluded bool

	addrs     []netip.Addr
	pick      int // the address in use is addrs[pick % len]
	expires   time.Time
	resolved  time.Time // when addrs came
	resolving bool
	nameless  bool      // the look-up failed: the next visit has no address
	noAddr    error     // of the last failed look-up
	unnamed   int       // look-ups in a row that no name server answered
	nameAt    time.Time // the next one, or the zero time
	turn      *address  // the spaced address whose turn it has or waits for

	open       bool     // a visit is open
	lent       bool     // the last visit was for a guest
	incomplete []*visit // visits without Completed, the open one included
	dead       bool

	status Status
	class  class
	timer  timer
	bytes  int

	domain   *domain       // its registered domain
	block    *share        // of its address; nil while none is known
	awake    bool          // its domain and block count it so
	asking   bool          // the look-up of its name is under way
	nameLine *list.List    // in which it waits for a look-up; nil: none
	namePost *list.Element // there
	askedAt  time.Time     // when the look-up began

	heldSince uint64 // its place among the hosts held back by a share; 0: none since its last visit

	line           *line // that it is in, with its neighbours
	before, behind *host
}

// visit is one visit handed out and not completed.
type visit struct {
	id      uint64
	host    *host
	item    crawl.Item
	open    bool
	block   *share // whose share it uses, beside the domain's; nil: none
	begun   time.Time
	late    bool // it has been open for longer than overdue, and counts as failed
	dear    bool // other hosts have waited for its fetcher since
	over    bool // it was taken back for other hosts
	cuts    int  // how often its URL was taken back before
	retries int  // of its URL
	// After Release:
	kind    crawl.Kind
	ended   time.Time
	page    bool // it counts in the host's Pages
	writing bool // its record is being written, with the host's state
	well    bool // it had a good answer, which counts when it is completed
	heavy   bool // pages of other domains waited for the parser because of its page
	excused bool // it used up the URL's tries, and the URL is not given up; see limits

	deleted bool // its URL was deleted meanwhile, and does not come back
}

// hasWork reports whether anything is queued for h, as far as is known.
func (h *host) hasWork() bool { return len(h.items) > 0 || h.more || h.rewind }

// start returns the earliest start of the next request.
func (c *Core) start(h *host) time.Time {
	at := crawl.Latest(crawl.Latest(h.state.NotBefore, h.state.HoldUntil), h.state.FrozenUntil)
	return crawl.Latest(crawl.Latest(at, c.lastHolderGapEnd(h)),
		crawl.Latest(h.nameAt, h.state.BlockedUntil))
}

// lastHolderGapEnd returns when the gap after a possible request of the last holder ends, or
// the zero time.
func (c *Core) lastHolderGapEnd(h *host) time.Time {
	if h.acquired.IsZero() {
		return time.Time{}
	}
	g := max(gap(&h.state, c.delay(h), h.state.CrawlDelay), h.paused)
	end := h.acquired.Add(g)
	if !h.taken.IsZero() {
		end = crawl.Latest(end, h.taken.Add(h.takenPause))
	}
	return end
}

// gap returns the least time between two requests to h at its present address.
func (c *Core) gap(h *host) time.Duration {
	addr := h.addr()
	g := gap(&h.state, c.delay(h), h.state.CrawlDelay)
	if addr.IsValid() {
		g = max(g, c.cfg.Dispatcher.IPDelay(addr))
	}
	return g
}

// addr returns the address in use, or the zero Addr.
func (h *host) addr() netip.Addr {
	if h.turn != nil {
		return h.turn.ip
	}
	if len(h.addrs) == 0 {
		return netip.Addr{}
	}
	return h.addrs[h.pick%len(h.addrs)]
}

// due returns the index of the best item whose time has come, or -1 and the
// earliest time of one (zero when there is no item). While the host answers 429 or 503, URLs
// without such an answer come first: that shows whether the host or the URL is the reason.
func (h *host) due(now time.Time) (int, time.Time) {
	if h.excluded && len(h.items) > 0 {
		return 0, time.Time{}
	}
	var next time.Time
	found := -1
	for i := range h.items {
		at := h.items[i].NotBefore
		if via := h.items[i].Via; h.pagesAfter.After(at) && (!via.Errand() || via == crawl.ViaGuest) {
			at = h.pagesAfter
		}
		switch {
		case at.After(now):
			if next.IsZero() || at.Before(next) {
				next = at
			}
		case !h.limits.has(&h.items[i]):
			return i, at
		case found < 0:
			found = i
		}
	}
	if found >= 0 {
		return found, h.items[found].NotBefore
	}
	return -1, next
}

// insert adds items in order. An item replaces one with the same URL: the one from disk is
// newer, and may have moved to a better band. An item that is being visited is left out, and read
// again when the host is dry; its visit takes over its place.
func (h *host) insert(items ...crawl.Item) {
	for _, it := range items {
		if i := slices.IndexFunc(h.incomplete, func(v *visit) bool { return v.item.URL == it.URL }); i >=
			0 {
			h.rewind = true
			h.incomplete[i].item.Band, h.incomplete[i].item.Seq = it.Band, it.Seq
			h.incomplete[i].deleted = false // it was put into the queue again
			continue
		}
		if i := slices.IndexFunc(h.items, func(o crawl.Item) bool { return o.URL == it.URL }); i >= 0 {
			h.items = slices.Delete(h.items, i, i+1)
		}
		i, _ := slices.BinarySearchFunc(h.items, it, compareItems)
		h.items = slices.Insert(h.items, i, it)
	}
}

// offered takes over what a Refill has read. Of URLs whose visit has ended meanwhile it may have
// read the place that they had before the visit, so they are left out, and read again when the host
// is dry: a URL that was moved to another band is behind the cursor once more, and would be visited
// twice.
func (h *host) offered(items []crawl.Item) {
	for _, it := range items {
		if slices.Contains(h.ended, it.URL.String()) {
			h.rewind = true
		} else {
			h.insert(it)
		}
	}
	h.ended = nil
}

func compareItems(a, b crawl.Item) int {
	if a.Band != b.Band {
		return int(a.Band) - int(b.Band)
	}
	switch {
	case a.Seq < b.Seq:
		return -1
	case a.Seq > b.Seq:
		return 1
	}
	return 0
}

// robotsOf returns the entry that applies to origin at now, or nil.
func (h *host) robotsOf(origin string, now time.Time) *crawl.Robots {
	for _, r := range h.robots {
		if r.Origin == origin && now.Before(r.Expires) {
			return r
		}
	}
	return nil
}

// wanted returns from where and how many items to read from disk now, if any.
func (c *Core) wanted(h *host, now time.Time) (after Cursor, n int, ok bool) {
	if h.loading {
		return after, 0, false
	}
	ready := 0
	for i := range h.items {
		if !h.items[i].NotBefore.After(now) {
			ready++
		}
	}
	low := ready <= c.cfg.ItemsPerHost/4
	better := h.fresh < crawl.Bands && (len(h.items) == 0 || h.fresh < h.items[0].Band)
	switch {
	case h.more && (low || better) && len(h.items) < 4*c.cfg.ItemsPerHost:
		return h.cursor, c.cfg.ItemsPerHost, true
	case h.rewind && !h.more && len(h.items) == 0 && len(h.incomplete) == 0:
		return Cursor{}, c.cfg.ItemsPerHost, true
	}
	return after, 0, false
}

// weigh recounts the memory of the host.
func (c *Core) weigh(h *host) {
	const fixed, perItem, perRobots = 600, 200, 150
	n := fixed
	for i := range h.items {
		n += perItem + len(h.items[i].URL.String())
	}
	for _, r := range h.robots {
		n += perRobots + len(r.Body)
	}
	c.bytes += n - h.bytes
	h.domain.bytes += n - h.bytes
	h.bytes = n
}
