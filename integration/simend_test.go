package integration

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/storage"
)

// This file holds what must come true after the last fault.

// finished waits until every node reports that the crawl has ended, with the same count of pages.
// Then each page was counted once, and each URL is known once, however often its link came and
// whichever node got it.
func (s *simulation) finished(within time.Duration) bool {
	s.t.Helper()
	pages, known := int64(0), int64(0)
	ended := s.until(within, func() string {
		least, most := int64(math.MaxInt64), int64(0)
		for _, name := range s.up() {
			m, st := s.members[name], s.status(name)
			reason, ok := m.life.Finished()
			if !ok || reason != crawl.FinishExhausted || !st.Ring.Converged ||
				st.Cluster.State != crawl.ClusterFinished {
				return fmt.Sprintf("I7: %s: finished %v (%q), cluster %+v, ring %+v, frontier %+v", name, ok,
					reason, st.Cluster, st.Ring, st.Frontier)
			}
			least, most = min(least, st.Throughput.PagesTotal), max(most, st.Throughput.PagesTotal)
		}
		if least != most {
			return fmt.Sprintf("I7: the nodes count %d to %d pages", least, most)
		}
		pages, known = most, s.status(s.up()[0]).Frontier.SeenTotal
		return ""
	})
	if ended && (pages != int64(s.web.size()) || known != int64(s.web.known())) {
		s.t.Errorf("I4: the frontier counts %d pages and %d known URLs, the web has %d and %d", pages,
			known, s.web.size(), s.web.known())
	}
	return ended
}

// convergeWithin is how long a cluster may take after the last fault until every partition is
// served and has all its copies: suspicions, fences, and new copies.
const convergeWithin = time.Minute

// converges waits until everything has recovered.
func (s *simulation) converges() {
	s.t.Helper()
	began := time.Now()
	ok := s.until(convergeWithin, func() string {
		for _, name := range s.up() {
			ring := s.status(name).Ring
			if lacking := ring.UnderReplicated; ring.Served < simPartitions ||
				lacking > 0 && len(s.up()) >= simReplication {
				return fmt.Sprintf("%s: %d partitions are served, %d have too few copies: %+v", name,
					ring.Served, lacking, ring)
			}
		}
		return ""
	})
	if ok {
		s.note("converged after %v", time.Since(began))
	}
}

// swept waits until no node keeps a partition twice: copies that were abandoned, and
// what was handed over and came back, leave generations that are to be deleted.
func (s *simulation) swept(within time.Duration) {
	s.t.Helper()
	s.until(within, func() string {
		for _, name := range s.up() {
			dead, err := deadGenerations(s.members[name].store)
			if err != nil || dead > 0 {
				return fmt.Sprintf("%s has %d partitions in more than one generation (%v)", name, dead, err)
			}
		}
		return ""
	})
}

// deadGenerations counts the partitions of which a store has more than one generation:
// each key begins with two bytes of the partition and four of the generation.
func deadGenerations(store *storage.Memory) (int, error) {
	snap, err := store.Snapshot()
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	it := snap.Iterate(nil)
	defer it.Close()
	dead, last := 0, []byte(nil)
	for it.Seek(nil); it.Valid(); it.Next() {
		key := it.Key()
		if len(last) > 0 && bytes.Equal(last[:2], key[:2]) && !bytes.Equal(last, key[:6]) {
			dead++
		}
		last = append(last[:0], key[:6]...)
	}
	return dead, nil
}
