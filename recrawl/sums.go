package recrawl

import (
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/layout"
	"crawlnode/recrawl/policy"
	"crawlnode/recrawl/policy/estimate"
	"crawlnode/recrawl/visits"
)

// sum counts pages: what they want, and what is believed of each kind.
type sum struct {
	demand policy.Demand
	pools  Pools
	pages  float64
}

// add counts a page so many times.
func (s *sum) add(e *frontier.Estimate, times float64) {
	g := estimate.UnpackGamma(e.Belief)
	weight := visits.UnpackWeight(e.Weight)
	kind := min(int(e.Flags&layout.DueKind), Kinds-1)
	known := e.Flags&layout.DueKnown != 0 // else it says nothing of other pages
	if times > 0 {
		s.demand.Add(g, weight)
		if known {
			s.pools[kind].Add(g)
		}
	} else {
		s.demand.Remove(g, weight)
		if known {
			s.pools[kind].Remove(g)
		}
	}
	s.pages += times
}

// plus adds the pages of o.
func (s *sum) plus(o *sum) {
	s.demand.Plus(&o.demand)
	s.pools.plus(&o.pools)
	s.pages += o.pages
}

// minus takes away the pages of o.
func (s *sum) minus(o *sum) {
	s.demand.Minus(&o.demand)
	s.pools.minus(&o.pools)
	s.pages -= o.pages
}

// shelves is the number of sums that a node keeps: partitions share them when it holds more. A sum
// takes 21 KB.
const shelves = 1024

// shelf is the sum of the partitions whose numbers leave the same rest.
type shelf struct {
	holds    map[crawl.Partition]crawl.Epoch
	sum      *sum // nil: no page, or not counted yet
	counted  bool
	counting bool                     // a count is under way
	begun    map[crawl.Partition]bool // partitions that it has come to
	since    *sum                     // what has changed since it began; nil: nothing
	stale    bool                     // a partition came or went since the last count
	at       time.Time                // of the last count
}

// sums counts the pages of the held partitions. Its methods may be called from any goroutine.
type sums struct {
	mu      sync.Mutex // guards the rest; held for moments
	shelves map[int]*shelf
	total   sum
	stale   int
}

// follow takes over which partitions are held, and returns which came and which went.
func (s *sums) follow(held map[crawl.Partition]crawl.Epoch) (came, gone []crawl.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sh := range s.shelves {
		for p, epoch := range sh.holds {
			if held[p] != epoch {
				delete(sh.holds, p)
				gone = append(gone, p)
				s.leaveLocked(sh)
			}
		}
	}
	for p, epoch := range held {
		sh := s.shelves[int(p)%shelves]
		if sh == nil {
			if s.shelves == nil {
				s.shelves = map[int]*shelf{}
			}
			sh = &shelf{holds: map[crawl.Partition]crawl.Epoch{}}
			s.shelves[int(p)%shelves] = sh
		}
		if _, ok := sh.holds[p]; !ok {
			sh.holds[p] = epoch
			came = append(came, p)
			s.spoilLocked(sh)
		}
	}
	return came, gone
}

// leaveLocked acts on a partition that has left a shelf.
func (s *sums) leaveLocked(sh *shelf) {
	if len(sh.holds) > 0 {
		s.spoilLocked(sh) // the others are counted again
		return
	}
	if sh.sum != nil {
		s.total.minus(sh.sum)
	}
	if sh.stale {
		s.stale--
	}
	*sh = shelf{holds: sh.holds}
}

func (s *sums) spoilLocked(sh *shelf) {
	if !sh.stale {
		sh.stale = true
		s.stale++
	}
}

// replanned takes in what a page of p counted for and counts for now.
func (s *sums) replanned(p crawl.Partition, before, after *frontier.Estimate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.shelves[int(p)%shelves]
	if sh == nil {
		return
	}
	change := func(to **sum) {
		if *to == nil {
			*to = &sum{}
		}
		if before != nil {
			(*to).add(before, -1)
		}
		if after != nil {
			(*to).add(after, 1)
		}
	}
	if sh.begun[p] {
		change(&sh.since)
	}
	if sh.counted {
		change(&sh.sum)
		total := &s.total
		change(&total)
	}
}

// next is the shelf to be counted: one that changed hands, else the one that was counted longest
// ago; partitions are those on it. rest is how long after the last count of a shelf it is counted
// again.
func (s *sums) next(
	now time.Time,
	rest time.Duration,
) (key int, partitions []crawl.Partition, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best *shelf
	for k, sh := range s.shelves {
		if len(sh.holds) == 0 || !sh.stale && now.Sub(sh.at) < rest {
			continue
		}
		if best == nil || sh.stale && !best.stale ||
			sh.stale == best.stale && (sh.at.Before(best.at) || sh.at.Equal(best.at) && k < key) {
			best, key = sh, k
		}
	}
	if best == nil {
		return 0, nil, false
	}
	for p := range best.holds {
		partitions = append(partitions, p)
	}
	if best.stale {
		s.stale--
	}
	best.stale, best.counting, best.since, best.begun = false, true, nil, map[crawl.Partition]bool{}
	return key, partitions, true
}

// begin says that a partition's pages are read now: what changes before is in what is read.
func (s *sums) begin(p crawl.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.shelves[int(p)%shelves]; sh != nil && sh.counting {
		sh.begun[p] = true
	}
}

// counted takes in the count of a shelf. It is dropped when the shelf has become empty meanwhile.
func (s *sums) counted(now time.Time, key int, c *sum) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.shelves[key]
	if sh == nil || !sh.counting {
		return
	}
	if sh.since != nil {
		c.plus(sh.since)
	}
	if sh.sum != nil {
		s.total.minus(sh.sum)
	}
	s.total.plus(c)
	sh.sum, sh.counted, sh.counting, sh.since, sh.begun, sh.at = c, true, false, nil, nil, now
	if c.pages == 0 {
		sh.sum = nil // most partitions of a small crawl are empty
	}
}

// read returns the sum of all shelves, and by how many partitions it is short.
func (s *sums) read() (all sum, held, uncounted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sh := range s.shelves {
		held += len(sh.holds)
		if !sh.counted {
			uncounted += len(sh.holds)
		}
	}
	return s.total, held, uncounted
}

// unsettled reports whether partitions came or went that are not counted yet.
func (s *sums) unsettled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stale > 0
}

// clear forgets all counts.
func (s *sums) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shelves, s.total, s.stale = nil, sum{}, 0
}
