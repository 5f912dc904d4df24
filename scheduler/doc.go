// Package scheduler decides which host is visited next on this node. It connects the scheduler's
// core (which host may be asked now) with the frontier (what is queued) and the resolver, and
// hands visits to the pipeline's workers.
//
//	frontier ─ wake index, queues ─► Dispatcher ─ Next ─► worker: Release, Completed
//	handoff  ─ Hold, Freeze, Resume, Drop ─►  │
//	lease    ─ EndAll, Wake ─►                │
//	                                          └ Park: the hosts' politeness goes back to the frontier
//
// # A visit
//
// Next gives a host to one worker. The worker calls MayRequest just before each request is
// written, Release when its request has ended (the host's gap counts from then), and Completed
// when the outcome is in the frontier or was dropped. Context ends when the visit is cancelled.
//
// # The right to fetch
//
// A request may be made in a partition from Hold until Freeze or Drop,
// and only while the hook MayFetch agrees. The hook stands for the lease, the view and
// the tenure, which this package does not know. The right is checked when a visit is handed
// out and by MayRequest. When Drop or EndAll has returned, no request that they forbid may start;
// when Freeze has, all visits are completed and the hosts' states are in the store (right.go).
// Whose turn it is, among all nodes, to request an address that is spaced is asked in the same two
// places (Turns).
//
// # Goroutines and queues
//
// The goroutine of Run owns the core and all that it knows of partitions and hosts (type loop).
// Readers and look-ups run in two pools, which Run starts and waits for. All other methods may be
// called from any goroutine. Mutexes are held for moments, never over a call of the store.
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
// Nothing here is durable, and nothing has to be. The queues can be read again from the
// frontier. The hosts' politeness is known only here; the Dispatcher writes it whenever a host
// leaves memory.
//
// # Files
//
//	dispatcher.go  methods for other goroutines: Next, Release, Completed, NoteQueued, figures
//	loop.go        the goroutine: one turn, handing out, jobs of the pools
//	fill.go        the way of hosts from disk into memory
//	right.go       how partitions and the right to fetch come and go
//	state.go       queries and reports between Release and Completed
//	gaps.go        changed settings
//	budget.go      what counts as a page, and which URLs of a host are over its budget
//	robots.go      fetches of a robots.txt for another host, in this host's turn; their table is
//	               in robotsfetches.go, the way to other nodes in elsewhere.go
//	reserve.go     hosts that programs outside request, held on disk; adopt.go: results
//	               for those that an earlier process has leased; block.go: hosts that they want left alone
//	inspect.go     hosts in memory, for people
package scheduler
