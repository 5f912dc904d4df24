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
		Copied:     n.router.Copied,
		Lease:      n.cfg.Lease,
		Partition:  n.partitionOf,
		Guests:     e.guests,
		Notes:      n.front,
		GuestStore: n.front,
		Held:       n.heldPartitions,
		Forgotten:  n.router.ForgetSent,
	})
}

// newGuests makes what gives this node's URLs of other crawls to clients. It is made before the
// dispatcher that it uses.
func (n *Node) newGuests(e *engine) *guests.Desk {
	return guests.New(guests.Options{
		Source:    func() guests.Source { return e.dispatcher },
		Store:     n.front,
		Copied:    n.router.Copied,
		Lease:     n.cfg.Lease,
		Log:       n.log,
		Partition: n.partitionOf,
		Held: func() (ps []crawl.Partition) {
			n.front.Walk(func(m *frontier.Meta) bool {
				if m.State == frontier.Holder && m.Counters.GuestsActive > 0 {
					ps = append(ps, m.Partition)
				}
				return true
			})
			slices.Sort(ps)
			return ps
		},
	})
}

// partitionOf is a host's partition.
func (n *Node) partitionOf(
	h crawl.Host,
) crawl.Partition {
	return ring.PartitionOf(h, n.partitions())
}

// heldPartitions are the partitions that this node holds, in their order.
func (n *Node) heldPartitions() (ps []crawl.Partition) {
	n.front.Walk(func(m *frontier.Meta) bool {
		if m.State == frontier.Holder {
			ps = append(ps, m.Partition)
		}
		return true
	})
	slices.Sort(ps)
	return ps
}

// openWorkers makes what serves workers.
func (n *Node) openWorkers() {
	n.Front = workers.NewFront(workers.Cluster{
		Self:       n.id,
		Partitions: n.partitions,
		Holder:     n.router.Holder,
		Add:        n.seeder.AddFound,
		OpenPorts:  n.seeder.OpenPorts,
		Start:      linkStart{n},
		Normalize: func(u urlnorm.URL) urlnorm.URL {
			return n.doc.Current().Pipeline.Normalize.Apply(u)
		},
		Lease: n.cfg.Lease,
		Desk:  func() *workers.Desk { return n.engine.Load().desk },
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
			reply, err := peer.Call(ctx, n.pool, n.target(to), &peer.Envelope{Payload: payload},
				peer.PeerClient.Workers)
			return reply.GetPayload(), err
		},
	})
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
		var ps []crawl.Partition
		n.front.Walk(func(m *frontier.Meta) bool {
			if m.State == frontier.Holder && m.Counters.NoteDates > 0 {
				ps = append(ps, m.Partition)
			}
			return true
		})
		for _, p := range ps {
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
