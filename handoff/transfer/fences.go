package transfer

import (
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff"
	"crawlnode/membership"
)

// Fences says how long a node that takes over waits after each view (ownership rule 10). It
// waits for the fence after a view that removed a node that may still be running, after one
// that came behind a view that this node has missed, and after the first one of its process.
//
// The snapshot shows a view before membership reports it here, so the follower of the
// snapshots waits until Knows is true. Otherwise it would miss a fence.
type Fences struct {
	told chan struct{} // capacity 1: newest has changed

	mu     sync.Mutex    // guards the rest
	views  []crawl.Epoch // that need the fence
	taken  bool          // Take was called
	newest crawl.Epoch   // the newest view that membership has reported
}

// NewFences returns Fences without a view.
func NewFences() *Fences { return &Fences{told: make(chan struct{}, 1)} }

// Installed is membership's callback for each view.
func (f *Fences) Installed(v *membership.View, skipped bool) {
	unproved := slices.ContainsFunc(v.Removed, func(r membership.Removal) bool { return !r.Proved })
	f.mu.Lock()
	f.newest = max(f.newest, v.Number)
	if skipped || unproved {
		f.views = append(f.views, v.Number)
	}
	f.mu.Unlock()
	crawl.Signal(f.told)
}

// Told receives when membership has reported a newer view. It has one reader.
func (f *Fences) Told() <-chan struct{} { return f.told }

// Knows reports whether membership has reported the view.
func (f *Fences) Knows(v crawl.Epoch) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest >= v
}

// Take returns the fence of the views up to this one, and forgets it.
func (f *Fences) Take(upTo crawl.Epoch) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, first := len(f.views), !f.taken
	f.views = slices.DeleteFunc(f.views, func(v crawl.Epoch) bool { return v <= upTo })
	f.taken = true
	if first || len(f.views) < before {
		return membership.Fence
	}
	return 0
}

// ViewFor converts a view for the handoff of one boot of a node.
func ViewFor(
	id crawl.NodeID,
	boot crawl.Boot,
	snap *membership.Snapshot,
	fence time.Duration,
) handoff.Members {
	v := snap.View
	self, listed := v.Member(id)
	m := handoff.Members{Boots: make(map[crawl.NodeID]crawl.Boot, len(v.Members))}
	sinces := make(map[crawl.NodeID]crawl.Epoch, len(v.Members))
	m.ViewInstalled = handoff.ViewInstalled{View: v.Number, Table: snap.Table, Since: self.Since,
		Barred: v.Barred, Listed: listed && self.Boot == boot, Fence: fence, Sinces: sinces}
	for _, x := range v.Members {
		m.ViewInstalled.Members = append(m.ViewInstalled.Members, x.ID)
		m.Boots[x.ID], sinces[x.ID] = x.Boot, x.Since
	}
	return m
}
