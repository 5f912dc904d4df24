package node

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/membership/heartbeat"
	"crawlnode/peer"
	"crawlnode/settings/spread"
)

// This file fits package spread to the rest of the node, and to people and pages.

// openSpread makes the Spreader; it makes no call.
func (n *Node) openSpread() {
	n.spread = spread.New(spread.Options{
		Self:              n.id,
		Document:          n.doc,
		Cluster:           spreadCluster{n},
		Silence:           2 * heartbeat.Every, // as in the status
		Version:           n.version,
		AllowRemoteUnsafe: n.cfg.AllowRemoteUnsafe,
		Logger:            n.log,
	})
}

// spreadCluster is the cluster as package spread sees it.
type spreadCluster struct{ node *Node }

func (c spreadCluster) View() *membership.View { return c.node.members.View() }
func (c spreadCluster) Ready() error           { return c.node.ready() }
func (c spreadCluster) Founded() bool          { return c.node.founder().Founded() }
func (c spreadCluster) Changed()               { c.node.documentChanged() }

func (c spreadCluster) SilentFor(id crawl.NodeID, now time.Time) time.Duration {
	return c.node.peers.SilentFor(id, now)
}

func (c spreadCluster) Call(
	ctx context.Context,
	to membership.Member,
	req *peer.CrawlRequest,
) (*peer.CrawlReply, error) {
	return peer.Call(ctx, c.node.pool, targetOf(to), req, peer.PeerClient.Crawl)
}

// ready is nil once this node has the cluster's document.
func (n *Node) ready() error {
	if !n.synced.Load() {
		return ErrNotReady
	}
	return nil
}

// Crawl answers another member's exchange of document and scope entries.
func (h handler) Crawl(
	_ context.Context,
	_ string,
	req *peer.CrawlRequest,
) (*peer.CrawlReply, error) {
	return h.node.spread.Serve(req)
}

// CrawlConfig shows the crawl's settings that this node has now.
func (n *Node) CrawlConfig(context.Context) (crawl.CrawlReport, error) {
	return n.report.Crawl(), nil
}

// ChangeCrawl changes settings on all members: spread.Spreader.ChangeSettings.
func (n *Node) ChangeCrawl(
	ctx context.Context,
	change crawl.CrawlChange,
) (crawl.CrawlReport, error) {
	return n.spread.ChangeSettings(ctx, change)
}

// Prepare is the pipeline's: it waits a moment for entries that are on their way. entry,
// unless it is "", is what the page's own URL opens.
func (n *Node) Prepare(ctx context.Context, entry string) (complete bool, err error) {
	complete = n.spread.AwaitComplete(ctx)
	if entry == "" {
		return complete, nil
	}
	return complete, linkScope{n}.AddWhenRoom(ctx, entry)
}
