package archive

import (
	"sync"
	"time"

	"crawlnode/crawl"
)

// original is where a payload was stored first, as a revisit record names it.
type original struct {
	id   recordID
	uri  string
	date time.Time
}

// seen remembers payload digests, in two generations: when the young one is
// full, the old one is forgotten. So between half and all of the limit is kept.
type seen struct {
	mu         sync.Mutex // guards young and old
	half       int
	young, old map[[20]byte]original
}

func newSeen(limit int) *seen {
	return &seen{half: max(limit/2, 1), young: make(map[[20]byte]original)}
}

// countable reports whether c's digest stands for its content: not when the payload
// is empty, and not when it was cut, because then only the beginnings are alike.
func countable(c *crawl.Capture) bool { return len(c.Body) > 0 && c.Truncated == "" }

// find returns the first capture with the payload of c.
func (s *seen) find(c *crawl.Capture) (original, bool) {
	if !countable(c) {
		return original{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.young[c.Digest]
	if !ok {
		o, ok = s.old[c.Digest]
	}
	return o, ok
}

// add notes c, whose response record has been written.
func (s *seen) add(c *crawl.Capture, id recordID) {
	if !countable(c) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.young) >= s.half {
		s.old, s.young = s.young, make(map[[20]byte]original)
	}
	s.young[c.Digest] = original{id: id, uri: c.URL.String(), date: c.FetchedAt}
}
