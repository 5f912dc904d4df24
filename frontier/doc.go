// Package frontier remembers every URL of the partitions that this node has:
// what is known of it (its record), which URLs wait for a fetch (the queues of
// the hosts), how politely each host must be treated, and which links wait for
// the node that owns them (the outbox).
//
// # The life of a URL here
//
//	Add        no record -> a record (queued) and an entry in its host's queue
//	Load       reads the head of a host's queue; nothing changes
//	Complete   one write: the record becomes done, failed or refused, the queue
//	           entry is deleted, the links of the page are added or put into the
//	           outbox, the host's state and the counters are updated
//	FailHost   what Complete does for all URLs of a host that is given up
//
// While a host has only one URL, which was never tried, that URL is stored inline in the
// host's entry: it has neither a record nor a queue entry of its own (layout/inline.go). New URLs
// of a host that are added together share one key of its queue, a block (places.go).
//
// A lease exists in memory only. A crash between Load and Complete leaves the URL in
// the queue, so work is repeated and never lost.
//
// # One writer
//
// Run is the one goroutine that changes anything (frontier/commit): callers hand it
// requests and wait. It takes all requests that wait, up to about 1 MiB, into one
// transaction of the store (group commit), and answers them when that is committed. Adds,
// completions and mutations are patient: they are collected for Options.CommitPace after the
// previous commit, unless a request waits that is not, such as one that moves a partition. Each
// request is atomic. A long Add, or a page with very many links, is cut into several
// requests. Load, Record, Host, List, Waiting and Outbox read a snapshot on the caller's own
// goroutine. The table of queues is in frontier/commit.
//
// Every group that changes a partition raises the partition's sequence number
// by one, and its counters change in the same transaction as what they count.
// The partition's entries in such a group are its mutation, which replicas apply.
//
// # What survives what
//
// An answer means that the change survives kill -9. Changes of state (Found,
// Transition, Delete) and recorded in-sync sets (PutSets) survive a loss of power too:
// one goroutine, beside the writer, syncs the store for all such requests that wait.
// Everything else survives a loss of power from the next Sync on, which the node calls every
// second. No Sync delays a commit.
//
// # A full disk
//
// While the store has no space, requests that need some wait in Run until there is space or
// their callers give up, so none of them is acknowledged. Partitions can still change hands: their
// states and in-sync sets go into the store's reserve, a file whose blocks were allocated when
// there was space (storage/reserve.go). A read-only or failing disk ends Run with an error before
// anything is written into a mapped file.
//
// # Seen or new
//
// Most links were seen before. A bounded cache of fingerprints answers first.
// Then one Bloom filter per partition says new or maybe; every maybe is looked up
// in the store, in the order of keys. A filter that is missing, or being rebuilt,
// says maybe. Neither can make a URL disappear: the filter only saves
// look-ups, and the cache holds only URLs that the store has confirmed. The filter contains the
// hosts as well, so the entry of a new host is not looked up.
//
// Filters are rebuilt from the records in the background, so a start does not
// wait for them. At a clean stop they are saved; the file is used once.
//
// # Contents
//
// A partition also remembers the first capture of the payloads whose digests fall into it
// (contents.go): at most Options.ContentsPerPartition, then each new one replaces an
// older one. A Bloom filter for each held partition (commit/payloads.go) answers most look-ups
// of new payloads without the store; readers need no lock. When a host serves many
// near-duplicates in a row (streak.go), its links are queued behind those of other hosts.
//
// # Revisits
//
// While the crawl revisits pages, a done page has a plan (plan.go): its record has the statistics
// of its visits, and the table of due pages has one entry for it, ordered by time. MoveDue moves a
// page that is due into its host's queue, where it is like any other URL. Complete asks the Planner
// for the next plan within the same write. So a page is always either in the table or in a queue. A
// revisit that fails for good leaves the page's record as it was. Without a Planner, or while it is
// off, nothing of this is written.
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
// A partition's keys begin with its number and a generation. It is copied to another node
// physically: Export opens a snapshot and attaches a Sink, which is handed the mutations that
// follow. Import writes them under a fresh generation, which CommitCopy makes the live one in a
// single write. Dead generations are deleted in the background (commit/sweep.go); the list of them
// is on disk. The more of them wait, the faster they are deleted, and errors are retried. While too
// many bytes wait (see Dead) no import begins; on a disk that is nearly full, none begins while
// anything waits. Badger keeps the space of deleted keys until it compacts (storage/compact.go).
//
// After CommitCopy, ApplyCopies adds each mutation of the holder to the copy. So a
// copy always equals the holder's state after some mutation, which (epoch, sequence)
// names: AdoptCopy lets the copy follow the next holder when that one began
// exactly there, and Attach then continues without a snapshot. Only held partitions
// count in Totals and accept Add and Complete; a copy has no filter and no sinks.
//
// # Damage
//
// The store refuses a damaged table and names the file (package storage). A log is truncated at its
// first bad entry, which may lose sequence numbers and counters of partitions too; so the
// high-water file beside the store (package recovery) records the last sequence number of each
// partition. A partition that is behind its mark is Suspect, also after later starts: it accepts no
// URL and no mutation, and is not promoted, until CommitCopy has replaced it, or Transition clears
// the flag because there is no better copy. A loss of power before the next Sync may lose the marks
// as well, so that nothing seems to be missing. Every partition is Unsure then, until its copy is
// replaced, follows a holder again, or is promoted.
//
// # Times
//
// Arguments and results are times of this process. In the store they are on the
// partition's own timeline (layout/timeline.go), which no change of a wall clock moves: so the
// remaining time of a wait is the same for the next holder, and after a restart.
//
// # What it does not do
//
// It does not know the ring, the views or the peers: partition numbers come
// with the URLs. It does not judge URLs, schedule hosts or decide by a clock: times
// arrive in host states and outcomes. It talks to no other node: it exports, imports
// and promotes copies; package handoff transfers them and decides which ones.
//
// # Packages
//
//	cash       importance: the log of pages, accounts, credits for other partitions
//	order      the band of a queued URL, from its score
//	result     what the end of a visit makes of a record
//	texts      the newest document of each page, for the index
//	commit     the one writer, partitions in memory, deletion of old copies
//	storage    bytes by keys: Badger or memory, sync, damage, full disks
//	layout     what keys and values look like
//	reader     one snapshot of one partition
//	listing    pages of a partition's URLs
//	filters    the cache of seen URLs, Bloom filters of URLs and payloads
//	offline    the frontiers of nodes that do not run
//	recovery   what the store still has at a start
package frontier
