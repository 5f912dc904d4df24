package report

import "crawlnode/crawl"

// workers is the part of the block about workers.
func (r *Reporter) workers() crawl.WorkersStatus {
	c := r.Leased()
	return crawl.WorkersStatus{Active: int64(c.Workers), Leases: int64(c.Leases), LeasedURLs: int64(c.Open), ExpiredTotal: c.Expired}
}
