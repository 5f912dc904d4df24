package node

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
)

// handler answers the other nodes' calls. Its methods stand beside what they
// serve: Renew in peers.go, Crawl in spread.go, Move in moves.go, Permits in
// permits.go, Idle in finish.go.
type handler struct{ node *Node }

// ackPatience bounds how long a batch of links waits for the replicas; it is
// below the time after which the sender gives the stream up.
const ackPatience = 3500 * time.Millisecond

// StoreLinks stores a batch of links in the partitions held here. The scope is
// judged again, so that a sender with other rules cannot widen the crawl. But a
// refusal is final only when both judge by the same rules: a seed's scope entry
// may be known to the sender a moment earlier, and its links must not be lost.
func (h handler) StoreLinks(ctx context.Context, from string, links []*peer.Link, stamp *peer.RulesStamp) ([]peer.Verdict, error) {
	n := h.node
	verdicts := make([]peer.Verdict, len(links))
	p := n.partitions()
	if p == 0 || !n.synced.Load() {
		for i := range verdicts {
			verdicts[i] = peer.Verdict_VERDICT_NOT_HOLDER
		}
		return verdicts, nil
	}
	rules := n.doc.Current().rules
	outOfScope := peer.Verdict_VERDICT_REFUSED
	if !n.doc.agrees(stamp) {
		outOfScope = peer.Verdict_VERDICT_NOT_HOLDER // ask again, when both know the same
		n.compareRules(crawl.NodeID(from), stamp)
	}
	var accepted []crawl.Routed
	var places []int
	for i, l := range links {
		r, err := fromWire(l, p)
		switch {
		case err != nil: // no correct node sends it; the others of the batch are not to blame
			verdicts[i] = peer.Verdict_VERDICT_REFUSED
			n.warnOnce(from, err)
		case !n.holds(r.Partition):
			verdicts[i] = peer.Verdict_VERDICT_NOT_HOLDER
		case !rules.Judge(r.Target.URL, r.Target.Depth, n.doc.seeds).Admit:
			verdicts[i] = outOfScope
		default:
			accepted, places = append(accepted, r), append(places, i)
		}
	}
	if len(accepted) == 0 {
		return verdicts, nil
	}
	admissions, err := n.front.Add(ctx, accepted)
	if err != nil {
		return nil, fmt.Errorf("store links: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, ackPatience)
	defer cancel()
	if !n.acknowledged(bounded, accepted) {
		for _, i := range places { // the sender keeps them, and asks again
			verdicts[i] = peer.Verdict_VERDICT_NOT_HOLDER
		}
		return verdicts, nil
	}
	for i, a := range admissions {
		verdicts[places[i]] = verdictOf(a)
	}
	return verdicts, nil
}

// warnOnce logs one line for each peer that sends what no correct node sends.
func (n *Node) warnOnce(from string, err error) {
	if _, known := n.warned.LoadOrStore(from, true); !known {
		n.log.Warn("refused a peer's link; further ones of this peer are not logged", "peer", from, "error", err)
	}
}

func verdictOf(a frontier.Admission) peer.Verdict {
	switch a {
	case frontier.Added:
		return peer.Verdict_VERDICT_ADDED
	case frontier.Known:
		return peer.Verdict_VERDICT_KNOWN
	case frontier.NotHolder:
		return peer.Verdict_VERDICT_NOT_HOLDER
	default:
		return peer.Verdict_VERDICT_REFUSED
	}
}

// Membership passes a message of the view decision on.
func (h handler) Membership(ctx context.Context, _ string, req *peer.Envelope) (*peer.Envelope, error) {
	reply, err := h.node.members.Handle(ctx, req.Payload)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &peer.Envelope{Payload: reply}, nil
}

// Partitions lists what is held here, for GET /api/v1/ring on any node.
func (h handler) Partitions(context.Context, string, *peer.PartitionsRequest) (*peer.PartitionsReply, error) {
	n := h.node
	reply := &peer.PartitionsReply{View: uint64(n.viewNumber())}
	for _, p := range n.heldPartitions() {
		reply.Partitions = append(reply.Partitions, &peer.PartitionInfo{Partition: uint32(p.Partition), Epoch: uint64(p.Epoch), State: p.State, Urls: *p.URLs})
	}
	return reply, nil
}
