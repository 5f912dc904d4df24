package node

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/ring"
	"crawlnode/web/robots"
	"crawlnode/web/urlnorm"
)

// robotsCallPatience bounds one question to another node: a worker waits for it.
const robotsCallPatience = time.Second

// maxLocationBytes bounds a redirect's target on its way between nodes; no URL that
// can be fetched is longer.
const maxLocationBytes = 4096

// RobotsFile asks whoever holds u's host for u, on behalf of another host whose
// robots.txt redirects there. It is the pipeline's Elsewhere. No answer from a
// peer is "not yet": the next question goes to whoever holds the host then.
func (n *Node) RobotsFile(ctx context.Context, u urlnorm.URL) (crawl.RobotsAnswer, bool) {
	p := ring.PartitionOf(crawl.Host(u.Host()), n.partitions())
	if n.holds(p) {
		return n.engine.Load().dispatcher.RobotsFile(p, u)
	}
	to := n.peers.Holder(p)
	if to == "" || to == n.id {
		to = n.tableOwner(p)
	}
	if to == "" || to == n.id {
		return crawl.RobotsAnswer{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, robotsCallPatience)
	defer cancel()
	r, err := peer.Call(ctx, n.pool, n.target(to), &peer.RobotsRequest{Url: u.String(), Partition: uint32(p)}, peer.PeerClient.Robots)
	if err != nil || !r.Arrived {
		return crawl.RobotsAnswer{}, false
	}
	return crawl.RobotsAnswer{
		At: time.Now().Add(-max(time.Duration(r.AgeMs)*time.Millisecond, 0)), Status: int(r.Status), Failure: string(r.Failure),
		Location: string(r.Location), Body: robots.Readable(r.Body),
	}, true
}

// Robots answers another node's question for a file.
func (h handler) Robots(_ context.Context, _ string, req *peer.RobotsRequest) (*peer.RobotsReply, error) {
	n := h.node
	u, err := urlnorm.Parse(req.Url)
	if err != nil || u.String() != req.Url {
		return nil, status.Error(codes.InvalidArgument, fmt.Sprintf("robots.txt at %.200q: no canonical URL", req.Url))
	}
	e := n.engine.Load()
	if e == nil || n.partitions() == 0 {
		return &peer.RobotsReply{}, nil
	}
	p := ring.PartitionOf(crawl.Host(u.Host()), n.partitions())
	if uint32(p) != req.Partition {
		return nil, status.Error(codes.InvalidArgument, fmt.Sprintf("%.200q is of partition %d, not %d", req.Url, p, req.Partition))
	}
	if !n.holds(p) {
		return &peer.RobotsReply{}, nil
	}
	a, arrived := e.dispatcher.RobotsFile(p, u)
	if !arrived {
		return &peer.RobotsReply{}, nil
	}
	return &peer.RobotsReply{Arrived: true, Status: uint32(a.Status), Failure: []byte(a.Failure),
		Location: []byte(a.Location[:min(len(a.Location), maxLocationBytes)]), Body: a.Body, AgeMs: time.Since(a.At).Milliseconds()}, nil
}

// robotsSettled takes what a visit for another host's robots.txt brought. Nothing
// of it is stored: the host's politeness is written when the host leaves memory.
func (n *Node) robotsSettled(v crawl.Visit, o *crawl.Outcome) {
	if o.Kind == crawl.Aborted {
		o.Answer = nil
	} else if o.Answer == nil { // no request was made
		o.Answer = &crawl.RobotsAnswer{At: o.FetchedAt, Failure: o.Reason}
	}
	n.engine.Load().dispatcher.RobotsDone(v, o.Answer)
}
