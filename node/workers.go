package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/local/datadir"
	"crawlnode/peer"
	"crawlnode/pipeline"
	"crawlnode/ring"
	"crawlnode/scheduler"
	"crawlnode/web/urlnorm"
	"crawlnode/workers"
	"crawlnode/workers/guests"
	"crawlnode/workers/leases"
)

// This file fits package workers to the rest of the node.

// newDesk makes what gives this node's URLs to workers.
func (n *Node) newDesk(e *engine) *workers.Desk {
	return workers.NewDesk(workers.Options{
		Source:     e.dispatcher,
		Node:       deskNode{n},
		Lease:      n.cfg.Lease,
		Guests:     e.guests,
		Notes:      n.front,
		GuestStore: n.front,
	})
}

// deskNode is the node as a desk sees it.
type deskNode struct{ node *Node }

func (d deskNode) Forgotten() { d.node.router.ForgetSent() }

func (d deskNode) Copied(
	ps []crawl.Partition,
) func(context.Context) func(crawl.Partition) bool {
	return d.node.router.Copied(ps)
}

func (d deskNode) Partition(h crawl.Host) crawl.Partition {
	return ring.PartitionOf(h, d.node.partitions())
}

func (d deskNode) Held() []crawl.Partition {
	return d.node.heldWith(func(*crawl.Counters) bool { return true })
}

// newGuests makes what gives this node's URLs of other crawls to clients. It is made before the
// dispatcher that it uses.
func (n *Node) newGuests(e *engine) *guests.Desk {
	return guests.New(guests.Options{
		Node:  guestNode{deskNode{n}, e},
		Store: n.front,
		Lease: n.cfg.Lease,
		Log:   n.log,
	})
}

// guestNode is the node as a desk for other crawls sees it.
type guestNode struct {
	deskNode
	engine *engine
}

func (g guestNode) Source() guests.Source { return g.engine.dispatcher }

func (g guestNode) Held() []crawl.Partition {
	return g.node.heldWith(func(c *crawl.Counters) bool { return c.GuestsActive > 0 })
}

// heldWith are the partitions that this node holds and whose counters are such, in their order.
func (n *Node) heldWith(such func(*crawl.Counters) bool) (ps []crawl.Partition) {
	n.front.Walk(func(m *frontier.Meta) bool {
		if m.State == frontier.Holder && such(&m.Counters) {
			ps = append(ps, m.Partition)
		}
		return true
	})
	slices.Sort(ps)
	return ps
}

// openWorkers makes what serves workers.
func (n *Node) openWorkers() {
	n.Front = workers.NewFront(workers.FrontOptions{
		Self:    n.id,
		Cluster: workersCluster{n},
		Start:   linkStart{n},
		Lease:   n.cfg.Lease,
	})
}

// workersCluster is the cluster as package workers sees it.
type workersCluster struct{ node *Node }

func (c workersCluster) Ready() error                          { return c.node.readyNow() }
func (c workersCluster) Desk() *workers.Desk                   { return c.node.engine.Load().desk }
func (c workersCluster) Partitions() int                       { return c.node.partitions() }
func (c workersCluster) Holder(p crawl.Partition) crawl.NodeID { return c.node.router.Holder(p) }

func (c workersCluster) Others() (ids []crawl.NodeID) {
	for _, m := range c.node.others() {
		ids = append(ids, m.ID)
	}
	return ids
}

func (c workersCluster) Call(
	ctx context.Context,
	to crawl.NodeID,
	payload []byte,
) ([]byte, error) {
	reply, err := peer.Call(ctx, c.node.pool, c.node.target(to), &peer.Envelope{Payload: payload},
		peer.PeerClient.Workers)
	return reply.GetPayload(), err
}

func (c workersCluster) State() (state, userAgent, robotsAgent string) {
	d := c.node.doc.Current().Doc
	return d.State, d.Settings.UserAgent, d.Settings.Agent()
}

func (c workersCluster) Normalize(u urlnorm.URL) urlnorm.URL {
	return c.node.doc.Current().Pipeline.Normalize.Apply(u)
}

func (c workersCluster) OpenPorts(ctx context.Context, ports []uint16) error {
	return c.node.seeder.OpenPorts(ctx, ports)
}

func (c workersCluster) Add(
	ctx context.Context,
	found []crawl.FoundURL,
) (crawl.FoundReport, error) {
	return c.node.seeder.AddFound(ctx, found)
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
	own.Guests = e.guests
	forWorkers := own
	forWorkers.Source, forWorkers.Sink, forWorkers.Handout, forWorkers.Workers, forWorkers.Limit =
		e.desk.Feed(), e.completer, e.desk, n.cfg.Fetchers, nil
	handing := pipeline.New(forWorkers)
	e.desk.Use(handing)
	forWishes := forWorkers
	forWishes.Source = wished{e.dispatcher}
	group, pages := errgroup.WithContext(ctx)
	group.Go(func() error { return handing.Run(pages) })
	group.Go(func() error { return pipeline.New(forWishes).Run(pages) })
	group.Go(func() error { return e.desk.Run(pages) })
	group.Go(func() error { return e.guests.Run(pages) })
	group.Go(func() error { return n.moveDates(pages) })
	if n.cfg.Fetch != "off" {
		group.Go(func() error { return pipeline.New(own).Run(pages) })
	}
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return datadir.Failed("the archive, the derived outputs or the frontier", err)
	}
	return nil
}

// wished is the dispatcher for those visits that somebody wishes for.
type wished struct{ *scheduler.Dispatcher }

// Next is pipeline.Source.
func (w wished) Next(ctx context.Context) (crawl.Visit, error) { return w.NextWished(ctx) }

const (
	// datesEvery is how often it is looked for URLs whose date has come.
	datesEvery = time.Second
	// datesAtOnce bounds those that one write puts into their queues.
	datesAtOnce = 200
)

// moveDates puts URLs of the cluster's own crawl back into their queues when the dates come at
// which clients want them again.
func (n *Node) moveDates(ctx context.Context) error {
	for crawl.Wait(ctx, datesEvery) {
		for _, p := range n.heldWith(func(c *crawl.Counters) bool { return c.NoteDates > 0 }) {
			for ctx.Err() == nil {
				moved, err := n.front.MoveDates(ctx, p, time.Now(), datesAtOnce)
				if errors.Is(err, frontier.ErrNotHolder) || ctx.Err() != nil {
					break // it is the next holder's
				}
				if err != nil {
					return err
				}
				if moved < datesAtOnce {
					break
				}
			}
		}
	}
	return nil
}

// leased are the figures of this node's leases.
func (n *Node) leased() (c leases.Counts) {
	if e := n.engine.Load(); e != nil {
		c = e.desk.Counts()
		g := e.guests.Counts()
		c.Workers, c.Leases, c.Open, c.Expired, c.Settled = max(c.Workers, g.Workers), c.Leases+g.Leases,
			c.Open+g.Open, c.Expired+g.Expired, c.Settled+g.Settled
	}
	return c
}

// Workers answers another member's question about its workers.
func (h handler) Workers(
	ctx context.Context,
	_ string,
	req *peer.Envelope,
) (*peer.Envelope, error) {
	e := h.node.engine.Load()
	if e == nil {
		return nil, errNotJoined
	}
	payload, err := e.desk.Serve(ctx, req.Payload)
	return &peer.Envelope{Payload: payload}, err
}
