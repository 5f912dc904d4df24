// Package importance keeps the importance of URLs up to date on one node (decision 0211): it folds the
// logs of the held partitions, carries credits from one partition to another, and sums histograms, from
// which every node computes the same ranks.
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
// Credits are sent only when the in-sync replicas of their partition have them: else a promoted replica
// could give their numbers to others. They are answered when the in-sync replicas of the target have
// them, and only then removed. What comes twice is known by its number (cash.Keeper.ApplyCredits). Entries
// for one target are sent in order, and none while an earlier one of its pair is not acknowledged. The only member of a
// cluster has no outbox: a fold writes into the log of the target itself.
//
// # Goroutines and queues
//
// Keeper.Run is one goroutine. A round sends to each node from a goroutine of its own, and waits for all.
// The queues are tables of the frontier: the log, which grows only with finished pages and received
// credits and is folded at the latest after foldAfter (four times as late when a round could not send all), and
// the outbox of credits, of which a round reads sendTurns times sendEntries at the most. They are as durable as the pages.
//
// While importance does not count, the loop looks at the setting once a second and does nothing else; what is
// on the disk stays until it counts again.
package importance
