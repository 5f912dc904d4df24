package node

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/links/contents"
	"crawlnode/membership"
	"crawlnode/membership/heartbeat"
	"crawlnode/peer"
	"crawlnode/pipeline"
	"crawlnode/scheduler"
	"crawlnode/scheduler/core"
	"crawlnode/scheduler/turns"
	"crawlnode/search"
	"crawlnode/security/egress"
	"crawlnode/settings/sites"
	"crawlnode/status/report"
	"crawlnode/web/fetcher"
)

// This file fits the dispatcher and the pipeline to the rest of the node.

// newDispatcher makes the dispatcher.
func (n *Node) newDispatcher(t *turns.Turns, wishes scheduler.Wishes) *scheduler.Dispatcher {
	d := scheduler.New(scheduler.Options{
		Store: n.front, Resolver: egress.NewResolver(n.egress, n.dns, n.settings),
		Turns: t, Parts: n.renderer.Parts, Wishes: wishes,
		Rules: crawlRules{n}, Node: fetchingNode{n},
		Scheduler: core.Config{
			MaxBytes: int(n.cfg.Memory) / 4,
			Fetchers: n.fetchers(),
			Forgive:  n.forgive,
		},
		Logger: n.log,
	})
	d.Pause(true) // until the crawl document was taken over
	return d
}

// crawlRules are the crawl's rules as parts see them that follow each change.
type crawlRules struct{ node *Node }

func (r crawlRules) Settings() *crawl.Settings { return r.node.settings() }
func (r crawlRules) Sites() *sites.Table       { return r.node.sites() }

// Excluded reports whether an item was admitted before the settings excluded it.
func (r crawlRules) Excluded(it *crawl.Item) bool {
	b := r.node.doc.Current()
	return b.Doc.Rejudge && !it.Via.Errand() && b.Rules.Excludes(it.URL)
}

// fetchingNode is the node as the dispatcher sees it.
type fetchingNode struct{ node *Node }

func (f fetchingNode) MayFetch(p crawl.Partition) bool { return f.node.mayFetch(p) }
func (f fetchingNode) LookupRoom() int                 { return f.node.dns.Room() }
func (f fetchingNode) Fetchers() int                   { return f.node.fetchers() }

// TakePermit takes a permit. That a page is made is work, so timers are exact from now on.
func (f fetchingNode) TakePermit() bool {
	f.node.heap.Work()
	return f.node.permits.Take()
}

func (f fetchingNode) PermitDone(used bool) { f.node.permits.Done(used) }

// MayLastTry reports whether only frozen hosts are left in the whole cluster, as
// far as the members' last blocks tell. A crawl that visits known pages again goes on whatever is
// left, so its hosts have no last try: their URLs wait for them.
func (f fetchingNode) MayLastTry() bool {
	n := f.node
	e := n.engine.Load()
	if e == nil || n.settings().Revisits() || n.front.Totals().Outbox > 0 ||
		e.moves.Status().Outstanding > 0 {
		return false
	}
	infos := n.peers.All()
	for _, m := range n.others() {
		info, ok := infos[m.ID]
		if !ok || info.Block.Boot != m.Boot || time.Since(info.Heard) > 3*heartbeat.Every ||
			!info.Block.Idle && !info.Block.Stalled {
			return false
		}
	}
	return true
}

// Refuse completes a visit of a host that has had its pages, with a line in the log of
// skipped URLs.
func (f fetchingNode) Refuse(ctx context.Context, v crawl.Visit, o crawl.Outcome) error {
	sink := f.node.engine.Load().completer
	if err := f.node.outputs.LogRefused(ctx, &v, o.Skip, o.FetchedAt); err != nil {
		gone := crawl.Outcome{Kind: crawl.Aborted, Reason: err.Error(), FetchedAt: o.FetchedAt}
		return errors.Join(err, sink.Complete(ctx, v, gone))
	}
	return sink.Complete(ctx, v, o)
}

// robotsCluster is the cluster as it is asked for a robots.txt of a host that another node holds.
type robotsCluster struct{ node *Node }

func (c robotsCluster) Partitions() int                       { return c.node.partitions() }
func (c robotsCluster) Holder(p crawl.Partition) crawl.NodeID { return c.node.router.Holder(p) }

func (c robotsCluster) Dispatcher() *scheduler.Dispatcher {
	if e := c.node.engine.Load(); e != nil {
		return e.dispatcher
	}
	return nil
}

func (c robotsCluster) Ask(
	ctx context.Context, to crawl.NodeID, q *peer.RobotsRequest,
) (*peer.RobotsReply, error) {
	return peer.Call(ctx, c.node.pool, c.node.target(to), q, peer.PeerClient.Robots)
}

// Robots answers another node's question for a file.
func (h handler) Robots(
	_ context.Context,
	_ string,
	req *peer.RobotsRequest,
) (*peer.RobotsReply, error) {
	return h.node.elsewhere.Serve(req)
}

// newContents makes what knows the payloads and texts that were seen before. The
// fingerprints of texts take a thirty-second part of --memory.
func (n *Node) newContents() *contents.Index {
	return contents.New(contents.Options{Self: n.id, Store: n.front, Cluster: contentsCluster{n},
		Memory: int64(n.cfg.Memory) / 32})
}

// contentsCluster is the cluster as package contents sees it.
type contentsCluster struct{ node *Node }

