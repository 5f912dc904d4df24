package handoff

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"crawlnode/crawl"
)

// gatePatience is how long installing a view waits for the changes that are under
// way. A disk that works ends them in less; one that does not must not keep the
// view from being installed, because other members ask about partitions in it.
const gatePatience = time.Second

// errRevoked is returned to a caller whose change has outlasted its view.
var errRevoked = errors.New("handoff: a newer view was installed before the disk had answered")

// gate lets only the members of the installed view change what is here, by the boots
// that the view lists. Installing a view waits for the changes that are under way, so a
// node that has answered an Ask takes nothing more from a node that was removed.
//
// A change that is under way for longer than gatePatience is revoked: it may still reach
// the disk, but its caller gets an error. So no acknowledgement, and no vote for a set,
// counts that was given after the answer. A copy that has changed after an answer
// is noticed, because copies are promoted and followed only at exactly the mutation
// that the answer named.
//
// It is no sync.RWMutex, because changes wait for the disk: in a synctest bubble the
// clock stands still while a goroutine waits for a mutex.
type gate struct {
	mu    sync.Mutex // guards the rest; held for moments
	term  *term
	shut  chan struct{} // closed when the view that waits is installed; nil: no view waits
	view  crawl.Epoch
	boots map[crawl.NodeID]crawl.Boot
	since map[crawl.NodeID]crawl.Epoch // may be nil: unknown
}

// term is the time of one view: the changes that were let in by it. Guarded by the gate.
type term struct {
	inside  int
	empty   chan struct{} // made by install; closed when no change is under way any more
	revoked bool
}

// install makes a view the one that is judged by. One goroutine calls it.
func (g *gate) install(m *Members) {
	g.mu.Lock()
	old := g.term
	if old != nil && old.inside > 0 {
		old.empty = make(chan struct{})
		g.shut = make(chan struct{}) // no change is let in meanwhile
		g.mu.Unlock()
		patience := time.NewTimer(gatePatience)
		select {
		case <-old.empty:
		case <-patience.C:
		}
		patience.Stop()
		g.mu.Lock()
		old.revoked = true
		close(g.shut)
		g.shut = nil
	}
	defer g.mu.Unlock()
	g.term = new(term)
	g.view, g.boots, g.since = m.View, maps.Clone(m.Boots), maps.Clone(m.Sinces)
}

// lists reports whether a node is a member.
func (g *gate) lists(id crawl.NodeID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.boots[id] != 0
}

// Pass runs f, unless the view does not list that boot of the caller. It fails when f has
// outlasted the view.
func (g *gate) Pass(from crawl.NodeID, boot crawl.Boot, f func() error) error {
	t, err := g.enter(from, boot)
	if err != nil {
		return err
	}
	err = f()
	if g.leave(t) {
		return errors.Join(errRevoked, err)
	}
	return err
}

func (g *gate) enter(from crawl.NodeID, boot crawl.Boot) (*term, error) {
	g.mu.Lock()
	for g.shut != nil {
		shut := g.shut
		g.mu.Unlock()
		<-shut
		g.mu.Lock()
	}
	defer g.mu.Unlock()
	if g.boots[from] != boot || boot == 0 {
		return nil, fmt.Errorf("handoff: the view here does not list boot %d of %s", boot, from)
	}
	g.term.inside++ // a view that lists a node is installed, so there is a term
	return g.term, nil
}

func (g *gate) leave(t *term) (revoked bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t.inside--
	if t.inside == 0 && t.empty != nil && !t.revoked {
		close(t.empty)
	}
	return t.revoked
}

// installed is the number of the view.
func (g *gate) installed() crawl.Epoch {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.view
}

// InTenure refuses a holder of an epoch that was removed and has joined anew since: its
// tenure ended with the removal, even if it does not know. For use within Pass.
func (g *gate) InTenure(from crawl.NodeID, epoch crawl.Epoch) error {
	g.mu.Lock()
	since := g.since[from]
	g.mu.Unlock()
	if epoch < since {
		return fmt.Errorf("handoff: %s has joined anew with view %d, its tenure of epoch %d is over",
			from, since, epoch)
	}
	return nil
}
