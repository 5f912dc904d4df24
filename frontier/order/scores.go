package order

import (
	"sync"

	"crawlnode/importance/opic"
)

const (
	// scoreBuckets divide the scores from 0 to 1.
	scoreBuckets = 1024
	// mostScores is how many scores are remembered; then half of them is forgotten.
	mostScores = 1 << 16
	// mostBases is how many of the last bases are remembered.
	mostBases = 256
)

// Scores are the scores of the URLs that were found last on one node, about. They are in memory
// only: after a start bands are cut evenly until some are known. Hosts are spread over the nodes as
// good as at random, so what one node finds stands for what all find. Its methods may be called
// from many goroutines.
type Scores struct {
	mu     sync.Mutex // guards the rest
	counts [scoreBuckets]int32
	total  int
	bases  [mostBases]uint8
	filled int // bases that are known
	next   int // of bases, to be written
	turn   int // of bases, to be read
}

// admitted notes the base of a URL that was found.
func (s *Scores) admitted(base uint8) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bases[s.next] = base
	s.next = (s.next + 1) % mostBases
	s.filled = min(s.filled+1, mostBases)
}

// Typical is the mean base of the last URLs, 0 to 1.
func (s *Scores) Typical() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filled == 0 {
		return 0
	}
	sum := 0
	for _, b := range s.bases[:s.filled] {
		sum += int(b)
	}
	return float64(sum) / float64(s.filled) / maxBase
}

// Linked counts what links say of URLs whose bases are not at hand: each counts with the base of
// one that was found lately, and a change with the usual base.
func (s *Scores) Linked(typical float64, changes []Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		if c.Before < 0 && s.filled > 0 {
			s.turn = (s.turn + 1) % s.filled
			s.addLocked(float64(s.bases[s.turn])/maxBase+c.Now, 1)
			continue
		}
		if c.Before >= 0 {
			s.addLocked(typical+c.Before, -1)
		}
		s.addLocked(typical+c.Now, 1)
	}
}

// Change is the link part of a URL's score, before and now; Before is negative when the URL was not
// known.
type Change struct{ Before, Now float64 }

// Count counts a score in the place of another; a negative one is none.
func (s *Scores) Count(before, now float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before >= 0 {
		s.addLocked(before, -1)
	}
	s.addLocked(now, 1)
}

// addLocked counts a score n times more. What was forgotten meanwhile is not taken away again.
func (s *Scores) addLocked(score float64, n int32) {
	at := min(max(int(score*scoreBuckets), 0), scoreBuckets-1)
	if s.counts[at]+n < 0 {
		return
	}
	s.counts[at] += n
	if s.total += int(n); s.total < mostScores {
		return
	}
	s.total = 0
	for i := range s.counts {
		s.counts[i] /= 2
		s.total += int(s.counts[i])
	}
}

// Histogram is the scores, as opic.CutsOf takes them.
func (s *Scores) Histogram() *opic.Histogram {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &opic.Histogram{}
	for i, n := range s.counts {
		if n > 0 {
			opic.CountScore(h, (float64(i)+0.5)/scoreBuckets, int64(n))
		}
	}
	return h
}
