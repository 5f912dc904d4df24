package node

import (
	"reflect"
	"testing"

	"crawlnode/crawl"
	"crawlnode/handoff"
)

// TestPartitionReports checks that what handoff tells of a partition arrives at another node.
func TestPartitionReports(t *testing.T) {
	t.Parallel()
	from, urls, why := crawl.NodeID("b"), int64(7), "every copy is away"
	for _, tc := range []struct {
		said handoff.PartStatus
		want crawl.PartitionReport
	}{
		{handoff.PartStatus{State: handoff.Holding}, crawl.PartitionReport{State: crawl.PartitionHeld, Holder: &from, URLs: &urls}},
		{handoff.PartStatus{State: handoff.Freezing}, crawl.PartitionReport{State: crawl.PartitionFrozen, Holder: &from, URLs: &urls}},
		{handoff.PartStatus{State: handoff.Released}, crawl.PartitionReport{State: crawl.PartitionFrozen}},
		{handoff.PartStatus{}, crawl.PartitionReport{State: crawl.PartitionPromoting}},
		{handoff.PartStatus{Away: true, Reason: why}, crawl.PartitionReport{State: crawl.PartitionOffline, Reason: &why}},
	} {
		r := tc.want
		r.State = partitionState(&tc.said)
		r.Partition, r.Epoch, r.InSync = 3, 4, []crawl.NodeID{"a", "b"}
		tc.want.Partition, tc.want.Epoch, tc.want.InSync = r.Partition, r.Epoch, r.InSync
		if got := fromPartitionInfo(from, toPartitionInfo(&r)); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%+v: got %+v, want %+v", tc.said, got, tc.want)
		}
	}
}
