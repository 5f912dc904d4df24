package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/node/rotation"
	"crawlnode/peer"
)

// operatorOrder is an operator's order on its way to the member that it is for.
type operatorOrder struct {
	Drain    bool            `json:"drain"`
	Rotation *rotation.State `json:"rotation,omitempty"` // the cluster's key is being replaced
}

// DrainMember asks a member to hand its partitions over and to leave. It returns
// when the member has taken the order; an order given twice is one.
func (n *Node) DrainMember(ctx context.Context, id crawl.NodeID) error {
	if id == n.id {
		return n.obeyDrain()
	}
	v := n.members.Snapshot().View
	if v == nil {
		return ErrNotReady
	}
	m, ok := v.Member(id)
	switch {
	case !ok && n.knows(id):
		return fmt.Errorf("%w: it is no member, so it holds nothing that could be handed over", crawl.ErrRefused)
	case !ok:
		return fmt.Errorf("%w: crawlnode nodes list shows those that there are", crawl.ErrUnknownNode)
	}
	payload, err := json.Marshal(operatorOrder{Drain: true})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	_, err = peer.Call(ctx, n.pool, targetOf(m), &peer.Envelope{Payload: payload}, peer.PeerClient.Operate)
	switch status.Code(err) {
	case codes.OK:
		n.log.Info("a node was asked to drain", "peer", id, "name", m.Name)
		return nil
	case codes.FailedPrecondition:
		return fmt.Errorf("%w: %s", crawl.ErrRefused, status.Convert(err).Message())
	}
	return fmt.Errorf("%s does not answer: when it is dead, its partitions are taken over without a drain (%w)", m.Name, err)
}

// obeyDrain begins the polite stop, unless that would only stop this node.
func (n *Node) obeyDrain() error {
	if n.draining.Load() {
		return nil
	}
	if !n.drainer.HasHeir() {
		return fmt.Errorf("%w: no other active member could take %s's partitions over: add a node first, or stop it with SIGTERM", crawl.ErrRefused, n.name)
	}
	n.log.Info("an operator asked this node to drain")
	n.Drain()
	return nil
}

// Operate carries out an operator's order that another member passes on.
func (h handler) Operate(_ context.Context, _ string, req *peer.Envelope) (*peer.Envelope, error) {
	var o operatorOrder
	if err := json.Unmarshal(req.Payload, &o); err != nil || !o.Drain && (o.Rotation == nil || h.node.keys.ring == nil) {
		return nil, status.Error(codes.InvalidArgument, "an order that this release does not know")
	}
	if o.Rotation != nil {
		return h.receiveRotation(*o.Rotation)
	}
	if err := h.node.obeyDrain(); err != nil {
		return nil, status.Error(codes.FailedPrecondition, withoutRefused(err))
	}
	return &peer.Envelope{}, nil
}

// withoutRefused is the text of a refusal without ErrRefused before it, which the caller adds
// again.
func withoutRefused(err error) string {
	text, prefix := err.Error(), crawl.ErrRefused.Error()+": "
	if len(text) > len(prefix) && text[:len(prefix)] == prefix {
		return text[len(prefix):]
	}
	return text
}

// ForgetMember removes a node for good, as an operator orders. A node that answers is not removed.
func (n *Node) ForgetMember(ctx context.Context, id crawl.NodeID) error {
	err := n.members.Forget(ctx, id)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, membership.ErrUnknown):
		return fmt.Errorf("%w: %w", crawl.ErrUnknownNode, err)
	case errors.Is(err, membership.ErrAnswers), errors.Is(err, membership.ErrForget):
		return fmt.Errorf("%w: %w", crawl.ErrRefused, err)
	}
	return fmt.Errorf("the forget request was not stored, send it again: %w", err)
}

// knows reports whether this node has ever heard of another one.
func (n *Node) knows(id crawl.NodeID) bool {
	snap := n.members.Snapshot()
	if v := snap.View; v != nil {
		if _, ok := v.Member(id); ok {
			return true
		}
	}
	_, told := n.peers.All()[id]
	_, gone := n.changes.Departed()[id]
	return told || gone || slices.ContainsFunc(snap.Peers, func(p membership.Peer) bool { return p.ID == id })
}

// ControlCrawl pauses, resumes or stops the crawl on all members: spread.Spreader.Control.
func (n *Node) ControlCrawl(ctx context.Context, action string) (crawl.ActionReport, error) {
	return n.spread.Control(ctx, action)
}

// resumeFinished sets a crawl running again that was called finished while URLs
// came in: their holder decides that.
func (n *Node) resumeFinished() error {
	d, t := n.doc.Current().Doc, n.front.Totals()
	if d.State != crawl.CrawlFinished || d.Reason != crawl.FinishExhausted || t.QueuedTotal() == 0 {
		return nil
	}
	n.log.Info("URLs came in while the crawl was being called finished; it goes on")
	_, err := n.spread.Start()
	return err
}
