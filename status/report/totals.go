package report

import (
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/status"
)

// fetchCounters count what this process has done since its start. The partitions' counters
// cannot be used for that: they move between nodes, and a Prometheus counter must never fall.
type fetchCounters struct {
	mu sync.Mutex // guards c
	c  crawl.Counters
}

// observe counts one outcome.
func (f *fetchCounters) observe(o *crawl.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &f.c
	c.LinksFound += int64(o.LinksFound)
	for i, n := range o.Skipped {
		c.Skipped[i] += n
	}
	switch o.Kind {
	case crawl.RobotsFetched:
		c.Robots++
	case crawl.Refused:
		c.Skipped[o.Skip]++
	case crawl.HostFailed, crawl.Blocked:
		c.Errors[o.Category]++
	case crawl.URLFailed:
		if o.Status == 0 { // else it is an answer, of a status that is tried again
			c.Errors[o.Category]++
		}
	case crawl.Fetched:
		if !o.IsSitemap {
			c.Pages++
		}
	case crawl.Aborted:
		if o.Category == crawl.ErrProxy {
			c.Errors[o.Category]++
		}
	case crawl.RateLimited, crawl.RobotsPending, crawl.Lost:
	}
	if o.Status >= 200 && o.Status < 600 && o.Kind != crawl.RobotsFetched && o.Kind != crawl.RobotsPending {
		c.Responses[o.Status/100-2]++
		c.Observe(o.Took.Milliseconds())
	}
	c.CountDefects(o)
	c.CountWall(o)
	c.CountLeftOut(o)
	c.Bytes += o.Bytes
}

func (f *fetchCounters) read() crawl.Counters {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.c
}

// Observe counts the outcome of a visit.
func (r *Reporter) Observe(o *crawl.Outcome) { r.fetched.observe(o) }

// SampleTotals measures speeds; node calls it once a second.
func (r *Reporter) SampleTotals() {
	now := time.Now()
	all, others := r.Front.Totals(), status.Speeds{}
	reports := r.Peers.All()
	for _, m := range r.Node.Others() {
		if other, ok := reports[m.ID]; ok {
			all.Plus(&other.Block.Counters)
			if now.Sub(other.Heard) < status.StaleAfter {
				others.Bytes += other.Block.BytesInPerSecond
				if rate := other.Block.Node.PagesPerSecond; rate != nil {
					others.Pages += *rate
				}
			}
		}
	}
	fetched, w := r.fetched.read(), r.Outputs.Archive().Stats()
	var moved int64
	if _, moves := r.Node.Engine(); moves != nil {
		moved = moves.BytesMoved()
	}
	cpu, busy, everybody := r.Processors()
	doc := r.Documents.Current().Doc
	r.meter.Sample(now, status.Totals{Pages: fetched.Pages, Bytes: fetched.Bytes, Moved: moved,
		Written: w.Written, Records: w.Records,
		Others: others, Average: status.AverageOf(&all, doc.RunningFor(now)), Runs: doc.RunSince != nil,
		CPU: cpu, BusyTicks: busy, AllTicks: everybody, DiskWait: r.Front.Waited().Microseconds()})
}
