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
// view from being installed, since others ask about partitions in it.
const gatePatience = time.Second

// errRevoked is what a caller hears whose change outlasted its view.
var errRevoked = errors.New("handoff: a newer view was installed before the disk had answered")

// gate lets nobody change what is here but the members of the installed view,
// by the boots that it lists. Installing a view waits for what is under way, so
// whoever has answered an Ask takes nothing more from a node that was removed.
//
// What is under way for longer than gatePatience is revoked: it may still reach the
// disk, but its caller hears an error, so no acknowledgement, and no vote for a set,
// counts that was given after the answer. A copy that has changed behind an answer
// is noticed, because copies are promoted and followed only at exactly the mutation
// that the answer named.
//
// It is no sync.RWMutex, because those who are inside wait for the disk: in a
// synctest bubble the clock stands still while somebody waits for a mutex.
type gate struct {
	mu    sync.Mutex // guards the rest; held for moments
	term  *term
	shut  chan struct{} // closed when the view that waits is installed; nil: none waits
	view  crawl.Epoch
	boots map[crawl.NodeID]crawl.Boot
	since map[crawl.NodeID]crawl.Epoch // may be nil: unknown
}

// term is the time of one view: who entered in it. Guarded by the gate.
type term struct {
	inside  int
	empty   chan struct{} // made by install; closed when nobody is inside any more
	revoked bool
}

// install makes a view the one that is judged by. One goroutine calls it.
func (g *gate) install(m *Members) {
	g.mu.Lock()
	old := g.term
	if old != nil && old.inside > 0 {
		old.empty = make(chan struct{})
		g.shut = make(chan struct{}) // nobody enters meanwhile
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

// pass runs f unless the caller is a stranger. It fails when f outlasted the view.
func (g *gate) pass(from crawl.NodeID, boot crawl.Boot, f func() error) error {
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
	g.term.inside++ // who lists somebody has installed a view
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

// right refuses what a holder of an epoch says who was removed and has joined
// anew since: its tenure ended with the removal, even if it has not heard of it.
// For use within pass.
func (g *gate) right(from crawl.NodeID, epoch crawl.Epoch) error {
	g.mu.Lock()
	since := g.since[from]
	g.mu.Unlock()
	if epoch < since {
		return fmt.Errorf("handoff: %s has joined anew with view %d, its tenure of epoch %d is over", from, since, epoch)
	}
	return nil
}
