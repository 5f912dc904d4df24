package scheduler

import (
	"context"
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

// RobotsCluster is what Elsewhere asks of the nodes. Only Ask may block.
type RobotsCluster interface {
	// Partitions is their number, 0 before the node has joined.
	Partitions() int
	// Dispatcher is this node's; nil before it has joined.
	Dispatcher() *Dispatcher
	// Holder is who holds a partition, as far as is known; "": nobody.
	Holder(p crawl.Partition) crawl.NodeID
	// Ask carries a question to a member, whose Serve answers.
	Ask(ctx context.Context, to crawl.NodeID, q *peer.RobotsRequest) (*peer.RobotsReply, error)
}

// Elsewhere finds the node that holds a host and has it make a robots fetch. It is the pipeline's
// Elsewhere; its methods may be called from any goroutine.
type Elsewhere struct {
	self    crawl.NodeID
	cluster RobotsCluster
}

// NewElsewhere makes the Elsewhere of a node.
func NewElsewhere(self crawl.NodeID, c RobotsCluster) *Elsewhere { return &Elsewhere{self, c} }

// RobotsFile asks the holder of u's host for u, on behalf of another host whose robots.txt
// redirects there. False: not yet, or no answer; the next question goes to the holder of that
// moment.
func (e *Elsewhere) RobotsFile(ctx context.Context, u urlnorm.URL) (crawl.RobotsAnswer, bool) {
	p := ring.PartitionOf(crawl.Host(u.Host()), e.cluster.Partitions())
	to := e.cluster.Holder(p)
	switch to {
	case "":
		return crawl.RobotsAnswer{}, false
	case e.self:
		return e.cluster.Dispatcher().RobotsFile(p, u)
	}
	ctx, cancel := context.WithTimeout(ctx, robotsCallPatience)
	defer cancel()
	r, err := e.cluster.Ask(ctx, to, &peer.RobotsRequest{Url: u.String(), Partition: uint32(p)})
	if err != nil || !r.Arrived {
		return crawl.RobotsAnswer{}, false
	}
	return crawl.RobotsAnswer{
		At: time.Now().Add(-max(time.Duration(r.AgeMs)*time.Millisecond, 0)), Status: int(r.Status),
		Failure:  string(r.Failure),
		Location: string(r.Location), Body: robots.Readable(r.Body),
	}, true
}

// Serve answers another node's question for a file.
func (e *Elsewhere) Serve(req *peer.RobotsRequest) (*peer.RobotsReply, error) {
	u, err := urlnorm.Parse(req.Url)
	if err != nil || u.String() != req.Url {
		return nil, status.Errorf(codes.InvalidArgument, "robots.txt at %.200q: not a canonical URL",
			req.Url)
	}
	d := e.cluster.Dispatcher()
	if d == nil || e.cluster.Partitions() == 0 {
		return &peer.RobotsReply{}, nil
	}
	p := ring.PartitionOf(crawl.Host(u.Host()), e.cluster.Partitions())
	if uint32(p) != req.Partition {
		return nil, status.Errorf(codes.InvalidArgument, "%.200q is in partition %d, not %d",
			req.Url, p, req.Partition)
	}
	if e.cluster.Holder(p) != e.self {
		return &peer.RobotsReply{}, nil
	}
	a, arrived := d.RobotsFile(p, u)
	if !arrived {
		return &peer.RobotsReply{}, nil
	}
	return &peer.RobotsReply{Arrived: true, Status: uint32(a.Status), Failure: []byte(a.Failure),
		Location: []byte(a.Location[:min(len(a.Location), maxLocationBytes)]), Body: a.Body,
		AgeMs: time.Since(a.At).Milliseconds()}, nil
}
