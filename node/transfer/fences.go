package transfer

import (
	"slices"
	"sync"

	"crawlnode/crawl"
	"crawlnode/handoff"
	"crawlnode/membership"
)

// Fences remembers which views removed a node that may still be running, or came after
// a view that this node has missed. A node that takes over then waits for the full fence
// (ownership rule 10).
//
// The snapshot shows a view before membership reports it here, so the follower of the
// snapshots waits until Knows is true. Otherwise it would miss a fence.
type Fences struct {
	told chan struct{} // capacity 1: newest has changed

	mu     sync.Mutex // guards the rest
	views  []crawl.Epoch
	newest crawl.Epoch // the newest view that membership has reported
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
	select {
	case f.told <- struct{}{}:
	default:
	}
}

// Told receives when membership has reported a newer view. It has one reader.
func (f *Fences) Told() <-chan struct{} { return f.told }

// Knows reports whether membership has reported the view.
func (f *Fences) Knows(v crawl.Epoch) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest >= v
}

// Take reports whether a view up to this one needs the full fence, once.
func (f *Fences) Take(upTo crawl.Epoch) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.views)
	f.views = slices.DeleteFunc(f.views, func(v crawl.Epoch) bool { return v <= upTo })
	return len(f.views) < before
}

// ViewFor converts a view for the handoff of one boot of a node. fenced: a node that was removed
// may still be running.
func ViewFor(id crawl.NodeID, boot crawl.Boot, snap *membership.Snapshot, fenced bool) handoff.Members {
	v := snap.View
	self, listed := v.Member(id)
	m := handoff.Members{Boots: make(map[crawl.NodeID]crawl.Boot, len(v.Members))}
	sinces := make(map[crawl.NodeID]crawl.Epoch, len(v.Members))
	m.ViewInstalled = handoff.ViewInstalled{View: v.Number, Table: snap.Table, Since: self.Since, Barred: v.Barred,
		Listed: listed && self.Boot == boot, Fenced: fenced, Sinces: sinces}
	for _, x := range v.Members {
		m.ViewInstalled.Members = append(m.ViewInstalled.Members, x.ID)
		m.Boots[x.ID], sinces[x.ID] = x.Boot, x.Since
	}
	return m
}
