// Package core decides which host may be fetched now.
//
// [Core] is pure: it starts no goroutine, reads no clock and does no I/O. Time
// is an argument of every call, and everything that needs the disk or the network is
// returned as an [Action], which the caller performs and reports back. One goroutine
// owns a Core; its methods are not safe for concurrent use.
//
// # What it promises
//
// At most one request to a host is open, and from the end of one to the start of the next at
// least the host's gap passes: the largest of the configured delay, robots.txt's Crawl-delay
// (capped at 60 s; it counts from the second request after robots.txt on), twice the last
// response time, and the back-off after 429 and 503, which doubles the largest of the others.
// Retry-After applies to the whole host. After a request for a URL that has a pause of its own
// (Dispatcher.Pause) the gap is that at least. The pause is part of the time at which the host
// may be requested next. It is lost with a visit whose outcome was not written; but the URL of
// that is still queued, and after a take-over the host waits for the pauses of its queued URLs.
// An answer that is a bot wall counts as 429, and a host of whose last ten answers eight were
// walls is not requested for a day. A URL that gets such an answer has as many tries as any
// other, but is not given up while other URLs of its host get the same, for up to ten minutes: an
// outage costs no URL. A host that cannot be reached is retried after growing waits, then not for
// an hour. While no name server answers any query, a host without a known address waits and is
// looked up again, for up to a day without counting a failure. A URL that was excluded since it
// was queued is handed out at once, to be refused: no request can be made with its visit, so none
// of this applies to it. Addresses with a delay of their own are spaced in the same way, whatever
// names they have. If an address serves hosts of several nodes, Turns.Turn says whose turn it is,
// and knows of the requests of the others. A host that was taken over, by a restart or from
// another node, alive or dead, is not requested before the time of the take-over plus its gap,
// whether it was known before or not; the rest of that wait is stored when the host leaves
// memory.
//
// # The life of a host in memory
//
//	            Activate                          Next
//	(on disk) ───────────► Waiting ─► Resolving ─► Ready ─────► InFlight
//	    ▲                   ▲   ▲         │      ▲               │
//	    │ Park              │   │         ▼      │               │ Release
//	    │                   │   │     AddressWait┘               ▼
//	    └───────────────── Dry  └────────────────────────────────┘
//
// A ready host whose domain already has its share of the fetchers is OverShare, until its domain is
// below its share again; then it is ready again.
//
// Every event that concerns a host ends in one function, place, which computes the host's
// place from the facts (open visit, items, times, addresses) and moves it there. No other
// function moves a host. Status has a paragraph for each place.
//
// # Queues
//
//	queue            filled by        emptied by     bound
//	items of a host  Activate, Offer  Next           4 x ItemsPerHost, then no more Refill
//	ready, per band  place            Next           MaxActive hosts
//	timers           place            time           MaxActive hosts and their addresses
//	address queues   place            Release, time  MaxActive hosts
//	actions          place            Actions        three for a host
//
// The frontier on disk is authoritative: a Core may be dropped at any moment, and no URL
// is lost with it. Only the politeness state of the hosts would be lost: it is returned
// as [Parked] when a host leaves memory.
//
// # What it does not do
//
// It does not know which node holds a partition, how many pages the crawl may fetch or
// how to read a frontier. That is package scheduler.
package core
