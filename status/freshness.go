package status

import (
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/settings/crawldoc"
)

// This file makes what the status says of revisits.

// Waiting reports whether the crawl waits until a known page is due: a member has found so in two
// rounds, and since then no member has reported that it has anything to do. It is no state
// of the crawl document: then each page that becomes due would cost a change of it on all nodes.
func Waiting(doc *crawldoc.Document, nodes []Node) bool {
	if doc.State != crawl.CrawlRunning || !doc.Settings.Revisits() {
		return false
	}
	found := false
	for i := range nodes {
		n := &nodes[i]
		if !n.Counts {
			continue
		}
		if !n.live() || !n.Block.Idle {
			return false
		}
		found = found || n.Block.Waiting
	}
	return found
}

// nextDue is the time until the next known page is due, as the members have told; false: there is
// none, or it is not known.
func (p *Picture) nextDue() (next time.Duration, ok bool) {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if d := n.Block.Revisits.NextDue; n.Counts && n.live() && d != nil {
			if left := max(*d-n.Age, 0); !ok || left < next {
				next, ok = left, true
			}
		}
	}
	return next, ok
}

// moreDue is what would bring work while nothing is due.
const moreDue = "more seeds, a wider scope or shorter intervals (--recrawl-interval, --recrawl-min) would bring work"

// revisitText says what a waiting crawl waits for.
func revisitText(p *Picture) string {
	next, ok := p.nextDue()
	if !ok {
		return "every known URL was fetched, and no page has a next visit"
	}
	return fmt.Sprintf("every known URL was fetched; the next page is due in %v, at %s", roughly(next), p.Now.Add(next).UTC().Format(time.RFC3339))
}

// roughly is a duration for people.
func roughly(d time.Duration) time.Duration {
	if d < time.Minute {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// fillFreshness fills the block of revisits. c are the counters of all members.
func fillFreshness(s *crawl.Status, p *Picture, c *crawl.Counters) {
	f := &s.Freshness
	f.Mode = crawl.RecrawlOff
	set := &p.Doc.Settings
	f.OverdueSeconds = c.OverdueQuantiles()
	f.RevisitsTotal, f.NotModifiedTotal, f.UnchangedTotal, f.ChangedTotal, f.GoneTotal = c.Revisits, c.NotModified, c.Unchanged, c.Changed, c.Gone
	if !set.Revisits() {
		return
	}
	f.Mode = set.Recrawl
	var recent, useful int64
	var planned, kept float64 // each node counts by its pages, not by its visits
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !n.Counts || !n.live() {
			continue
		}
		f.Due += n.Block.Revisits.Due
		recent += n.Block.Revisits.Recent
		useful += n.Block.Revisits.Useful
		if r := &n.Block.Revisits; r.FreshPlanned > 0 && r.FreshKept >= 0 { // an older node says nothing
			planned += r.FreshPlanned
			kept += r.FreshKept
		}
		if e := n.Block.Revisits.Expected; e != nil && (f.Expected == nil || n.Block.Node.ID == p.Self) {
			f.Expected = e
		}
	}
	if f.Expected != nil && planned > 0 {
		e := *f.Expected * min(kept/planned, 1)
		f.Expected = &e
	}
	if recent > 0 {
		share := float64(useful) / float64(recent)
		f.Useful = &share
	}
	if next, ok := p.nextDue(); ok {
		at := p.Now.Add(next).UTC()
		f.NextDueAt = &at
	}
}
