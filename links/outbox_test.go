package links

import (
	"fmt"
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
)

// TestTaken checks that a link stays in its outbox until its owner has answered for it.
func TestTaken(t *testing.T) {
	a, b := linkTo(t, "http://a.test/"), linkTo(t, "http://b.test/")
	entries := []frontier.OutboxEntry{{Routed: a}, {Routed: b}}
	for _, tc := range []struct {
		left []crawl.Routed
		want int
	}{{nil, 2}, {[]crawl.Routed{a}, 1}, {[]crawl.Routed{a, b}, 0}} {
		done := taken(entries, tc.left)
		if len(done) != tc.want {
			t.Errorf("%d of 2 were left: %d are taken", len(tc.left), len(done))
		}
		if len(done) == 1 && done[0].Routed.Target.URL != b.Target.URL {
			t.Error("the wrong one is taken")
		}
	}
}

// TestSenderJudgesAgain checks which links leave an outbox: those that were acknowledged, and those
// out of scope once this node has every entry that could admit them.
func TestSenderJudgesAgain(t *testing.T) {
	t.Parallel()
	in, late, out := linkTo(t, "http://in.test/"), linkTo(t, "http://late.test/"), linkTo(t,
		"http://out.test/")
	for _, behind := range []bool{false, true} {
		t.Run(fmt.Sprint("behind=", behind), func(t *testing.T) {
			a := &around{
				held: map[crawl.Partition]bool{in.Partition: true, late.Partition: true},
				late: map[crawl.Partition]bool{late.Partition: true},
			}
			for i, l := range []crawl.Routed{in, late, out} {
				a.waiting = append(a.waiting, frontier.OutboxEntry{
					From:   7,
					Key:    frontier.OutboxKey{Target: l.Partition, Seq: uint64(i + 1)},
					Routed: l,
				})
			}
			a.scope.behind = behind
			sent, left, err := NewSender(a.router()).sweep(t.Context())
			acked, refused := []string{"in.test", "out.test"}, int64(1)
			if behind {
				acked, refused = acked[:1], 0
			}
			if err != nil || sent != len(acked) || left != 3-len(acked) ||
				!slices.Equal(hosts(a.acked), acked) {
				t.Errorf("%d sent, %d left, %v; acknowledged %v, want %v", sent, left, err, hosts(a.acked),
					acked)
			}
			if got := a.counts[7][crawl.SkipOutOfScope]; got != refused {
				t.Errorf("%d are counted as refused, want %d", got, refused)
			}
		})
	}
}
