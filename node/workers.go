package node

import (
	"context"

	"golang.org/x/sync/errgroup"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/peer"
	"crawlnode/pipeline"
	"crawlnode/ring"
	"crawlnode/workers"
	"crawlnode/workers/leases"
)

// This file fits package workers to the rest of the node.

// newDesk makes what gives this node's URLs to workers.
func (n *Node) newDesk(e *engine) *workers.Desk {
	return workers.NewDesk(workers.Options{Source: e.dispatcher, Copied: n.router.Copied, Lease: n.cfg.Lease,
		Partition: func(h crawl.Host) crawl.Partition { return ring.PartitionOf(h, n.partitions()) }})
}

// openWorkers makes what serves workers.
func (n *Node) openWorkers() {
	n.Front = workers.NewFront(workers.Cluster{Self: n.id, Partitions: n.partitions, Holder: n.router.Holder, Add: n.seeder.AddFound, Lease: n.cfg.Lease,
		Desk: func() *workers.Desk { return n.engine.Load().desk },
		State: func() (string, string, string) {
			d := n.doc.Current().Doc
			return d.State, d.Settings.UserAgent, d.Settings.Agent()
		},
		Ready: n.readyNow,
		Others: func() (ids []crawl.NodeID) {
			for _, m := range n.others() {
				ids = append(ids, m.ID)
			}
			return ids
		},
		Call: func(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error) {
			reply, err := peer.Call(ctx, n.pool, n.target(to), &peer.Envelope{Payload: payload}, peer.PeerClient.Workers)
			return reply.GetPayload(), err
		}})
}

// fetchers is how many visits can be open at a time.
func (n *Node) fetchers() int {
	if n.cfg.Fetch == "off" {
		return max(n.breadth.Now(), workers.MaxOpen)
	}
	return n.breadth.Now()
}

// pipelineRun runs the fetchers: those that fetch pages, and those that prepare them for workers.
func (n *Node) pipelineRun(ctx context.Context, e *engine) error {
	select {
	case <-ctx.Done():
		return nil
	case <-n.joined:
	}
	own := n.pipelineOptions(e)
	forWorkers := own
	forWorkers.Source, forWorkers.Sink, forWorkers.Handout, forWorkers.Workers, forWorkers.Limit = e.desk.Feed(), e.completer, e.desk, n.cfg.Fetchers, nil
	handing := pipeline.New(forWorkers)
	e.desk.Use(handing)
	group, pages := errgroup.WithContext(ctx)
	group.Go(func() error { return handing.Run(pages) })
	group.Go(func() error { return e.desk.Run(pages) })
	if n.cfg.Fetch != "off" {
		group.Go(func() error { return pipeline.New(own).Run(pages) })
	}
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return datadir.Failed("the archive, the derived outputs or the frontier", err)
	}
	return nil
}

// leased are the figures of this node's leases.
func (n *Node) leased() (c leases.Counts) {
	if e := n.engine.Load(); e != nil {
		c = e.desk.Counts()
	}
	return c
}

// Workers answers another member's question about its workers.
func (h handler) Workers(ctx context.Context, _ string, req *peer.Envelope) (*peer.Envelope, error) {
	e := h.node.engine.Load()
	if e == nil {
		return nil, errNotJoined
	}
	payload, err := e.desk.Serve(ctx, req.Payload)
	return &peer.Envelope{Payload: payload}, err
}
