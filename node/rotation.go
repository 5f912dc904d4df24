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
		Dir:     n.dir,
		Cluster: rotationCluster{n},
		Logger:  n.log,
	}, file)
	if err != nil {
		return err
	}
	n.keys = &keyring{n.rotator.Ring()}
	return nil
}

// rotationCluster is the cluster as package rotation sees it.
type rotationCluster struct{ node *Node }

func (c rotationCluster) Self() membership.Member { return c.node.members.Self() }
func (c rotationCluster) View() *membership.View  { return c.node.members.View() }
func (c rotationCluster) Ready() error            { return c.node.ready() }

// Joiners are sent a rotation before they are members, as they may be when it is over. It waits
// for none of them.
func (c rotationCluster) Joiners() []membership.Member {
	return c.node.members.Snapshot().Joiners(c.node.id)
}

func (c rotationCluster) SetGossip(use []byte, also ...[]byte) error {
	return c.node.members.SetKeys(use, also...)
}

func (c rotationCluster) Renew() int { return c.node.pool.Renew(c.node.keys.ring.Shows) }
func (c rotationCluster) Recheck()   { c.node.server.Recheck(c.node.keys.ring.Takes) }

// Ask carries a rotation to another node, as an operator's order.
func (c rotationCluster) Ask(
	ctx context.Context,
	to membership.Member,
	s rotation.State,
) (answer rotation.Confirmation, err error) {
	payload, err := json.Marshal(rotationOrder{Rotation: &s})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	reply, err := peer.Call(ctx, c.node.pool, targetOf(to), &peer.Envelope{Payload: payload},
		peer.PeerClient.Operate)
	if err != nil {
		return answer, err
	}
	err = json.Unmarshal(reply.Payload, &answer)
	return answer, err
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
