package membership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/membership/gossip"
)

// A name belongs to a member until a view drops that member. Until then a node with the
// same name and another id is not admitted. It asks the member: if the member answers,
// the node ends, because the name is taken. If the member does not answer, it may be
// dead, and the node waits until a view drops it. So a node whose data directory was
// deleted can return under its name.

// ErrNameTaken: another member of the cluster has this node's name, and answers.
var ErrNameTaken = errors.New("membership: the node name is taken")

// holderEvery is how often the member with this node's name is asked whether it runs.
const holderEvery = time.Second

// nameAnswer says whether the member with this node's name answers.
type nameAnswer struct {
	holder  Member
	answers bool
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

// askForName asks the member that has this node's name whether it runs.
func (l *loop) askForName(ctx context.Context) {
	holder, taken := l.nameHolder()
	if !taken || time.Since(l.askedName) < holderEvery {
		return
	}
	l.askedName = time.Now().Add(callTimeout) // one question at a time
	l.calls.Go(func() {
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		_, answers := l.m.answers(limited, holder)
		select {
		case l.nameAsked <- nameAnswer{holder, answers}:
		case <-ctx.Done():
		}
	})
}

// onNameAnswer ends this node if its name belongs to a member that answers.
func (l *loop) onNameAnswer(a nameAnswer) error {
	l.askedName = time.Now()
	holder, taken := l.nameHolder()
	if !taken || holder.ID != a.holder.ID {
		return nil
	}
	if a.answers {
		return fmt.Errorf("%w: %q is node %s of cluster %q, which answers at %s; choose another --name, or remove that node first (crawlnode nodes drain %s)",
			ErrNameTaken, holder.Name, holder.ID, l.m.core.View().Cluster.Name, holder.RPC, holder.ID)
	}
	if l.waitsFor != holder.ID {
		l.waitsFor = holder.ID
		l.m.o.Logger.Warn("this node's name belongs to a member that does not answer; this node is admitted after a view has dropped that member; if it is gone for good and too few members are left to drop it, forget it (crawlnode nodes forget)",
			"node", holder.Name, "id", holder.ID, "at", holder.RPC)
	}
	return nil
}

// refuseNames reports the living nodes that cannot be admitted because they were
// forgotten or because of their names.
func (l *loop) refuseNames() {
	v := l.m.core.View()
	if v == nil {
		return
	}
	for id, n := range l.nodes {
		if !n.alive || listed(v, id) {
			continue
		}
		if v.Bars(id) {
			l.reportRefusal(gossip.Refusal{ID: id, Name: n.Name,
				Reason: "it was forgotten; it must join with an empty data directory"})
		}
		for _, m := range v.Members {
			if m.Name == n.Name {
				l.reportRefusal(gossip.Refusal{ID: id, Name: n.Name,
					Reason: fmt.Sprintf("its name is taken by node %s", m.ID)})
			}
		}
	}
}

func listed(v *View, id crawl.NodeID) bool {
	if v == nil {
		return false
	}
	_, ok := v.Member(id)
	return ok
}
