package report

import (
	"crawlnode/crawl"
	"crawlnode/metrics"
)

// workers is the part of the block about workers.
func (r *Reporter) workers() crawl.WorkersStatus {
	c := r.Leased()
	return crawl.WorkersStatus{Active: int64(c.Workers), Leases: int64(c.Leases), LeasedURLs: int64(c.Open), ExpiredTotal: c.Expired}
}

// sampleWorkers are the same figures for the metrics.
func (r *Reporter) sampleWorkers() metrics.Workers {
	c := r.Leased()
	return metrics.Workers{Active: int64(c.Workers), Leases: int64(c.Leases), URLs: int64(c.Open), Expired: c.Expired, Results: c.Settled}
}
