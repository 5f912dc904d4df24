// Package report gathers what one node says of itself: its block (which the other members get every
// second), its health, its part of the status document, and its metrics.
//
//	report.go      Reporter, and what it reads
//	block.go       the block: figures of this node
//	picture.go     what a status document is made of: the own block and the others' last ones
//	reasons.go     what an operator should look at on this node; why it fetches nothing
//	load.go        how busy it is: from what its bottleneck is found
//	totals.go      counters of this process, and the totals of which speeds are made
//	metrics.go     the Prometheus sample
//
// Package status makes the documents and judges them; it is pure, and this package is the reading
// of the parts that it needs for that. Invariant I10: a report reads memory only. It reads no URL and
// calls no node.
//
// No goroutine of its own: node calls SampleTotals once a second, and the
// caller that wants a status waits for it. Every method may be called from any goroutine.
package report
