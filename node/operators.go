package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/security/rotation"
)

// DrainMember asks a member to hand its partitions over and to leave: orders.Orders.Drain.
func (n *Node) DrainMember(ctx context.Context, id crawl.NodeID) error {
	return n.orders.Drain(ctx, id)
}

// placePatience is how long an order waits for the view that lists the new place. Without it the
// order stands all the same: the member has stored it.
const placePatience = 5 * time.Second

// PlaceMember changes a member's weight or zone: orders.Orders.Place. It returns when a view lists
// it, or after placePatience.
func (n *Node) PlaceMember(ctx context.Context, id crawl.NodeID, c crawl.PlaceChange) error {
	if err := n.orders.Place(ctx, id, c); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, placePatience)
	defer cancel()
	if err := n.members.AwaitPlace(limited, id, c); err != nil {
		n.log.Warn("a member has another weight or zone, which counts from a later view on", "peer", id,
			"change", c.String(), "error", err)
	}
	return nil
}

// ReloadPlace takes over the weight and zone of flags that were read again.
func (n *Node) ReloadPlace(weight int, zone string) { n.members.SetPlaceFlags(weight, zone) }

// StopMember ends a member as SIGTERM does: orders.Orders.Stop.
func (n *Node) StopMember(
	ctx context.Context,
	id crawl.NodeID,
) error {
	return n.orders.Stop(ctx, id)
}

// StopAll ends all members with their data in place: orders.Orders.StopAll.
func (n *Node) StopAll(
	ctx context.Context,
) (crawl.StopReport, error) {
	return n.orders.StopAll(ctx)
}

// rotationOrder is the cluster's new key on its way to a node. Other orders are package orders'.
type rotationOrder struct {
	Rotation *rotation.State `json:"rotation,omitempty"`
}

// Operate carries out an operator's order that another member passes on.
func (h handler) Operate(
	ctx context.Context,
	_ string,
	req *peer.Envelope,
) (*peer.Envelope, error) {
	var o rotationOrder
	if err := json.Unmarshal(req.Payload, &o); err == nil && o.Rotation != nil &&
		h.node.keys.ring != nil {
		return h.receiveRotation(*o.Rotation)
	}
	return &peer.Envelope{}, h.node.orders.Serve(ctx, req.Payload)
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
