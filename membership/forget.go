package membership

import (
	"context"
	"errors"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// With a forget request an operator asserts that a node is gone for good. Its id leaves
// the electorate at once, the next view drops and bars it, and no node takes over before
// its lease has certainly run out. If the assertion is false, two halves may decide
// different views: that cannot be repaired.

// Errors of Forget and Run about forgetting.
var (
	// ErrForgotten: this node's id was forgotten by its cluster. It can never return
	// under that id.
	ErrForgotten = errors.New("membership: this node was forgotten by its cluster")
	// ErrAnswers: the node to forget still runs.
	ErrAnswers = errors.New("membership: that node answers")
	// ErrUnknown: no such node was ever a member, as far as this node knows.
	ErrUnknown = errors.New("membership: no such node")
	// ErrForget: the node cannot be forgotten, or not here.
	ErrForget = errors.New("membership: the node cannot be forgotten")
)

// forgetPatience is how long Forget waits for an answer of the node. A node that is gone refuses the
// connection at once. One that lives on a busy machine may need seconds, and forgetting it could not
// be undone.
const forgetPatience = 5 * callTimeout

// forgetting is a request of Forget that waits for the loop.
type forgetting struct {
	id    crawl.NodeID
	check bool // only report whether it can be forgotten, and where it is
	reply chan forgettable
}

// forgettable is the loop's answer.
type forgettable struct {
	at  Member // the zero Member when no address is known
	err error
}

// Forget removes a node, a member now or formerly, that is gone for good. When it
// returns, the request is durable on this node and on its way to the others; the next
// view drops and bars the node.
//
// Errors: ErrUnknown, ErrAnswers (drain it instead), ErrForget (this node
// itself, too many, or this node is no member), ErrStopped, ctx's error.
func (m *Membership) Forget(ctx context.Context, id crawl.NodeID) error {
	found, err := m.askForget(ctx, forgetting{id: id, check: true})
	if err != nil {
		return err
	}
	if found.at.RPC != "" {
		limited, cancel := context.WithTimeout(ctx, forgetPatience)
		_, answers := m.answers(limited, found.at)
		cancel()
		if answers {
			return fmt.Errorf("%w: %s (%s) answers at %s; drain it instead, or stop it first", ErrAnswers,
				id, found.at.Name, found.at.RPC)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_, err = m.askForget(ctx, forgetting{id: id})
	return err
}

// answers reports whether exactly that node answers a greeting, and which boot of it.
// An answer of this process itself does not count.
func (m *Membership) answers(ctx context.Context, to Member) (boot crawl.Boot, ok bool) {
	hello := consensus.Message{Kind: consensus.KindHello, From: m.self.ID, Boot: m.self.Boot,
		To: to.ID}
	if v := m.View(); v != nil {
		hello.Cluster, hello.Number = v.Cluster.ID, v.Number
	}
	payload, err := m.o.Caller.Call(ctx, to, consensus.Encode([]consensus.Message{hello}))
	if err != nil {
		return 0, false
	}
	messages, err := consensus.Decode(payload)
	if err != nil {
		return 0, false
	}
	for _, reply := range messages {
		if reply.From == to.ID && reply.Mark != m.gossip.Mark() {
			return reply.Boot, true
		}
	}
	return 0, false
}

func (m *Membership) askForget(ctx context.Context, f forgetting) (forgettable, error) {
	f.reply = make(chan forgettable, 1)
	select {
	case m.forgets <- f:
	case <-m.stopped:
		return forgettable{}, ErrStopped
	case <-ctx.Done():
		return forgettable{}, ctx.Err()
	}
	select {
	case r := <-f.reply:
		return r, r.err
	case <-m.stopped:
		return forgettable{}, ErrStopped
	case <-ctx.Done():
		return forgettable{}, ctx.Err()
	}
}

// forget answers a request of Forget.
func (l *loop) forget(ctx context.Context, f forgetting) error {
	r := l.forgettable(f.id)
	if r.err == nil && !f.check && !l.m.core.View().Bars(f.id) {
		l.m.o.Logger.Warn("node forgotten by the operator", "id", f.id, "node", r.at.Name)
		if err := l.step(ctx, consensus.Forget{ID: f.id}, nil); err != nil {
			f.reply <- forgettable{err: err}
			return err
		}
		if !l.m.core.IsForgotten(f.id) && !l.m.core.View().Bars(f.id) {
			r.err = fmt.Errorf("%w: the request was not accepted", ErrForget)
		}
	}
	f.reply <- r
	return nil
}

// forgettable finds a node and returns why it cannot be forgotten, if so.
func (l *loop) forgettable(id crawl.NodeID) forgettable {
	v := l.m.core.View()
	switch {
	case v == nil || !listed(v, l.m.self.ID):
		return forgettable{err: fmt.Errorf("%w: this node is no member itself; ask a member", ErrForget)}
	case id == l.m.self.ID:
		return forgettable{err: fmt.Errorf("%w: this node cannot forget itself; drain it", ErrForget)}
	case v.Bars(id) || l.m.core.IsForgotten(id):
		return forgettable{}
	}
	at, ok := l.address(id)
	for _, f := range l.m.doc.Former {
		if !ok && f.ID == id {
			at, ok = Member{ID: id, Name: f.Name}, true
		}
	}
	switch {
	case !ok:
		return forgettable{err: fmt.Errorf("%w: %q is no member and never was one; crawlnode nodes list shows the ids", ErrUnknown, id)}
	case len(v.Barred)+len(l.m.core.Forgotten()) >= consensus.MaxBarred:
		return forgettable{err: fmt.Errorf("%w: %d nodes are forgotten already, which is the most",
			ErrForget, consensus.MaxBarred)}
	}
	return forgettable{at: at}
}
