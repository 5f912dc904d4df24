package report

import (
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/metrics"
)

// This file is what a node says of the visits of known pages.

// revisits is that part of the block. c are the counters of the held partitions.
func (r *Reporter) revisits(now time.Time, c *crawl.Counters) crawl.RevisitBlock {
	if !r.Documents.Current().Doc.Settings.Revisits() {
		return crawl.RevisitBlock{}
	}
	return r.Revisits.Block(now, c.QueuedRevisits)
}

// overduePatience is how long a due page may wait for a place in the queue before the operator is told;
// longer when intervals are.
const overduePatience = 10 * time.Minute

// overdueReasons say that this node does not keep up with its due pages.
func (r *Reporter) overdueReasons(now time.Time) []crawl.HealthReason {
	s := &r.Documents.Current().Doc.Settings
	late := r.Revisits.Figures().Late
	if !s.Revisits() || !r.Node.MayCrawl() || late < max(overduePatience, s.RecrawlMin) {
		return nil
	}
	return []crawl.HealthReason{{Code: crawl.ReasonOverdue, Since: now.Add(-late).UTC(), Message: fmt.Sprintf(
		"%s does not keep up with its due pages: the first one has waited for %v for a place in the queue; more --fetchers, another node, or fewer visits help: crawlnode crawl-config set recrawl-interval=LONGER recrawl-min=LONGER; while new URLs wait, recrawl-share=%v is the part of the fetches that due pages get",
		r.Name, late.Round(time.Second), s.RecrawlShare)}}
}

// sampleIndex fills the metrics of the index.
func (r *Reporter) sampleIndex(s *metrics.Sample) {
	if b := r.Index(); b != nil {
		s.Index = metrics.Index{Documents: &b.Documents, Bytes: &b.Bytes, Waiting: &b.Waiting, Behind: &b.BehindSeconds, Questions: b.Queries}
	}
}

// sampleRevisits fills the metrics of revisits.
func (r *Reporter) sampleRevisits(s *metrics.Sample, held *crawl.Counters) {
	v := &s.Revisits
	v.Total = r.Revisits.Visited()
	v.Results = metrics.Counts{"not_modified": held.NotModified, "unchanged": held.Unchanged, "changed": held.Changed, "gone": held.Gone}
	set := &r.Documents.Current().Doc.Settings
	if !set.Revisits() {
		return
	}
	f := r.Revisits.Figures()
	late, due := f.Late.Seconds(), f.Waiting+held.QueuedRevisits
	v.Late, v.Due, v.Capacity, v.Expected = &late, &due, &f.Capacity, r.Revisits.Expected()
	if f.Price > 0 {
		v.Price = &f.Price
	}
}
