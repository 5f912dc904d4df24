package transfer

import (
	"reflect"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/frontiertest"
	"crawlnode/handoff"
	"crawlnode/web/urlnorm"
)

// handoff's report about a partition arrives at another member.
func TestReports(t *testing.T) {
	t.Parallel()
	front := frontiertest.Holding(t, 3, 0)
	u, err := urlnorm.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := front.Add(t.Context(), []crawl.Routed{{Target: crawl.Target{URL: u}}}); err != nil {
		t.Fatal(err)
	}
	from, urls, why := crawl.NodeID("b"), int64(1), "every copy is away"
	for _, tc := range []struct {
		told handoff.PartStatus
		want crawl.PartitionReport
	}{
		{handoff.PartStatus{State: handoff.Holding}, crawl.PartitionReport{State: crawl.PartitionHeld, Holder: &from, URLs: &urls}},
		{handoff.PartStatus{State: handoff.Freezing}, crawl.PartitionReport{State: crawl.PartitionFrozen, Holder: &from, URLs: &urls}},
		{handoff.PartStatus{State: handoff.Released}, crawl.PartitionReport{State: crawl.PartitionFrozen}},
		{handoff.PartStatus{}, crawl.PartitionReport{State: crawl.PartitionPromoting}},
		{handoff.PartStatus{Away: true, Reason: why}, crawl.PartitionReport{State: crawl.PartitionOffline, Reason: &why}},
	} {
		tc.told.Epoch, tc.told.InSync = 4, []crawl.NodeID{"a", "b"}
		tc.want.Epoch, tc.want.InSync = 4, tc.told.InSync
		view, got := FromReply(from, ToReply(5, ReportsOf(from, []handoff.PartStatus{tc.told}, front)))
		if view != 5 || !reflect.DeepEqual(got, []crawl.PartitionReport{tc.want}) {
			t.Errorf("%+v: got %+v in view %d, want %+v", tc.told, got, view, tc.want)
		}
	}
}
