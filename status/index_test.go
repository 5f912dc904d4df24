package status

import (
	"testing"

	"crawlnode/crawl"
)

// TestIndexOfTheCluster sums the indexes of the running nodes.
func TestIndexOfTheCluster(t *testing.T) {
	t.Parallel()
	p := clusterOf(memberOf("a", 10), memberOf("b", 10), memberOf("c", 10))
	buckets := make([]int64, crawl.NumLatencyBuckets)
	buckets[4] = 2
	p.Nodes[0].Block.Index = &crawl.IndexBlock{Documents: 3, Bytes: 10, Waiting: 1, BehindSeconds: 2, Queries: 2, Buckets: buckets}
	p.Nodes[1].Block.Index = &crawl.IndexBlock{Documents: 4, Bytes: 20, BehindSeconds: 0.5, Buckets: buckets[:1]}
	x := Merge(p).Index
	if x.Documents != 7 || x.Bytes != 30 || x.Waiting != 1 || x.BehindSeconds != 2 || x.QueriesTotal != 2 || x.Seconds.P50 == nil || *x.Seconds.P50 != 0.01 {
		t.Errorf("%+v", x)
	}
}
