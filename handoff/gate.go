package handoff

import (
	"fmt"
	"maps"
	"sync"

	"crawlnode/crawl"
)

// gate lets nobody change what is here but the members of the installed view,
// by the boots that it lists. Installing a view waits for what is under way, so
// whoever has answered an Ask takes nothing more from a node that was removed.
//
// It is no sync.RWMutex, because those who are inside wait for the disk: in a
// synctest bubble the clock stands still while somebody waits for a mutex.
type gate struct {
	mu      sync.Mutex // guards the rest, for writing; held for moments
	changed sync.Cond  // of inside and waiting; see lock
	inside  int        // calls of pass that run: the view stays
	waiting int        // calls of install that wait; nobody enters meanwhile
	view    crawl.Epoch
	boots   map[crawl.NodeID]crawl.Boot
	since   map[crawl.NodeID]crawl.Epoch // may be nil: unknown
}

func (g *gate) install(m *Members) {
	g.lock()
	defer g.mu.Unlock()
	g.waiting++
	for g.inside > 0 {
		g.changed.Wait()
	}
	g.waiting--
	g.changed.Broadcast()
	g.view, g.boots, g.since = m.View, maps.Clone(m.Boots), maps.Clone(m.Sinces)
}

// pass runs f unless the caller is a stranger. Within f the view stays.
func (g *gate) pass(from crawl.NodeID, boot crawl.Boot, f func() error) error {
	g.enter()
	defer g.leave()
	if g.boots[from] != boot || boot == 0 {
		return fmt.Errorf("handoff: the view here does not list boot %d of %s", boot, from)
	}
	return f()
}

// lock takes mu, which changed.Wait needs to know.
func (g *gate) lock() {
	g.mu.Lock()
	g.changed.L = &g.mu
}

func (g *gate) enter() {
	g.lock()
	defer g.mu.Unlock()
	for g.waiting > 0 {
		g.changed.Wait()
	}
	g.inside++
}

func (g *gate) leave() {
	g.lock()
	defer g.mu.Unlock()
	g.inside--
	g.changed.Broadcast()
}

// right refuses what a holder of an epoch says who was removed and has joined
// anew since: his tenure ended with the removal, even if he has not heard of it.
// For use within pass.
func (g *gate) right(from crawl.NodeID, epoch crawl.Epoch) error {
	if since := g.since[from]; epoch < since {
		return fmt.Errorf("handoff: %s has joined anew with view %d, its tenure of epoch %d is over", from, since, epoch)
	}
	return nil
}
