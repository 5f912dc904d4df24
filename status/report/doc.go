// Package report collects the state of one node: its block (which the other members get every
// second), its health, its part of the status document, and its metrics.
//
//	report.go      Reporter, and what it reads
//	block.go       the block: figures of this node
//	picture.go     the input of a status document: this node's block and the others' last ones
//	reasons.go     problems of this node for operators; why it fetches nothing
//	load.go        how busy it is, from which its bottleneck is computed
//	totals.go      counters of this process, and the totals of which speeds are made
//	metrics.go     the Prometheus sample
//
// Package status makes the documents and judges them; it is pure, and this package reads the parts
// for it. Invariant I10: a report reads only memory. It reads no URL and calls no node.
//
// No goroutine of its own: node calls SampleTotals once a second, and the
// caller that wants a status waits for it. Every method may be called from any goroutine.
package report
