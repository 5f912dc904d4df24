// Package scheduler decides which host may be fetched now.
//
// [Core] is pure: it starts no goroutine, reads no clock and does no I/O. Time
// is an argument of every call, and whatever needs the disk or the network
// comes out as an [Action] that somebody else performs and reports back. One
// goroutine owns a Core; its methods are not safe for concurrent use.
//
// # What it promises
//
// At most one request to a host is open, and from the end of one to the start
// of the next at least the host's gap passes: the largest of the configured
// delay, robots.txt's Crawl-delay (capped at 60 s; it counts from the second
// request after robots.txt on), twice the last response time, and the back-off
// after 429 and 503, which doubles what the others come to. Retry-After holds the
// whole host. A URL that is answered so has its tries like one that fails by
// itself, but is not given up while others of its host are answered so as well,
// for ten minutes: an outage costs no URL. A host that cannot be
// reached is asked again after growing waits, then left alone for an hour. While no
// name server answers anything, a host whose address is not known waits and is looked
// up again, for a day without being blamed.
// A URL that was excluded since it was queued is handed out at once, to be refused:
// nothing can be requested with its visit, so none of this holds for it.
// Addresses with a delay of their own are held to it in the same way, whatever
// names they have; by this process: an address that serves hosts of several nodes
// is spaced by each of them for itself, and a hand-over does not carry its last
// request along. A host that was taken over, by a restart or from another
// node, alive or dead, is not asked before the time of the take-over plus its
// gap, whether it was known before or not; what is left of that wait goes with
// the host when it leaves memory.
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
// A ready host whose domain has had its share of the fetchers is OverShare, until it is
// let back and is ready again.
//
// Every event that touches a host ends in one function, place, which looks at
// the facts (open visit, items, times, addresses) and puts the host where they
// say it belongs. No other function moves a host. Status has a paragraph for
// each place.
//
// # Queues
//
//	items of a host   filled by Activate, Offer     emptied by Next            bound 4 x ItemsPerHost, then no Refill is asked for
//	ready, per band   filled by place               emptied by Next            bound MaxActive hosts
//	timers            filled by place               emptied by time            bound MaxActive hosts and their addresses
//	address lines     filled by place               emptied by Release, time   bound MaxActive hosts
//	actions           filled by place               emptied by Actions         three for a host at most
//
// The frontier on disk stays the truth: a Core may be dropped at any moment,
// and no URL is lost with it. What would be lost, the politeness of the hosts,
// is handed out as [Parked] when a host leaves memory.
//
// # What it does not do
//
// It does not know who holds a partition, how many pages the crawl may fetch
// or how to read a frontier. Those are decided by package node/dispatch.
package scheduler
