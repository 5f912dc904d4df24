package pipeline

import (
	"context"
	"sync"
)

// backlogPerProcessor is how many pages may have been fetched and not be archived
// yet, for each processor, while others are still fetched: enough to keep the
// processors busy, and the commits large.
const backlogPerProcessor = 32

// backlog holds fetches back while the processors are the limit. Hundreds of
// workers wait for the network; if each fetched a page whenever it could, as many
// pages would wait to be read: memory, and work that a kill -9 undoes.
//
// It opens like a window: while few pages wait, each that is done lets several
// workers begin, so that slow servers are soon asked by all; when too many wait,
// none begins. When no page is left, all begin: what is still being fetched may be
// a tarpit.
type backlog struct {
	mu    sync.Mutex // guards pages
	below *sync.Cond // a worker may begin
	pages int        // fetched, not archived
	most  int
}

func newBacklog(most int) *backlog {
	b := &backlog{most: most}
	b.below = sync.NewCond(&b.mu)
	return b
}

// wait blocks while too many pages wait, and until ctx is over; whoever ends ctx
// calls wakeAll.
func (b *backlog) wait(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.pages >= b.most && ctx.Err() == nil {
		b.below.Wait()
	}
}

// begin counts a page that was fetched, end one that is archived.
func (b *backlog) begin() {
	b.mu.Lock()
	b.pages++
	b.mu.Unlock()
}

func (b *backlog) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.pages--; {
	case b.pages == 0:
		b.below.Broadcast()
	case b.pages < b.most/2:
		b.below.Signal()
		b.below.Signal()
		b.below.Signal()
	case b.pages < b.most:
		b.below.Signal()
	}
}

// wakeAll lets all that wait look at their contexts.
func (b *backlog) wakeAll() {
	b.mu.Lock() // none is between its look and its wait
	defer b.mu.Unlock()
	b.below.Broadcast()
}
