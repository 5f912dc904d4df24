package node

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/security/clusterkey"
	"crawlnode/security/rotation"
)

// This file fits package rotation to the rest of the node.

// openKeys makes the node's keys of the key file, nil without one, and of what an earlier start has
// kept.
func (n *Node) openKeys(file *clusterkey.Key) (err error) {
	n.rotator, err = rotation.Open(rotation.Options{
		Dir: n.dir, Logger: n.log,
		Self:      func() membership.Member { return n.members.Self() },
		View:      func() *membership.View { return n.members.View() },
		Joiners:   n.joiners,
		Ask:       n.askRotation,
		Ready:     n.ready,
		SetGossip: func(use []byte, also ...[]byte) error { return n.members.SetKeys(use, also...) },
		Renew:     func() int { return n.pool.Renew(n.keys.ring.Shows) },
		Recheck:   func() { n.server.Recheck(n.keys.ring.Takes) },
	}, file)
	if err != nil {
		return err
	}
	n.keys = &keyring{n.rotator.Ring()}
	return nil
}

// joiners are sent a rotation before they are members, as they may be when it is over. It waits
// for none of them.
func (n *Node) joiners() []membership.Member { return n.members.Snapshot().Joiners(n.id) }

// askRotation carries a rotation to another node, as an operator's order.
func (n *Node) askRotation(
	ctx context.Context,
	to membership.Member,
	s rotation.State,
) (c rotation.Confirmation, err error) {
	payload, err := json.Marshal(rotationOrder{Rotation: &s})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	reply, err := peer.Call(ctx, n.pool, targetOf(to), &peer.Envelope{Payload: payload},
		peer.PeerClient.Operate)
	if err != nil {
		return c, err
	}
	err = json.Unmarshal(reply.Payload, &c)
	return c, err
}

// receiveRotation answers another node's rotation.
func (h handler) receiveRotation(s rotation.State) (*peer.Envelope, error) {
	c, err := h.node.rotator.Receive(s)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	payload, err := json.Marshal(c)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return &peer.Envelope{Payload: payload}, nil
}

// RotateKey replaces the cluster's key on all members: rotation.Rotator.Rotate.
func (n *Node) RotateKey(ctx context.Context, text string) (crawl.RotationReport, error) {
	return n.rotator.Rotate(ctx, text)
}
