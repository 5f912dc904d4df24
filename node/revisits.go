package node

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/importance"
	"crawlnode/local/datadir"
	"crawlnode/recrawl"
	"crawlnode/recrawl/judge"
	"crawlnode/scheduler"
)

// This file fits package recrawl, and the frontier's judge, to the rest of the node.

func (n *Node) openRevisits() {
	n.revisits = recrawl.New(recrawl.Options{
		Self:   n.id,
		Boot:   n.members.Self().Boot,
		Pages:  n.front,
		Node:   revisitingNode{crawlRules{n}},
		Logger: n.log,
	})
	n.front.SetPlanner(judge.New(n.revisits, crawlRules{n}))
}

// revisitingNode is the node as package recrawl sees it.
type revisitingNode struct{ crawlRules }

func (revisitingNode) Weighted(s *crawl.Settings) bool { return importance.Weighted(s) }
func (r revisitingNode) May() bool                     { return r.node.mayCrawl() }
func (r revisitingNode) Members() []crawl.NodeID       { return r.node.memberIDs() }

func (r revisitingNode) Fetchers() (busy, all int) {
	if e := r.node.engine.Load(); e != nil {
		busy = e.dispatcher.Busy()
	}
	return min(busy, r.node.breadth.Now()), r.node.breadth.Now()
}

// memberIDs are the members of the installed view.
func (n *Node) memberIDs() (ids []crawl.NodeID) {
	if v := n.members.Snapshot().View; v != nil {
		for _, m := range v.Members {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// takeRevisits takes what a member says of its known pages. What cannot be read says nothing.
func (n *Node) takeRevisits(id crawl.NodeID, boot crawl.Boot, said []byte) {
	if err := n.revisits.Take(id, boot, said); err != nil {
		n.log.Debug("what a member says of its known pages is left out", "member", id, "error", err)
	}
}

// countedVisits is the dispatcher as package links sees it; it counts the visits for package
// recrawl.
type countedVisits struct {
	*scheduler.Dispatcher
	keeper *recrawl.Keeper
}

func (c countedVisits) Completed(v crawl.Visit) {
	c.keeper.Completed(&v)
	c.Dispatcher.Completed(v)
}

// revisitRun moves due pages into the queue once the cluster's settings are here.
func (n *Node) revisitRun(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-n.joined:
	}
	if err := n.revisits.Run(ctx); err != nil && ctx.Err() == nil {
		return datadir.Failed("plan and queue known pages", err)
	}
	return nil
}

// dueNow counts the known pages that are about to be queued.
func (n *Node) dueNow() int64 { return n.revisits.Pending(time.Now()) }
