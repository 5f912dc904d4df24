// Package scheduler decides which host is visited next on this node. It connects the scheduler's
// core (which host may be requested now) with the frontier (which URLs are queued) and the
// resolver, and hands visits to the pipeline's workers.
//
//	frontier ─ wake index, queues ─► Dispatcher ─ Next ─► worker: Release, Completed
//	handoff  ─ Hold, Freeze, Resume, Drop ─►  │
//	lease    ─ EndAll, Wake ─►                │
//	                                          └ Park: politeness state, to the frontier
//
// # A visit
//
// Next gives a host to one worker. The worker calls MayRequest just before each request is
// written, Release when its request has ended (the host's gap counts from then), and Completed
// when the outcome is in the frontier or was dropped. Context ends when the visit is cancelled.
//
// # The right to fetch
//
// Hosts of a partition may be requested from Hold until Freeze or Drop,
// and only while the function MayFetch agrees, which checks the lease, the view and
// the tenure; this package does not know them. The right is checked when a visit is handed
// out and by MayRequest. After Drop or EndAll has returned, no request that it forbids starts;
// after Freeze has returned, all visits are completed and the hosts' states are in the store
// (right.go). In the same two places Turns is asked whether it is this node's turn to request an
// address whose requests are spaced.
//
// # Rules for sites
//
// A host has the delay of its site, a URL the retries and the limit of pages of its own. When a
// rule chooses URLs by a pattern and gives them a longer delay than their host has, the host
// rests so long after each request for one of them. When rules change, the hosts whose own delay
// has grown wait for it once from then on, those whose delay has shrunk go on at once, and the
// others keep their times. That is exact for hosts in memory. For hosts on disk the last few
// changes are kept (sites.go), and whether a URL's pause is part of a stored wait is not known:
// the longest pause that a pattern may give a URL of the host is left in it.
//
// # Goroutines and queues
//
// The goroutine of Run owns the core and all that it knows of partitions and hosts (type loop).
// Readers and look-ups run in two pools, which Run starts and waits for. All other methods may be
// called from any goroutine. Mutexes are never held during a call of the store.
//
//	queue           filled by           emptied by     bound                  when full
//	inbox           most calls          the loop       256                    the caller waits
//	notes           NoteQueued          the loop       4 for each host        the partition is
//	                                                   in memory              swept instead
//	orders          Hold, Resume, Drop  the loop       the calls of one turn  cannot be
//	disk jobs       the loop            the readers    3 for each host        cannot be
//	look-ups        the loop            the look-ups   in memory, together    cannot be
//	waiters         Next                the loop       one for each worker    cannot be
//	robots fetches  RobotsFile          visits         1,024, 16 of a host,   the caller asks
//	                                                   answers of 16 MiB      again
//
// Nothing here is durable, and nothing has to be. The queues can be read again from the frontier.
// The politeness state of hosts in memory is known only here; the Dispatcher stores it when a host
// leaves memory.
//
// # Files
//
//	dispatcher.go  methods for other goroutines: Next, Release, Completed, NoteQueued, figures
//	loop.go        the goroutine: one turn, handing out, jobs of the pools
//	fill.go        brings hosts from disk into memory
//	right.go       how partitions and the right to fetch come and go
//	state.go       queries and reports between Release and Completed
//	gaps.go        changed settings
//	sites.go       rules for sites
//	budget.go      what counts as a page, and which URLs of a host are over its budget
//	robots.go      fetches of a robots.txt for another host, within this host's politeness; their
//	               table is in robotsfetches.go, calls to other nodes in elsewhere.go
//	reserve.go     hosts leased to workers, held on disk
//	adopt.go       results for leases of an earlier process
//	block.go       hosts that workers have blocked
//	errands.go     fetches outside of the queues: robots.txt files, parts of pages
//	jobs.go        jobs of the readers and the look-ups
//	lease.go       FollowLease: the node's lease ends and begins
//	options.go     what the package needs of others
//	inspect.go     hosts in memory, for people
package scheduler
