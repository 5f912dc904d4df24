// Package cash updates the OPIC cash of a partition's URLs (package importance): it folds the log
// of fetched pages and received credits into the accounts of the URLs.
//
//	log ── readLog ── plan ──┬─ blocks of accounts, histogram, sums
//	                         ├─ posts: credits for other partitions
//	                         └─ again: credits that go back into the log
//
// Completing a page appends one entry, the page with its links, to the log, in the page's own
// transaction. Everything else happens here, for many pages at a time, on a snapshot and in the
// caller's goroutine. Only a fold changes accounts and links. So the writer puts the whole plan
// into one transaction, with the deletion of the credits that were folded and the new end of the
// folded part of the log: a crash repeats nothing and loses nothing. One goroutine at a time may
// plan for a partition.
//
// A page's entry stays in the log: its links are read there when the page settles again, or when
// its links change. The account has the number of the entry (decision 0211).
//
// # Order of a fold
//
//  1. The visits, in the order of URLs. A page passes on all the cash that it has by then,
//     including credits in the log; at a revisit with other links, the cash of the old links is
//     taken back. Of several visits of one page only the last counts.
//  2. All credits of the partition's own URLs: of these visits, and of the log.
//  3. Pages that are due settle, as many as the budget admits. Their credits to own URLs go into
//     the log, for the next fold.
//
// Limits bounds a fold: entries and bytes of the log, bytes of changed blocks. Visits beyond them
// stay in the log; credits beyond them go back into it.
//
// Credits of one site to one URL of another partition are summed before they are sent. In a cluster
// of one node they go into the log of the other partition in the fold's own transaction, and
// several folds share one transaction (decision 0211).
//
// # Scores
//
// While queues are ordered by scores (package order), a fold also records the sites that link to
// each host, and returns the URLs whose links now count for more (Folded.Rises). Each account
// remembers the level at which it was reported last, so a URL is reported a few times at most. A
// crash loses reports that were not acted upon; their URLs keep their bands.
//
// All writes go through the frontier's writer (package commit). The package knows no queue.
package cash
