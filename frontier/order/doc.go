// Package order says in which band a queued URL waits, by a score of what is known of it at the time
// (decision 0220). Without a Policy the band is the one that the finder of the URL asked for.
//
//	admitted ── Policy.Admit ── base, band ── its queue
//	credited ── fold ── Rise ── Find ── Raise ── a better band, a few times at most
//
// The score has two parts. The base is what is known when the URL is found: how deep it is, how well it
// fits the topic, what its site says of its age. It stands in the queue entry. The other part is what links
// say, and is made when credits are folded (package cash). Both are parts of one weighted mean, so they are
// added.
//
//	policy.go  Policy: weights, cuts, and what follows from them
//	scores.go  Scores: what the scores of found URLs are, about; the cuts are their quantiles
//	find.go    Find: which queued URLs of a snapshot are to be moved
//
// A Policy never changes; Scores have a lock. The package writes nothing.
package order
