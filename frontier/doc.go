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
// A lease is memory only. A crash between Load and Complete leaves the URL in
// the queue, so work is repeated and never lost.
//
// # One writer
//
// Run is the one goroutine that changes anything: Bloom filters, counters,
// states and the store. Callers hand it requests and wait:
//
//	queue            filled by            emptied by  bound           when full
//	requests         every changing call  Run         waiting callers callers block
//	Tail of Export   Run, after commit    the mover   tailBytes       the tail fails, the mover begins again
//	fingerprints     Run, after commit    -           CacheEntries    old ones are overwritten
//
// Run takes all requests that wait, up to about 1 MiB, into one transaction of
// the store (group commit), and answers them when that is committed. Each
// request is atomic; a long Add, or a page with very many links, is cut into
// several requests before it reaches Run. Whatever is read with Load, Record,
// Host, Waiting or Outbox is read by the caller's own goroutine from a snapshot.
//
// Every group that changes a partition raises the partition's sequence number
// by one, and its counters change in the same transaction as what they count.
//
// # Seen or new
//
// Most links were seen before. A bounded cache of fingerprints answers first.
// Then one Bloom filter per partition says new or maybe; a maybe is confirmed
// in the store, sorted by key. A filter that is missing, or being rebuilt,
// says maybe. Neither can make a URL disappear: the filter only ever saves a
// look-up, and the cache holds what the store has confirmed.
//
// Filters are rebuilt from the records behind the crawl, so a start reads no
// URLs. At a clean stop they are saved; the file is used once.
//
// # Partitions
//
//	Absent   -> Holder    Found, or Import.Commit
//	Holder   -> Released  Transition, after Freeze
//	Released -> Holder    Transition (the receiver refused) or Import.Commit
//	Released -> Absent    Delete
//	Copy                  a replica's copy; it is not served
//
// A partition's keys begin with its number and a generation. Moving it to
// another node is a physical copy: Export sends the keys of a snapshot and then
// the mutations that follow it, Import writes them under a fresh generation,
// which comes alive with Commit in one write. Generations that are not alive
// are deleted in the background; the list of them is on disk.
//
// # What it does not do
//
// It does not know the ring, the views or the peers: partition numbers come
// with the URLs. It does not judge URLs, schedule hosts or read a clock: times
// arrive in host states and outcomes. It does not replicate.
package frontier
