package search

import (
	"context"
	"errors"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
)

// own gives a node a state of its own of a partition, which the nodes share before.
func (n *testNode) own(p crawl.Partition, change func(*frontier.Meta)) {
	m := *n.store.metas[p]
	change(&m)
	n.store.metas[p] = &m
}

// TestACopyThatIsBehind: a copy lacks what its holder has, which has failed. The answer does not
// say that it is whole.
func TestACopyThatIsBehind(t *testing.T) {
	t.Parallel()
	nodes, dead := threeNodes(t, func(context.Context) error { return errors.New("it is dead") })
	a := nodes["a"]
	a.store.changes[1] = nil
	a.own(1, func(m *frontier.Meta) {
		m.Generation, m.Seq = m.Generation+1, 0
		m.Counters.Texts, m.Counters.TextChanges = 0, 0
	})
	a.rounds(t)
	for _, c := range []struct {
		dead bool
		want string
	}{{false, "h0/ h1/ h2/ 1.00"}, {true, "h0/ h2/ 0.67"}} {
		dead["b"] = c.dead
		if got := a.found(t, "apple"); got != c.want {
			t.Errorf("b is dead: %v: %q, want %q", c.dead, got, c.want)
		}
	}
}

// TestACopyThatIsReplaced: between its statistics and its answer a node gets another copy of a
// partition, and takes the documents of the one before out of its index. The question is asked
// again, and its answer says what is missing until the copy is read.
func TestACopyThatIsReplaced(t *testing.T) {
	t.Parallel()
	nodes, _ := threeNodes(t, nil)
	a, b := nodes["a"], nodes["b"]
	call, asked := a.cluster.call, 0
	a.cluster.call = func(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error) {
		if to == "b" && strings.HasPrefix(string(payload), `{"step":"ask"`) {
			if asked++; asked == 1 {
				b.own(1, func(m *frontier.Meta) { m.Generation++ })
				if err := b.index.RemovePartition(ctx, 1); err != nil {
					t.Error(err)
				}
			}
		}
		return call(ctx, to, payload)
	}
	if got := a.found(t, "apple"); got != "h0/ h2/ 0.67" || asked != 2 {
		t.Errorf("%q, asked %d times", got, asked)
	}
	b.rounds(t)
	if got := a.found(t, "apple"); got != "h0/ h1/ h2/ 1.00" {
		t.Errorf("%q when the copy is read", got)
	}
}
