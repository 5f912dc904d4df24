package status

import "crawlnode/crawl"

// fillRender fills the block of the browsers, those of running nodes.
func fillRender(s *crawl.Status, p *Picture) {
	x := &s.Render
	if x.Mode = p.Doc.Settings.Render; x.Mode == "" {
		x.Mode = crawl.RenderOff
	}
	var c crawl.Counters // its histogram has the buckets of the pages
	for i := range p.Nodes {
		n := &p.Nodes[i]
		b := n.Block.Render
		if b == nil || !n.Counts || !n.live() {
			continue
		}
		if n.Block.Node.ID == p.Self && b.Browser != "" {
			x.Browser = &b.Browser
		}
		x.Queued += b.Queued
		x.Busy += b.Busy
		x.Max += b.Max
		x.PagesTotal += b.Pages
		x.FailedTotal += b.Failed
		x.TimeoutsTotal += b.Timeouts
		x.RestartsTotal += b.Restarts
		x.RefusedRequestsTotal += b.Refused
		x.CacheHitsTotal += b.Hits
		for k := range min(len(b.Buckets), len(c.Latency)) {
			c.Latency[k] += b.Buckets[k]
		}
	}
	x.Seconds = c.LatencyQuantiles()
}
