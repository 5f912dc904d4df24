package consensus

import (
	"testing"

	"crawlnode/crawl"
)

// A boot that speaks after a higher one of its id lives: the copy proves nothing,
// is not listened to, and gives no sign of life.
func TestHigherBootIsNoProofBesideALivingOne(t *testing.T) {
	t.Parallel()
	view := &View{Number: 1, Cluster: testCluster, Members: []Member{
		{ID: "a", Name: "na", Boot: 1, Since: 1}, {ID: "b", Name: "nb", Boot: 1, Since: 1}, {ID: "c", Name: "nc", Boot: 1, Since: 1},
	}}
	c := New(Identity{ID: "a", Boot: 1, Cluster: testCluster}, State{View: view})
	b := view.Members[1]
	speak := func(boot crawl.Boot) []Action {
		return c.Step(Received{Message{Kind: KindHello, Cluster: testCluster.ID, From: "b", Boot: boot, To: "a", Number: 1}})
	}
	speak(1)
	speak(2)
	if !c.IsDead(b) {
		t.Fatal("a higher boot is no proof: restarts would have to wait")
	}
	speak(1)
	if c.IsDead(b) {
		t.Error("b/1 speaks and is held for dead")
	}
	if out := speak(2); len(out) > 0 || c.IsDead(b) {
		t.Errorf("the copy is listened to: %v", out)
	}
	for range silentTicks - 1 {
		c.Step(Tick{})
		c.Step(Heard{"b", 2})
	}
	c.Step(Tick{})
	if got := c.verdict(b); got != dropSilent {
		t.Errorf("b/1 has been silent for 5 s beside its copy: verdict %d, want %d, with the fence that goes with it", got, dropSilent)
	}
	// Who seemed to live was a late message of a process that is gone, perhaps.
	if speak(2); !c.Reached("b") {
		t.Error("the higher boot is never listened to again")
	}
	if c.verdict(b) == dropDead {
		t.Error("the higher boot has become proof")
	}
}
