package inspect

import (
	"reflect"
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// saying is the answer of a member with these reports.
func saying(from crawl.NodeID, view crawl.Epoch, parts ...crawl.PartitionReport) ringAnswer {
	a := ringAnswer{from: from, view: view}
	for _, r := range parts {
		if urls := int64(7); r.Holder != nil {
			r.Holder, r.URLs = &from, &urls
		}
		a.parts = append(a.parts, r)
	}
	return a
}

func TestMergeRing(t *testing.T) {
	t.Parallel()
	table, err := ring.Build(ring.Equals([]crawl.NodeID{"a", "b", "c"}), 512, 1)
	if err != nil {
		t.Fatal(err)
	}
	var p crawl.Partition // a's
	for table.Owner(p) != "a" {
		p++
	}
	set := []crawl.NodeID{"a", "b"}
	reason := "every copy is away: b"
	said := func(epoch crawl.Epoch, state string) crawl.PartitionReport {
		return crawl.PartitionReport{Partition: p, State: state, Epoch: epoch, InSync: set}
	}
	held := func(epoch crawl.Epoch, state string) crawl.PartitionReport {
		r := said(epoch, state)
		r.Holder = new(crawl.NodeID)
		return r
	}
	awaited, offline := said(0, crawl.PartitionPromoting), said(0, crawl.PartitionOffline)
	offline.Reason = &reason
	silent := ringAnswer{from: "c", silent: true}
	for name, c := range map[string]struct {
		answers []ringAnswer
		holder  crawl.NodeID
		epoch   crawl.Epoch
		state   string
		reason  string
	}{
		"nobody says anything": {nil, "", 0, crawl.PartitionUnknown, ""},
		"held by its owner":    {[]ringAnswer{saying("a", 5, held(4, crawl.PartitionHeld))}, "a", 4, crawl.PartitionHeld, ""},
		"still held by another": {[]ringAnswer{saying("a", 5, awaited), saying("b", 5, held(4, crawl.PartitionHeld))},
			"b", 4, crawl.PartitionMoving, ""},
		"frozen there": {[]ringAnswer{saying("a", 5, awaited), saying("b", 5, held(4, crawl.PartitionFrozen))},
			"b", 4, crawl.PartitionFrozen, ""},
		"the token is on its way": {[]ringAnswer{saying("a", 5, awaited), saying("b", 5, said(4, crawl.PartitionFrozen))},
			"", 4, crawl.PartitionFrozen, ""},
		"the token has come, and its sender does not know": {[]ringAnswer{saying("a", 5, held(5, crawl.PartitionHeld)), saying("b", 5, said(4, crawl.PartitionFrozen))},
			"a", 5, crawl.PartitionHeld, ""},
		"a holder that has not heard of its end": {[]ringAnswer{saying("a", 5, held(5, crawl.PartitionHeld)), saying("b", 4, held(4, crawl.PartitionHeld))},
			"a", 5, crawl.PartitionHeld, ""},
		"to be promoted":                        {[]ringAnswer{saying("a", 5, awaited), saying("b", 5)}, "", 0, crawl.PartitionPromoting, ""},
		"to be promoted, if nobody else has it": {[]ringAnswer{saying("a", 5, awaited), saying("b", 5), silent}, "", 0, crawl.PartitionUnknown, ""},
		"offline":                               {[]ringAnswer{saying("a", 5, offline)}, "", 0, crawl.PartitionOffline, reason},
		"offline, and one is silent":            {[]ringAnswer{saying("a", 5, offline), silent}, "", 0, crawl.PartitionOffline, reason},
		"offline in the owner's older view":     {[]ringAnswer{saying("a", 4, offline)}, "", 0, crawl.PartitionUnknown, ""},
		"offline, by another than the owner":    {[]ringAnswer{saying("b", 5, offline)}, "", 0, crawl.PartitionUnknown, ""},
		"a partition that there is not":         {[]ringAnswer{saying("b", 5, crawl.PartitionReport{Partition: 600, Epoch: 2})}, "", 0, crawl.PartitionUnknown, ""},
	} {
		for range 2 { // in either order of answers
			r := emptyRing(5, table, 512)
			mergeRing(r, c.answers)
			slices.Reverse(c.answers)
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
