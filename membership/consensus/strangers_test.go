package consensus

import (
	"reflect"
	"testing"

	"crawlnode/crawl"
)

// The successor of a view is decided by its members and nobody else: neither a node that
// the view does not list, nor one that does not know better than to ask it, moves anything.
func TestStrangersDoNotVote(t *testing.T) {
	t.Parallel()
	v := leaseView(3, 1, "abc")
	successor := leaseView(4, 1, "abz")
	for _, tc := range []struct{ self, from crawl.NodeID }{{"a", "z"}, {"z", "a"}} {
		for _, m := range []Message{
			{Kind: KindPrepare, Ballot: Ballot{Round: 9, Node: tc.from}},
			{Kind: KindAccept, Ballot: Ballot{Round: 9, Node: tc.from}, View: successor},
			{Kind: KindPromise, Ballot: Ballot{Round: 9, Node: tc.self}},
			{Kind: KindAccepted, Ballot: Ballot{Round: 9, Node: tc.self}},
		} {
			before := State{View: v}
			c := New(Identity{ID: tc.self, Boot: 1, Cluster: testCluster}, before)
			m.Cluster, m.From, m.Boot, m.To, m.Number = testCluster.ID, tc.from, 1, tc.self, v.Number
			if actions := c.Step(Received{m}); len(actions) > 0 {
				t.Errorf("%s does %v about kind %v of %s", tc.self, actions, m.Kind, m.From)
			}
			if !reflect.DeepEqual(c.state, before) {
				t.Errorf("%s keeps what %s has said: %+v", tc.self, m.From, c.state)
			}
		}
	}
}
