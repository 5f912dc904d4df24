package node

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/render"
)

// This file fits package render to the rest of the node.

// cacheShare is the part of --memory for what pages in the browser share.
const cacheShare = 16

// openRenderer makes what shows pages to a browser. A node that was started with --render needs one; another that takes
// such settings over says in its health that it has none.
func (n *Node) openRenderer() (err error) {
	c := &n.cfg
	n.renderer, err = render.New(render.Options{Self: n.id, Dir: n.dir.Join("browser"), Browser: c.Browser, Renderers: c.Renderers, Timeout: c.RenderTimeout,
		Memory: int64(c.RenderMemory), CacheBytes: int(c.Memory) / cacheShare, Fetchers: c.Fetchers, Rules: n.pipelineRules, Partitions: n.partitions,
		Holder: n.router.Holder, Call: n.askPart, Look: n.lookForErrands, Log: n.log})
	if err != nil {
		return err
	}
	if missing := n.renderer.Missing(); missing != nil && c.Render != "" && c.Render != "off" {
		return usageError(missing)
	}
	return nil
}

// askPart asks the holder of a host for what a page in this node's browser asks for.
func (n *Node) askPart(ctx context.Context, to crawl.NodeID, req *peer.PartRequest) (*peer.PartReply, error) {
	return peer.CallWithin(ctx, render.Patience, n.pool, n.target(to), req, peer.PeerClient.Part)
}

// Part answers another node whose browser shows a page.
func (h handler) Part(ctx context.Context, _ string, req *peer.PartRequest) (*peer.PartReply, error) {
	return h.node.renderer.Serve(ctx, req)
}

// lookForErrands tells the dispatcher that a page in the browser waits for something.
func (n *Node) lookForErrands() {
	if e := n.engine.Load(); e != nil {
		e.dispatcher.Look()
	}
}
