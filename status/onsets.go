package status

import (
	"maps"
	"sync"
	"time"

	"crawlnode/crawl"
)

// Onsets remembers when each trouble of the cluster began, as this node has seen it: what no node
// reports of itself has no time of its own, and that of the last change of members may be long
// before. The zero value remembers nothing. Several goroutines may use it.
type Onsets struct {
	mu    sync.Mutex
	began map[string]time.Time // guarded by mu; by onset
}

// onset is under which name the beginning of a reason is kept. Partitions that are not served are
// first expected to be taken over, and later not: that is one trouble.
func onset(code string) string {
	if code == crawl.ReasonUnserved {
		return crawl.ReasonTakingOver
	}
	return code
}

// Began is a copy of what is remembered, for a Picture.
func (o *Onsets) Began() map[string]time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.began)
}

// Note takes the document that was made from a Picture of the whole cluster: what it does not
// show any more is over. What it shows for the first time began when it says.
func (o *Onsets) Note(p *Picture, s *crawl.Status) {
	o.mu.Lock()
	defer o.mu.Unlock()
	began := map[string]time.Time{}
	for _, r := range s.Cluster.Health.Reasons {
		key := onset(r.Code)
		if at, ok := o.began[key]; ok {
			began[key] = at
		} else {
			began[key] = r.Since
		}
	}
	o.began = began
}

// began is when a trouble began, as it is remembered; if this is the first document that shows
// it, first.
func (p *Picture) began(code string, first time.Time) time.Time {
	if at, ok := p.Began[onset(code)]; ok {
		return at
	}
	return first
}
