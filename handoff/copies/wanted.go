package copies

import (
	"fmt"
	"sync"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// Wanted are the copies that this node has asked for, to promote them. The zero value
// has none.
//
// A node that promotes a partition needs the best copy of the recorded in-sync
// set. Its own may be of a later tenure and count for nothing: that holder died
// before more than half had recorded a set with this copy in it, and had
// acknowledged nothing. So a copy that was asked for may take the place of one of
// a later epoch; but only of the very one that was here when the copies were
// compared, and only in the same view. That one lost the comparison, so it is outside the
// newest recorded set, or damaged, or has less. Everything that can make it count
// later changes it: the holder of a later tenure takes a copy over by giving it its
// own epoch (AdoptCopy), or replaces it. The tenure of the copy that is replaced cannot
// go on: all members of the view have answered that they hold nothing, and the
// gate refuses every node that is no member.
type Wanted struct {
	mu    sync.Mutex // guards parts
	parts map[crawl.Partition]machine.RequestCopy
}

// Note tells that a copy was asked for.
func (w *Wanted) Note(a machine.RequestCopy) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.parts == nil {
		w.parts = map[crawl.Partition]machine.RequestCopy{}
	}
	w.parts[a.P] = a
}

// Clear forgets all: in another view the copies are compared again.
func (w *Wanted) Clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.parts)
}

// Check refuses a copy that was not asked for. It also refuses one that was, when here,
// what is on the disk now, is not what it was compared with.
func (w *Wanted) Check(
	from crawl.NodeID,
	p crawl.Partition,
	epoch crawl.Epoch,
	here machine.Kept,
) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := w.parts[p]
	if !ok || a.From != from || a.Epoch != epoch {
		return fmt.Errorf(
			"handoff: the copy of partition %d, of epoch %d, was not asked for in this view", p, epoch)
	}
	if a.Here != here {
		return fmt.Errorf(
			"handoff: partition %d has changed since a copy of it was asked for: it is %+v", p, here)
	}
	return nil
}
