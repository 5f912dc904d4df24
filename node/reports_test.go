package node

import (
	"reflect"
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/handoff"
	"crawlnode/ring"
)

// saying makes the word of a member from what handoff tells there.
func saying(from crawl.NodeID, view crawl.Epoch, list ...handoff.PartStatus) ringWord {
	w := ringWord{from: from, view: view}
	for i := range list {
		x := &list[i]
		r := crawl.PartitionReport{Partition: x.P, Epoch: x.Epoch, State: partitionState(x), InSync: x.InSync}
		if x.Reason != "" {
			r.Reason = &x.Reason
		}
		if urls := int64(7); x.State == handoff.Holding || x.State == handoff.Freezing {
			r.Holder, r.URLs = &from, &urls
		}
		w.parts = append(w.parts, fromPartitionInfo(from, toPartitionInfo(&r)))
	}
	return w
}

func TestMergeRing(t *testing.T) {
	t.Parallel()
	table, err := ring.Build([]crawl.NodeID{"a", "b", "c"}, 512, 1)
	if err != nil {
		t.Fatal(err)
	}
	var p crawl.Partition // a's
	for table.Owner(p) != "a" {
		p++
	}
	set := []crawl.NodeID{"a", "b"}
	held := func(epoch crawl.Epoch, s handoff.State) handoff.PartStatus {
		return handoff.PartStatus{P: p, State: s, Epoch: epoch, InSync: set}
	}
	awaited := handoff.PartStatus{P: p, InSync: set}
	offline := handoff.PartStatus{P: p, InSync: set, Away: true, Reason: "every copy is away: b"}
	silent := ringWord{from: "c", silent: true}
	for name, c := range map[string]struct {
		words  []ringWord
		holder crawl.NodeID
		epoch  crawl.Epoch
		state  string
		reason string
	}{
		"nobody says anything": {nil, "", 0, crawl.PartitionUnknown, ""},
		"held by its owner":    {[]ringWord{saying("a", 5, held(4, handoff.Holding))}, "a", 4, crawl.PartitionHeld, ""},
		"still held by another": {[]ringWord{saying("a", 5, awaited), saying("b", 5, held(4, handoff.Holding))},
			"b", 4, crawl.PartitionMoving, ""},
		"frozen there": {[]ringWord{saying("a", 5, awaited), saying("b", 5, held(4, handoff.Freezing))},
			"b", 4, crawl.PartitionFrozen, ""},
		"the token is on its way": {[]ringWord{saying("a", 5, awaited), saying("b", 5, held(4, handoff.Released))},
			"", 4, crawl.PartitionFrozen, ""},
		"the token has come, and its sender does not know": {[]ringWord{saying("a", 5, held(5, handoff.Holding)), saying("b", 5, held(4, handoff.Released))},
			"a", 5, crawl.PartitionHeld, ""},
		"a holder that has not heard of its end": {[]ringWord{saying("a", 5, held(5, handoff.Holding)), saying("b", 4, held(4, handoff.Holding))},
			"a", 5, crawl.PartitionHeld, ""},
		"to be promoted":                        {[]ringWord{saying("a", 5, awaited), saying("b", 5)}, "", 0, crawl.PartitionPromoting, ""},
		"to be promoted, if nobody else has it": {[]ringWord{saying("a", 5, awaited), saying("b", 5), silent}, "", 0, crawl.PartitionUnknown, ""},
		"offline":                               {[]ringWord{saying("a", 5, offline)}, "", 0, crawl.PartitionOffline, offline.Reason},
		"offline, and one is silent":            {[]ringWord{saying("a", 5, offline), silent}, "", 0, crawl.PartitionOffline, offline.Reason},
		"offline in the owner's older view":     {[]ringWord{saying("a", 4, offline)}, "", 0, crawl.PartitionUnknown, ""},
		"offline, says who is not the owner":    {[]ringWord{saying("b", 5, offline)}, "", 0, crawl.PartitionUnknown, ""},
		"a partition that there is not":         {[]ringWord{saying("b", 5, handoff.PartStatus{P: 600, Epoch: 2})}, "", 0, crawl.PartitionUnknown, ""},
	} {
		for range 2 { // in whatever order they answer
			r := emptyRing(5, table, 512)
			mergeRing(r, c.words)
			slices.Reverse(c.words)
			got := r.Partitions[p]
			want := crawl.PartitionReport{Partition: p, Owner: "a", Replicas: table.Replicas(p), Epoch: c.epoch, State: c.state}
			if c.holder != "" {
				urls := int64(7)
				want.Holder, want.URLs = &c.holder, &urls
			}
			if c.reason != "" {
				want.Reason = &c.reason
			}
			if c.state != crawl.PartitionUnknown {
				want.InSync = set
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
		}
	}
}
