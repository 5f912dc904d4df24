// Package cash computes what becomes of the cash of a partition (package importance) when the log of
// its fetched pages and of received credits is folded into its accounts.
//
//	log (k g) ── Read ── Plan ──┬─ blocks of accounts, histogram, sums
//	                            ├─ posts: credits for other partitions
//	                            └─ again: what goes back into the log
//
// A page that is done only appends itself, with its links, to the log: one key, in its own
// transaction. All else happens here, for many pages at a time, on a snapshot and in the caller's
// goroutine. Nothing but a fold changes accounts and links, so the writer only puts the plan into one
// transaction, together with the deletion of the log entries that it is made of, and how far the log is folded: a crash repeats
// nothing and loses nothing. One goroutine at a time may plan for a partition.
//
// The entry of a page stays in the log: its links are read there when the page settles, or gets others. The account has its
// number (decision 0211).
//
// # Order of a fold
//
//  1. The visits, in the order of URLs. A page passes on all that it has by then, with what the log
//     has for it; at a revisit with other links the old ones lose what they got. Visits of one page
//     count once, the last.
//  2. All credits of the partition's own URLs: of these visits, and of the log.
//  3. Pages that are due settle, as many as the budget admits. Their credits to own URLs go into the
//     log, for the next fold.
//
// A fold is bounded by Limits: entries and bytes of the log, bytes of changed blocks. Visits beyond
// stay in the log; credits beyond go back into it.
//
// Credits of one site to one URL of another partition are summed before they are sent. Where this node is the only one, they go into the
// log of the other partition in the fold's own transaction (decision 0211), and several folds into one.
//
// # Scores
//
// While queues are ordered by scores (package order), a fold also keeps the sites that link to each host, and says of which
// URLs links say more than before (Folded.Rises). Each account remembers how high it stood when that was said last, so
// a URL is named a few times at most. What is said is lost in a crash, and then no URL moves because of it.
//
// The package writes nothing and knows no queue.
package cash
