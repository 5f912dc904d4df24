// Package order chooses the band of a queued URL by a score of what is known of it (decision 0220).
// Without a Policy a URL waits in the band that it was added with.
//
//	admitted ── Policy.Admit ── base, band ── its queue
//	credited ── fold ── Rise ── Find ── Raise ── a better band, a few times at most
//
// The score has two parts. The base is computed when the URL is found: its depth, how well it
// fits the topic, and the age that its site states. It is stored in the queue entry. The other part
// depends on the links to the URL, and is computed when credits are folded (package cash). Both are
// parts of one weighted mean, so the score is their sum.
//
//	policy.go  Policy: the weights, the cuts between bands, and the band of a URL
//	scores.go  Scores: the approximate distribution of scores; the cuts are its quantiles
//	find.go    Find: the queued URLs of a snapshot that move to another band
//
// A Policy is immutable; Scores have their own lock. The package writes nothing.
package order
