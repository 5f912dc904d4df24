package node

import (
	"context"
	"net/http"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff"
	"crawlnode/local/disk"
	"crawlnode/membership"
	"crawlnode/scheduler"
	"crawlnode/status"
	"crawlnode/status/report"
	"crawlnode/ticks"
)

// This file fits package report to the rest of the node, and to its callers.

func (n *Node) openReport() {
	n.report = report.New(report.Options{
		ID:          n.id,
		Name:        n.name,
		Version:     n.version,
		Protocol:    protocolVersion,
		Started:     n.started,
		Dir:         n.dir.Path(),
		Keyed:       n.keys.ring != nil,
		Config:      &n.cfg,
		Node:        reportedNode{n},
		Changes:     &n.changes,
		Members:     n.members,
		Documents:   n.doc,
		Front:       n.front,
		DNS:         n.dns,
		Router:      n.router,
		Outputs:     n.outputs,
		Contents:    n.contents,
		Permits:     n.permits,
		Finisher:    n.finisher,
		Revisits:    n.revisits,
		Raised:      n.ranking.Raised,
		Index:       n.indexer.Block,
		Indexing:    n.indexer.Failing,
		Render:      n.renderer.Block,
		Refusing:    n.egress.Refusing,
		Bot:         n.botBlock,
		BotDiffers:  n.botDiffers,
		SiteTrouble: n.troubles,
		Leased:      n.leased,
		Peers:       n.peers,
		Space:       n.space,
		Stalls:      n.stalls,
		Sinks:       n.sinks,
		Webhooks:    n.webhooks,
		Timings:     n.timings,
		Breadth:     n.breadth,
		Processors:  n.processors,
		Traffic:     n.pool.Traffic,
		Traps:       n.foundTraps,
	})
}

// Status makes the status document: report.Reporter.Status.
func (n *Node) Status(_ context.Context, nodeOnly bool) (*crawl.Status, error) {
	return n.report.Status(nodeOnly), nil
}

// PagesFetched counts the pages that this process has fetched. The pages in the status are those of
// the partitions that a node holds, of all its runs.
func (n *Node) PagesFetched() int64 { return n.report.Pages() }

// Nodes lists every node that was ever heard of.
func (n *Node) Nodes(context.Context) ([]crawl.NodeStatus, error) {
	return n.report.Status(false).Nodes, nil
}

// Metrics serves the Prometheus exposition.
func (n *Node) Metrics() http.Handler { return n.metrics.Handler() }

// Events returns the first events after an id, limit at most, oldest first; with
// id 0 the newest ones. The oldest are forgotten (events.Kept).
func (n *Node) Events(_ context.Context, after uint64, limit int) ([]crawl.Event, error) {
	return n.events.After(after, max(limit, 0)), nil
}

// EventNews returns a channel that is closed with the next event. Take it before asking for Events.
func (n *Node) EventNews() <-chan struct{} { return n.events.News() }

// reportedNode is the node as package report sees it.
type reportedNode struct{ node *Node }

func (r reportedNode) Engine() (*scheduler.Dispatcher, *handoff.Driver) {
	if e := r.node.engine.Load(); e != nil {
		return e.dispatcher, e.moves
	}
	return nil, nil
}

func (r reportedNode) Listed() bool                   { return r.node.listed() }
func (r reportedNode) Synced() bool                   { return r.node.synced.Load() }
func (r reportedNode) Draining() bool                 { return r.node.draining.Load() }
func (r reportedNode) Ready() (ok bool, why string)   { return r.node.Ready() }
func (r reportedNode) MayCrawl() bool                 { return r.node.mayCrawl() }
func (r reportedNode) View() crawl.Epoch              { return r.node.viewNumber() }
func (r reportedNode) Partitions() int                { return r.node.partitions() }
func (r reportedNode) Held() []byte                   { return r.node.heldBits() }
func (r reportedNode) Others() []membership.Member    { return r.node.others() }
func (r reportedNode) Reachable(id crawl.NodeID) bool { return r.node.reachable(id) }
func (r reportedNode) WhyNotIdle() string             { return r.node.whyNotIdle() }
func (r reportedNode) Activity() uint64               { return r.node.activity() }

func (r reportedNode) Behind(now time.Time) ([]string, time.Time) {
	return r.node.spread.Behind(now)
}

// watchEvery is how often the end of a change of members is looked for.
const watchEvery = 100 * time.Millisecond

// measure samples the totals once a second, looks at the disk, at once when a page has
// found it low, and sees a change of members to its end.
func (n *Node) measure(ctx context.Context) error {
	tick, look := ticks.New(time.Second), ticks.New(watchEvery)
	defer tick.Stop()
	defer look.Stop()
	var around status.Lookout
	for {
		n.report.SampleTotals()
		n.breadth.Look(n.report.Load())
		n.heap.Look(n.report.Busy(time.Now()))
		n.lookAround(&around, time.Now())
		n.lookAtDisk()
		n.watchBotKeys(time.Now())
		if err := n.resumeFinished(); err != nil {
			return err
		}
		if !n.watchUntil(ctx, tick.C, look.C) {
			return nil
		}
	}
}

// watchUntil does what cannot wait for the next tick, until that comes; false: ctx ended.
func (n *Node) watchUntil(ctx context.Context, tick, look <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick:
			return true
		case now := <-look:
			n.watchChange(now)
		case <-n.space.Fell():
			n.lookAtDisk()
		}
	}
}

// lookAround adds the events that the status of this moment shows and that of a second ago did
// not. It costs as much as a /status.
func (n *Node) lookAround(o *status.Lookout, now time.Time) {
	p, s := n.report.Look(now)
	for _, e := range o.Look(&p, s) {
		n.events.Add(e)
	}
}

// lookAtDisk pauses fetching when the disk is low, and resumes it when there is space again.
func (n *Node) lookAtDisk() {
	if n.space.Look() {
		n.documentChanged()
	}
}

// stallChanged acts on a disk that does not answer any more, or answers again.
func (n *Node) stallChanged(s *disk.Stall, wait time.Duration) {
	n.members.SetStalled(s != nil)
	if e := n.engine.Load(); e != nil && s == nil {
		e.dispatcher.Wake() // mayFetch may say yes again
	}
	if s == nil {
		n.log.Info("the disk answers again")
	} else {
		n.log.Error("the disk does not answer; this node asks for no lease until it does", "waiting",
			s.What, "for", wait.Round(time.Millisecond))
	}
	n.heartbeat.Soon()
}
