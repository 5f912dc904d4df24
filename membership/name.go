package membership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// A name belongs to a member until a view drops that member. A node with another id
// that has the same name is not admitted before. It asks the member: if that answers,
// the two cannot both stay, and the second ends. If it does not, it is dead perhaps,
// and the node waits until a view has dropped it: a node whose data directory was
// deleted comes back under its name that way.

// ErrNameTaken: another member of the cluster has this node's name, and lives.
var ErrNameTaken = errors.New("membership: the node name is taken")

// holderEvery is how often the member with this node's name is asked whether it lives.
const holderEvery = time.Second

// nameAnswer is what came of asking.
type nameAnswer struct {
	holder Member
	lives  bool
}

// nameHolder is the member that keeps this node from being admitted.
func (l *loop) nameHolder() (Member, bool) {
	v := l.m.core.View()
	if v == nil || l.status != consensus.Joining || listed(v, l.m.self.ID) {
		return Member{}, false
	}
	for _, m := range v.Members {
		if m.Name == l.m.self.Name {
			return m, true
		}
	}
	return Member{}, false
}

// askForName asks the member that has this node's name whether it lives.
func (l *loop) askForName(ctx context.Context) {
	holder, taken := l.nameHolder()
	if !taken || time.Since(l.askedName) < holderEvery {
		return
	}
	l.askedName = time.Now().Add(callTimeout) // one question at a time
	l.calls.Go(func() {
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		_, lives := l.m.answers(limited, holder)
		select {
		case l.nameAsked <- nameAnswer{holder, lives}:
		case <-ctx.Done():
		}
	})
}

// nameTaken ends a node whose name another one has that lives.
func (l *loop) nameTaken(a nameAnswer) error {
	l.askedName = time.Now()
	holder, taken := l.nameHolder()
	if !taken || holder.ID != a.holder.ID {
		return nil
	}
	if a.lives {
		return fmt.Errorf("%w: %q is node %s of cluster %q, which answers at %s; choose another --name, or remove that node first (crawlnode nodes drain %s)",
			ErrNameTaken, holder.Name, holder.ID, l.m.core.View().Cluster.Name, holder.RPC, holder.ID)
	}
	if l.waitsFor != holder.ID {
		l.waitsFor = holder.ID
		l.m.o.Logger.Warn("this node's name belongs to a member that does not answer; it is admitted when the others have dropped that one: if they are too few for that and it is gone for good, forget it (crawlnode nodes forget)",
			"node", holder.Name, "id", holder.ID, "at", holder.RPC)
	}
	return nil
}

// namesTaken reports the nodes in sight that cannot be admitted because of
// their names.
func (l *loop) namesTaken() {
	v := l.m.core.View()
	if v == nil {
		return
	}
	for id, n := range l.nodes {
		if !n.alive || listed(v, id) {
			continue
		}
		if v.Bars(id) {
			l.tell(refusal{id, n.Name, "it was forgotten; it must join with an empty data directory"})
		}
		for _, m := range v.Members {
			if m.Name == n.Name {
				l.tell(refusal{id, n.Name, fmt.Sprintf("its name is taken by node %s", m.ID)})
			}
		}
	}
}

func listed(v *View, id crawl.NodeID) bool {
	_, ok := v.Member(id)
	return ok
}