func (c contentsCluster) Partitions() int                       { return c.node.partitions() }
func (c contentsCluster) Holder(p crawl.Partition) crawl.NodeID { return c.node.router.Holder(p) }
func (c contentsCluster) Alone() bool                           { return c.node.alone() }

func (c contentsCluster) Forgotten(id crawl.NodeID) bool {
	return report.Forgotten(c.node.members.Snapshot().View, id)
}

func (c contentsCluster) Call(
	ctx context.Context, to crawl.NodeID, b *peer.ContentBatch,
) (*peer.ContentReply, error) {
	return peer.Call(ctx, c.node.pool, c.node.target(to), b, peer.PeerClient.Contents)
}

// mayFetch reports whether a host of p may be requested now.
func (n *Node) mayFetch(p crawl.Partition) bool { return n.mayCrawl() && n.entitledTo(p) }

// mayKeep reports whether this node may say whose turn it is to request the addresses of p. It must
// not depend on whether this node crawls itself: others would wait for it.
func (n *Node) mayKeep(p crawl.Partition) bool { return !n.closing.Load() && n.entitledTo(p) }

// entitledTo reports whether p is this node's now. A node that was
// excluded and taken back can have its new lease before handoff has ended what it
// held, so the store is asked too: only what was acquired since this id last
// joined counts (ownership rule 11). The lease is looked at before the view: grants
// are asked for in a view that is shown already.
func (n *Node) entitledTo(p crawl.Partition) bool {
	leased := n.members.LeaseValid()
	v := n.members.Snapshot().View
	m, _ := n.front.Meta(p)
	return entitled(leased, v, n.id, n.members.Self().Boot, &m)
}

// entitled reports whether a boot of a node has its lease and holds a partition, by what is
// stored of it, in a tenure that no view since has ended.
func entitled(
	leased bool,
	v *membership.View,
	id crawl.NodeID,
	boot crawl.Boot,
	m *frontier.Meta,
) bool {
	if !leased || v == nil || !v.Lists(id, boot) {
		return false
	}
	self, _ := v.Member(id)
	return m.State == frontier.Holder && m.Epoch >= self.Since
}

// noteQueued is called by the frontier's writer; it must not block.
func (n *Node) noteQueued(hosts []frontier.QueuedHost) {
	if e := n.engine.Load(); e != nil {
		e.dispatcher.NoteQueued(hosts)
	}
}

// pipelineOptions are the fetchers' parts.
func (n *Node) pipelineOptions(e *engine) pipeline.Options {
	s := &n.doc.Current().Doc.Settings
	f := fetcher.New(fetcher.Options{
		UserAgent:       s.UserAgent,
		MaxBody:         s.MaxBody,
		TLSRecord:       s.TLSRecord,
		MaxIdleConns:    n.breadth.Kept(),
		LargeBodyMemory: int64(n.cfg.Memory) / 4,
		Allowed:         func(a netip.Addr) bool { return n.settings().Allowed(a) },
		Denied:          n.mayNotDial,
		ProxyDenied:     n.egress.JudgeProxy,
		SpoolDir:        n.dir.Path(),
		SpoolBytes:      2 * int64(n.cfg.Fetchers) * s.MaxBody,
		DialContext:     n.network.Fetcher(),
		Signer:          n.bot.signer(),
	})
	n.fetcher.Store(f)
	var earlier pipeline.Earlier
	if n.earlier != nil {
		earlier = n.earlier
	}
	return n.tracePages(pipeline.Options{
		Earlier:        earlier,
		Walls:          n.walls,
		Means:          n.means,
		Workers:        n.breadth.Most(),
		Limit:          n.breadth.Now,
		Source:         e.dispatcher,
		Sink:           e.completer,
		Archive:        n.outputs.Archive(),
		Contents:       n.contents,
		Jars:           n.front,
		Deriver:        n.outputs.Deriver(),
		Derives:        strings.Join(append(slices.Clone(n.cfg.Derive), n.cfg.ExtractWith), ","),
		Fetcher:        f,
		Elsewhere:      n.elsewhere,
		Keeper:         n,
		Rules:          n.pipelineRules,
		Log:            n.log,
		NoFingerprints: n.bare,
		Documents:      new(search.Maker),
		Renderer:       n.renderer,
		DocumentReader: n.documents,
		Traps:          trapWatch{n},
	})
}

// sites are the present rules for sites; nil: there are none.
func (n *Node) sites() *sites.Table { return n.doc.Current().Pipeline.Sites }

// pipelineRules is the present rulebook in the pipeline's words.
func (n *Node) pipelineRules() *pipeline.Rules { return n.doc.Current().Pipeline }

// moveFetching is handoff's view of the dispatcher.
type moveFetching struct {
	*scheduler.Dispatcher
	node   *Node
	loaded crawl.Epoch // in which partition 0 was held when this process began; 0: it was not
}

// Hold starts a partition that was just acquired; every host waits for its delay
// first, since another node may have fetched from it a moment ago. Partition 0 brings the duty to
// grant page permits with it.
func (f moveFetching) Hold(p crawl.Partition, epoch crawl.Epoch) {
	if p == 0 {
		f.node.permits.Acquired(time.Now(), epoch != f.loaded)
	}
	f.node.compareBotKeys(time.Now())
	f.Dispatcher.Hold(p, epoch, time.Now())
}

// Resume goes on with a partition that was not passed on after all.
func (f moveFetching) Resume(p crawl.Partition) {
	if p == 0 {
		f.node.permits.Acquired(time.Now(), true)
	}
	f.Dispatcher.Resume(p)
}
