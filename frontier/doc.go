// Package frontier remembers every URL of the partitions that this node has:
// what is known of it (its record), which URLs wait for a fetch (the queues of
// the hosts), how politely each host must be treated, and which links wait for
// the node that owns them (the outbox).
//
// # The life of a URL here
//
//	Add        no record -> a record (queued) and a place in its host's queue
//	Load       reads the head of a host's queue; nothing changes
//	Complete   one write: the record done, failed or refused, the place in the
//	           queue given up, the links of the page added or put into the
//	           outbox, the host's state and the counters brought up to date
//	FailHost   what Complete does for all URLs of a host that is given up
//
// While a host has only one URL, which was never tried, that URL is stored inline in the
// host's entry: it has neither a record nor a place of its own (layout/inline.go). New URLs of a host that
// come together share a key of its queue, a block (places).
//
// A lease exists in memory only. A crash between Load and Complete leaves the URL in
// the queue, so work is repeated and never lost.
//
// # One writer
//
// Run is the one goroutine that changes anything (frontier/commit): callers hand it
// requests and wait. It takes all requests that wait, up to about 1 MiB, into one
// transaction of the store (group commit), and answers them when that is committed. Links,
// completions and mutations are patient: they gather for Options.CommitPace after the
// commit before, unless something waits that a partition needs to change hands. Each
// request is atomic. A long Add, or a page with very many links, is cut into several
// requests. What is read with Load, Record, Host, List, Waiting or Outbox is read by the caller's
// own goroutine from a snapshot. The table of queues is in frontier/commit.
//
// Every group that changes a partition raises the partition's sequence number
// by one, and its counters change in the same transaction as what they count.
// What the group wrote of the partition is its mutation.
//
// # What survives what
//
// An answer means that the change survives kill -9. Changes of state (Found,
// Transition, Delete) and recorded sets (PutSets) survive a loss of power too:
// one goroutine syncs the store for all of them that wait, beside the writer.
// The rest survives it from the next Sync on, which its caller does every
// second. No Sync holds up a commit.
//
// # A full disk
//
// While the store has no room, Run keeps requests that need space waiting, at most
// until their callers give up, so none of them is acknowledged. What partitions need to
// change hands goes on: states and sets go into the store's reserve, a file whose
// blocks were set aside when there was space (storage/reserve.go). A read-only or failing disk ends Run
// with an error before anything is written into a mapped file.
//
// # Seen or new
//
// Most links were seen before. A bounded cache of fingerprints answers first.
// Then one Bloom filter per partition says new or maybe; a maybe is confirmed
// in the store, sorted by key. A filter that is missing, or being rebuilt,
// says maybe. Neither can make a URL disappear: the filter only ever saves a
// look-up, and the cache holds what the store has confirmed. The filter knows the
// hosts as well: the entry of a new one is not looked for.
//
// Filters are rebuilt from the records behind the crawl, so a start does not
// wait for them. At a clean stop they are saved; the file is used once.
//
// # Contents
//
// A partition also remembers the first capture of payloads whose digests are its own
// (package contents): at most Options.ContentsPerPartition, then each new one replaces an
// older one. A Bloom filter for each held partition (commit/payloads.go) answers most questions
// for new payloads without the store; readers need no lock. A host that serves many
// near-duplicates in a row (streak.go) gets its links queued behind those of other hosts.
//
// # Revisits
//
// While pages are visited again, a done page has a plan (plan.go): its record says what its visits have taught,
// and it has one entry among the due pages, by time. MoveDue puts a page that is due into its queue, where it is like
// any other. The end of a visit takes the next plan from the Judge, within the same write. So a page is among the
// due ones or in a queue, never in neither. A visit that fails for good leaves what was known of the page. Without a
// Judge, or while it is off, nothing of this is written.
//
// # Partitions
//
//	Absent                 -> Holder    Found
//	Absent, Released, Copy -> Copy      Import.CommitCopy
//	Copy                   -> Holder    Transition: promotion
//	Holder                 -> Released  Transition, after Freeze
//	Released               -> Holder    Transition: the receiver refused
//	Holder, Released       -> Copy      Transition: another node holds it
//	Released, Copy         -> Absent    Delete
//
// A partition's keys begin with its number and a generation. It goes to another
// node as a physical copy: Export opens a snapshot and attaches a Sink, which is
// handed the mutations that follow. Import writes them under a fresh generation,
// which comes alive with CommitCopy in one write. Generations that are not alive
// are deleted in the background (commit/sweep.go); the list of them is on disk. It goes faster
// the more of them wait, an error is tried again, and while too much waits no copy
// begins to arrive; on a disk that is nearly full, none while anything waits (see Dead).
// Badger keeps the room of deleted keys until it compacts (storage/compact.go).
//
// From then on ApplyCopies adds each mutation of the holder to the copy. So a
// copy is always what the holder was at some mutation, and (epoch, sequence)
// says at which: AdoptCopy lets it follow the next holder when that one began
// exactly there, and Attach goes on without a snapshot. Only held partitions
// count in Totals and take Add and Complete; a copy has no filter and no sinks.
//
// # Damage
//
// The store refuses damaged tables by the name of the file (storage). A log is cut at its
// first bad entry, and the books of the partitions with it; so the high-water file beside
// the store (recovery) says how far each partition had come. A partition that is behind its
// mark is Suspect, also after later starts: it takes no URL and no mutation, and is not
// promoted, until CommitCopy has replaced it, or Transition clears the flag because
// there is no better copy. A loss of power before the next Sync may lose the marks as
// well, so that nothing seems to be missing. Every partition is Unsure then, until its
// copy is replaced or followed anew, or it is promoted.
//
// # Times
//
// Callers give and get times of this process. In the store they are on the
// partition's own timeline (layout/timeline.go), which no wall clock moves: so the rest of
// a wait is the same for the next holder, and after a restart.
//
// # What it does not do
//
// It does not know the ring, the views or the peers: partition numbers come
// with the URLs. It does not judge URLs, schedule hosts or decide by a clock: times
// arrive in host states and outcomes. It talks to no other node: it makes, takes
// and promotes copies, and others carry them and decide.
//
// # Packages
//
//	cash       importance: the log of pages, accounts, credits for other partitions
//	contents   where payloads were stored first
//	places     where a queued URL's entry stands
//	commit     the one writer, partitions in memory, deletion of old copies
//	storage    bytes by keys: Badger or memory, sync, damage, full disks
//	layout     what keys and values look like
//	due        which planned pages are due
//	reader     one snapshot of one partition
//	listing    pages of a partition's URLs
//	filters    the cache of seen URLs, Bloom filters of URLs and payloads
//	recovery   what a start still has
package frontier
