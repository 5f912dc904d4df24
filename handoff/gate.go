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
type gate struct {
	mu    sync.RWMutex // guards the rest; held while something from outside is being stored
	view  crawl.Epoch
	boots map[crawl.NodeID]crawl.Boot
	since map[crawl.NodeID]crawl.Epoch // may be nil: unknown
}

func (g *gate) install(m *Members) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.view, g.boots, g.since = m.View, maps.Clone(m.Boots), maps.Clone(m.Sinces)
}

// pass runs f unless the caller is a stranger. Within f the view stays.
func (g *gate) pass(from crawl.NodeID, boot crawl.Boot, f func() error) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.boots[from] != boot || boot == 0 {
		return fmt.Errorf("handoff: the view here does not list boot %d of %s", boot, from)
	}
	return f()
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
