package report

import (
	"runtime"
	"slices"

	"crawlnode/crawl"
	"crawlnode/node/status"
)

// bottleneck is what holds this node back, judged by its block and its load.
func (r *Reporter) bottleneck(b *crawl.NodeBlock) crawl.BottleneckStatus {
	s := status.Strain{Queued: b.Counters.QueuedTotal(), InFlight: b.InFlight, Hosts: b.Hosts, Busy: *b.Node.Fetchers.Busy, Fetchers: *b.Node.Fetchers.Max,
		Processors: runtime.GOMAXPROCS(0), Syncing: r.Config.Sync, Paused: r.PausedReason(b.NoLease), FetchOff: r.Config.Fetch == "off"}
	s.Revisits, s.Due = r.Documents.Current().Doc.Settings.Revisits(), b.Revisits.Due
	if b.Index != nil {
		s.Unindexed = b.Index.Waiting
	}
	if b.Render != nil {
		s.Unrendered, s.Rendering, s.Renderers = b.Render.Queued, b.Render.Busy, b.Render.Max
	}
	for _, v := range r.Space.Short() {
		lack, until := v.Lacks()
		s.Short = append(s.Short, lack+": "+until)
	}
	if full := r.Outputs.Shortage(); len(s.Short) == 0 && !full.Since.IsZero() {
		s.Short = append(s.Short, "the archive finds no space at "+full.Path+": free some there, or allow more; it goes on by itself")
	}
	s.CPU, s.Machine, s.DiskWait = r.meter.Strain()
	s.CPU /= float64(s.Processors)
	s.DNSDown = slices.ContainsFunc(b.Reasons, func(h crawl.HealthReason) bool { return h.Code == crawl.ReasonDNSDown })
	if b.Handoff.Active {
		s.Moves, s.Leaving = b.Handoff.PartitionsTotal, max(b.Handoff.PartitionsTotal-b.Handoff.PartitionsDone, 1)
	}
	if d, _ := r.Node.Engine(); d != nil {
		s.Lookups = d.Lookups()
	}
	return status.BottleneckOf(&s)
}
