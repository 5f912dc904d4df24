// Package importance keeps the importance of URLs up to date on one node (decision 0211): it folds
// the logs of the held partitions, sends credits from one partition to another, and sums
// histograms, from which every node computes the same ranks.
//
//	page done ── log ── fold ──┬─ accounts ── queued URLs move to better bands
//	                           └─ outbox of credits ── send ── Receiver ── log of the target
//
//	options.go   what the package needs of others; whether importance counts
//	keeper.go    Keeper: its loop, and which partitions are folded
//	send.go      credits to other partitions, here and on other nodes
//	receive.go   credits from other nodes
//	ranks.go     histograms, and the rank of a URL
//	order.go     by what queued URLs are ordered
//	cites.go     what a finished page passes on
//
// # Exactly once
//
// Credits are sent only when the in-sync replicas of their partition have them: otherwise a
// promoted replica could give their numbers to other credits. The target acknowledges them when its
// in-sync replicas have them, and only then they are deleted. Repeats are recognised by their
// number (cash.Accounts.ApplyCredits). Entries from one partition to another are sent in order, and
// none while an earlier one is not acknowledged. In a cluster of one node there is no outbox: a
// fold writes into the log of the target.
//
// # Goroutines and queues
//
// Keeper.Run is one goroutine. A round sends to each node from a goroutine of its own, and waits
// for all. The queues are tables of the frontier: the log, which grows only with finished pages and
// received credits and is folded at the latest after foldAfter (four times as late when a round
// could not send everything), and the outbox of credits, of which a round reads at most sendTurns
// times sendEntries. They are as durable as the pages.
//
// While importance is off, the loop checks the setting once a second and does nothing else; the
// data on disk is kept until importance is on again.
package importance
