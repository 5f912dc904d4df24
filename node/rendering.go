package node

import (
	"context"
	"fmt"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/render"
	"crawlnode/settings/crawldoc"
)

// This file fits package render to the rest of the node.

// cacheShare is the part of --memory for what pages in the browser share.
const cacheShare = 16

// openRenderer makes what shows pages to a browser. A node that was started with --render, or
// with rules for sites that have pages shown, needs one; another that takes such settings over
// says in its health that it has none.
func (n *Node) openRenderer() (err error) {
	c := &n.cfg
	n.renderer, err = render.New(render.Options{
		Self:       n.id,
		Dir:        n.dir.Join("browser"),
		Browser:    c.Browser,
		Renderers:  c.Renderers,
		Timeout:    c.RenderTimeout,
		Memory:     int64(c.RenderMemory),
		CacheBytes: int(c.Memory) / cacheShare,
		Fetchers:   c.Fetchers,
		Rules:      n.pipelineRules,
		Partitions: n.partitions,
		Holder:     n.router.Holder,
		Call:       n.askPart,
		Look:       n.lookForErrands,
		Log:        n.log,
	})
	if err != nil {
		return err
	}
	switch missing := n.renderer.Missing(); {
	case missing == nil:
	case c.Render != "" && c.Render != crawl.RenderOff:
		return usageError(missing)
	case sitesRender(c, n.version):
		return usageError(fmt.Errorf("--sites has a rule with render: %w, "+
			"or take render out of the rules", missing))
	}
	return nil
}

// sitesRender reports whether the rules for sites with which a node was started have pages shown
// to a browser.
func sitesRender(c *config.Config, version string) bool {
	s := c.Settings(version)
	table, err := crawldoc.CompileSites(&s)
	return err == nil && table.Renders() // rules with errors were refused before
}

// askPart asks the holder of a host for what a page in this node's browser asks for.
func (n *Node) askPart(
	ctx context.Context,
	to crawl.NodeID,
	req *peer.PartRequest,
) (*peer.PartReply, error) {
	return peer.CallWithin(ctx, render.Patience, n.pool, n.target(to), req, peer.PeerClient.Part)
}

// Part answers another node whose browser shows a page.
func (h handler) Part(
	ctx context.Context,
	_ string,
	req *peer.PartRequest,
) (*peer.PartReply, error) {
	return h.node.renderer.Serve(ctx, req)
}

// lookForErrands tells the dispatcher that a page in the browser waits for something.
func (n *Node) lookForErrands() {
	if e := n.engine.Load(); e != nil {
		e.dispatcher.Look()
	}
}
