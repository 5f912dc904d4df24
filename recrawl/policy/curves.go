package policy

import (
	"slices"
	"strings"

	"crawlnode/crawl"
)

// Version orders the curves of one node: its boot, then a count.
type Version struct {
	Boot  crawl.Boot
	Count uint64
}

func (v Version) newer(than Version) bool {
	return v.Boot > than.Boot || v.Boot == than.Boot && v.Count > than.Count
}

// Curves keeps the newest curve of each member. Put is idempotent and its order does not matter, so
// members that have got the same curves compute the same price. One goroutine owns it.
type Curves struct {
	of map[crawl.NodeID]versioned
}

type versioned struct {
	version Version
	curve   Curve
}

// Put takes a node's curve, unless a newer one is known.
func (s *Curves) Put(id crawl.NodeID, v Version, c Curve) {
	if old, ok := s.of[id]; ok && !v.newer(old.version) {
		return
	}
	if s.of == nil {
		s.of = make(map[crawl.NodeID]versioned)
	}
	s.of[id] = versioned{v, c}
}

// Keep drops the curves of nodes that are no members.
func (s *Curves) Keep(members []crawl.NodeID) {
	for id := range s.of {
		if !slices.Contains(members, id) {
			delete(s.of, id)
		}
	}
}

// Sum is what the pages of all members want. It is added up in the order of their ids, so that
// equal curves give the same bits.
func (s *Curves) Sum() Curve {
	ids := make([]crawl.NodeID, 0, len(s.of))
	for id := range s.of {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b crawl.NodeID) int { return strings.Compare(string(a), string(b)) })
	var sum Curve
	for _, id := range ids {
		c := s.of[id].curve
		sum.Plus(&c)
	}
	return sum
}
