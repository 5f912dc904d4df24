package node

import (
	"context"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff"
	"crawlnode/links"
	"crawlnode/local/disk"
	"crawlnode/peer"
	"crawlnode/web/normalize"
	"crawlnode/web/scope"
)

// This file fits package links to the rest of the node.

// openLinks makes what carries links; it makes no call.
func (n *Node) openLinks() {
	store, peers := n.traceLinks(n.front, linkPeers{n})
	n.router = links.NewRouter(
		links.Options{Self: n.id, Store: store, Holdings: linkHoldings{n}, Peers: peers,
			Rules:     func() *scope.Rules { return n.doc.Current().Rules },
			Normalize: func() normalize.Rules { return n.doc.Current().Pipeline.Normalize },
			Seeds:     n.doc.Seeds, Scope: linkScope{n}, Log: n.log, Cites: n.ranking.Cites,
			Weigh: n.ranking.Weight})
	n.outbox = links.NewSender(n.router)
	n.receiver = links.NewReceiver(n.router, n.synced.Load)
	n.seeder = links.NewSeeder(n.router, linkStart{n},
		func(r crawl.SeedReport) { n.events.Seeds(time.Now(), r) })
}

// AddSeeds stores seeds with their owners and starts the crawl when it is idle
// or finished. It returns when every accepted URL is durable; an error means
// that nothing was promised.
func (n *Node) AddSeeds(ctx context.Context, seeds []crawl.Seed) (crawl.SeedReport, error) {
	if err := n.readyNow(); err != nil {
		return crawl.SeedReport{Invalid: []crawl.SeedError{}}, err
	}
	return n.seeder.Add(ctx, seeds)
}

// StoreLinks stores a batch of another member's links.
func (h handler) StoreLinks(
	ctx context.Context,
	from string,
	batch []*peer.Link,
	stamp *peer.RulesStamp,
) ([]peer.Verdict, error) {
	return h.node.receiver.Store(ctx, from, batch, stamp)
}

// linkHoldings tells which partitions are here.
type linkHoldings struct{ node *Node }

func (h linkHoldings) Partitions() int              { return h.node.partitions() }
func (h linkHoldings) Holds(p crawl.Partition) bool { return h.node.holds(p) }
func (h linkHoldings) Alone() bool                  { return h.node.alone() }

func (h linkHoldings) Replicated() bool {
	return h.node.engine.Load().replication > 1 && !h.node.alone()
}

func (h linkHoldings) Tenure(p crawl.Partition) handoff.Tenure {
	return h.node.engine.Load().moves.Tenure(p)
}

func (h linkHoldings) Await(ctx context.Context, ts []handoff.Tenure, full bool, errs []error) {
	h.node.engine.Load().moves.Await(ctx, ts, full, errs)
}

// linkPeers are the other members, and which partitions they hold.
type linkPeers struct{ node *Node }

func (p linkPeers) Holder(of crawl.Partition) crawl.NodeID { return p.node.peers.Holder(of) }
func (p linkPeers) Owner(of crawl.Partition) crawl.NodeID  { return p.node.tableOwner(of) }

func (p linkPeers) Forward(
	ctx context.Context,
	to crawl.NodeID,
	batch []*peer.Link,
) ([]peer.Verdict, error) {
	return p.node.pool.Forward(ctx, p.node.target(to), batch)
}

// linkScope is the scope entries of package spread.
type linkScope struct{ node *Node }

func (s linkScope) Complete(now time.Time) bool       { return s.node.spread.Complete(now) }
func (s linkScope) CaughtUp(ctx context.Context) bool { return s.node.spread.AwaitComplete(ctx) }
func (s linkScope) Spread(ctx context.Context) error  { return s.node.spread.AwaitMajority(ctx) }

func (s linkScope) Agrees(member crawl.NodeID, stamp *peer.RulesStamp) bool {
	return s.node.spread.Compare(member, stamp)
}

func (s linkScope) Add(entries ...string) error { return s.node.spread.Add(entries...) }

// AddWhenRoom waits while the disk is full: nothing is lost meanwhile.
func (s linkScope) AddWhenRoom(ctx context.Context, entries ...string) error {
	return disk.Retry(ctx, s.node.running, func() error { return s.node.spread.Add(entries...) })
}

// linkStart sets the crawl running for seeds.
type linkStart struct{ node *Node }

func (s linkStart) Run(ctx context.Context) error { return s.node.spread.StartEverywhere(ctx) }

// May refuses seeds while nothing at all could be fetched.
func (s linkStart) May() error {
	c := &s.node.doc.Current().Doc.Settings
	if c.Contact == "" && len(c.AllowNet) == 0 {
		return usageError(fmt.Errorf("%w: a contact is required before anything is fetched: "+
			"start the founding node with --contact MAIL|URL, "+
			"or with --allow-net for a private network", crawl.ErrRefused))
	}
	return nil
}
