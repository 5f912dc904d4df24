package status

import "crawlnode/crawl"

// fillWorkers fills the block of workers, of the nodes that run. A lease counts at each node that has a URL of it.
func fillWorkers(s *crawl.Status, p *Picture) {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !n.Counts || !n.live() {
			continue
		}
		w := &n.Block.Workers
		s.Workers.Active += w.Active
		s.Workers.Leases += w.Leases
		s.Workers.LeasedURLs += w.LeasedURLs
		s.Workers.ExpiredTotal += w.ExpiredTotal
	}
}
