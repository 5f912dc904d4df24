package membership

import (
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/membership/consensus"
)

// TestNobodyIsAdmittedWhomNobodyCanCall: a node that can call the others, and that nobody
// can call, as with a wrong --advertise, is not admitted until it answers.
func TestNobodyIsAdmittedWhomNobodyCanCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVillage(t, "n1", "n2", "n3")
		n1, n2, n3 := v.houses[0], v.houses[1], v.houses[2]
		n2.strays = true
		for _, h := range v.houses {
			h.start()
		}
		time.Sleep(20 * time.Second)
		n1.members("n2 answers nothing", consensus.Active, "n1", "n3")
		n3.members("n2 answers nothing", consensus.Active, "n1", "n3")
		n2.members("n2 answers nothing", consensus.Joining, "n1", "n3")
		if got := n1.Snapshot().Unanswered; len(got) != 1 || got[0].ID != n2.self.ID || got[0].Name != "n2" || got[0].RPC != n2.o.RPC || time.Since(got[0].Since) < unansweredAfter {
			t.Errorf("n1 says of the nodes that do not answer: %+v", got)
		}
		if got := n2.Snapshot().Unanswered; len(got) != 0 {
			t.Errorf("n2 says of those that answer: %+v", got)
		}
		v.x.set(n2.o.RPC, n2.Membership)
		time.Sleep(10 * time.Second)
		for _, h := range v.houses {
			h.members("n2 answers", consensus.Active, "n1", "n2", "n3")
		}
		if got := n1.Snapshot().Unanswered; len(got) != 0 {
			t.Errorf("n1 still says: %+v", got)
		}
		// A member that can be called no more is shown, too.
		v.x.set(n2.o.RPC, nil)
		time.Sleep(10 * time.Second)
		if got := n1.Snapshot().Unanswered; len(got) > 1 || len(got) == 1 && got[0].Name != "n2" {
			t.Errorf("n1 says of a member that does not answer: %+v", got)
		}
		v.end(v.houses...)
	})
}
