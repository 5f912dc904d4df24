package status

import "crawlnode/crawl"

// fillIndex fills the block of the index. The documents are those of the partitions that running nodes hold, so each
// counts once; bytes and what waits are of the copies too.
func fillIndex(s *crawl.Status, p *Picture) {
	x := &s.Index
	var c crawl.Counters // its histogram has the buckets of the questions
	for i := range p.Nodes {
		n := &p.Nodes[i]
		b := n.Block.Index
		if b == nil || !n.Counts || !n.live() {
			continue
		}
		x.Documents += b.Documents
		x.Bytes += b.Bytes
		x.Waiting += b.Waiting
		x.BehindSeconds = max(x.BehindSeconds, b.BehindSeconds)
		x.QueriesTotal += b.Queries
		for k := range min(len(b.Buckets), len(c.Latency)) {
			c.Latency[k] += b.Buckets[k]
		}
	}
	x.Seconds = c.LatencyQuantiles()
}
