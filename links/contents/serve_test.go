package contents

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/peer"
)

func TestServeRefuses(t *testing.T) {
	cluster(t, []crawl.NodeID{"n1"}, func(t *testing.T, ms []*member) {
		d, p := digestOf("x")
		for name, b := range map[string]*peer.ContentBatch{
			"digest":    {Questions: []*peer.ContentQuestion{{Digest: d[:19], Partition: p}}},
			"partition": {Questions: []*peer.ContentQuestion{{Digest: d, Partition: p + 1}}},
			"long URL":  {Questions: []*peer.ContentQuestion{{Url: strings.Repeat("x", 3000), Simhash: 1}}},
			"no digest": {Notes: []*peer.ContentNote{{Partition: p}}},
			"record":    {Notes: []*peer.ContentNote{{Digest: d, Partition: p, Record: d}}},
			"note's URL": {
				Notes: []*peer.ContentNote{{Digest: d, Partition: p, Url: strings.Repeat("x", 3000)}},
			},
			"questions": {Questions: make([]*peer.ContentQuestion, maxItems+1)},
			"notes":     {Notes: make([]*peer.ContentNote, maxItems+1)},
		} {
			if r, err := ms[0].Serve(t.Context(), "x", b); status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s: answered %v, %v", name, r, err)
			}
		}
		if got := ms[0].payload("x", false).Verdict; got != isNew {
			t.Errorf("after all that: %s", got)
		}
	})
}
