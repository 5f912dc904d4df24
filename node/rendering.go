package node

import (
	"context"
	"fmt"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/pipeline"
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
		Node:       renderingNode{n},
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

// renderingNode is the node as package render sees it.
type renderingNode struct{ node *Node }

func (r renderingNode) Rules() *pipeline.Rules                { return r.node.pipelineRules() }
func (r renderingNode) Partitions() int                       { return r.node.partitions() }
func (r renderingNode) Holder(p crawl.Partition) crawl.NodeID { return r.node.router.Holder(p) }

func (r renderingNode) Call(
	ctx context.Context,
	to crawl.NodeID,
	req *peer.PartRequest,
) (*peer.PartReply, error) {
	return peer.CallWithin(ctx, render.Patience, r.node.pool, r.node.target(to), req,
		peer.PeerClient.Part)
}

func (r renderingNode) Look() {
	if e := r.node.engine.Load(); e != nil {
		e.dispatcher.Look()
	}
}

// Part answers another node whose browser shows a page.
func (h handler) Part(
	ctx context.Context,
	_ string,
	req *peer.PartRequest,
) (*peer.PartReply, error) {
	return h.node.renderer.Serve(ctx, req)
}
