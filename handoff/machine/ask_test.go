package machine

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// TestAskRound: with more partitions than one round asks about, each comes in turn.
func TestAskRound(t *testing.T) {
	const partitions = 3*MaxAsked + 100
	m := New("a", partitions, 2, Limits{Out: 2})
	table, err := ring.Build(ring.Equals([]crawl.NodeID{"a"}), partitions, 1)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[crawl.Partition]int{}
	note := func(actions []Action) {
		for _, a := range actions {
			if q, ok := a.(Ask); ok {
				if len(q.Parts) > MaxAsked {
					t.Fatalf("%d partitions in one round", len(q.Parts))
				}
				for _, p := range q.Parts {
					asked[p]++
				}
			}
		}
	}
	note(m.Step(ViewInstalled{View: 1, Table: table, Members: []crawl.NodeID{"a"}, Listed: true}))
	for range 7 {
		m.Step(AskOver{Attempt: m.ask.attempt})
		for range askAgain {
			note(m.Step(Retry{}))
		}
	}
	for p := range crawl.Partition(partitions) {
		if asked[p] < 1 || asked[p] > 3 {
			t.Fatalf("partition %d was asked about %d times in 8 rounds", p, asked[p])
		}
	}
}
