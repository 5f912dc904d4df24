package membership

import "testing"

// TestSetKeys takes three nodes from one key to another while they gossip: first all read
// both, then all send with the new one, then the old one is dropped. None is ever missed,
// and who has the old key only, or joins with the new one, is treated so afterwards.
func TestSetKeys(t *testing.T) {
	t.Parallel()
	before, after := []byte("0123456789abcdef"), []byte("fedcba9876543210")
	x := new(exchange)
	nodes := make([]*running, 0, 3)
	for _, name := range []string{"n1", "n2", "n3"} {
		o := x.options(name)
		o.SecretKey = before
		if len(nodes) > 0 {
			o.Join = []string{nodes[0].Self().Gossip}
		}
		nodes = append(nodes, x.run(t, o))
	}
	nodes[0].awaitMembers("n1", "n2", "n3")
	set := func(use []byte, also ...[]byte) {
		for _, n := range nodes {
			if err := n.SetKeys(use, also...); err != nil {
				t.Fatal(err)
			}
		}
	}
	set(before, after)
	set(after, before)
	set(after)
	late, stale := x.options("n4"), x.options("n5")
	late.SecretKey, stale.SecretKey = after, before
	late.Join, stale.Join = []string{nodes[1].Self().Gossip}, []string{nodes[1].Self().Gossip}
	old := x.run(t, stale)
	x.run(t, late)
	if s := nodes[0].awaitMembers("n1", "n2", "n3", "n4"); len(s.View.Members) != 4 {
		t.Errorf("members: %v", s.View.Members)
	}
	if s := old.Snapshot(); s.View != nil {
		t.Errorf("who has the old key is in the view of %v", s.View.Members)
	}
	if err := nodes[0].SetKeys([]byte("short")); err == nil {
		t.Error("a short key is taken")
	}
	if err := x.run(t, x.options("n6")).SetKeys(after); err == nil {
		t.Error("a node without a key gets one")
	}
}
