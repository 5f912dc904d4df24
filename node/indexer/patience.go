package indexer

import (
	"context"
	"errors"
	"sync"
	"time"

	"crawlnode/crawl"
)

// How long a question waits for a node while others have answered (decision 0237).
const (
	// hedgeAfter is the shortest wait. Afterwards others that have the partitions are asked.
	hedgeAfter = 300 * time.Millisecond
	// hedgeFactor is how many times as long as the others a node may take.
	hedgeFactor = 4
	// alone bounds the wait for a node that is the only one to be asked.
	alone = 500 * time.Millisecond
	// mostWait bounds the first step, in which it is decided who answers, when a node was late in it.
	mostWait = hedgeAfter + alone
	// remembered is how long a node that was late is asked only for what nobody else has.
	remembered = 10 * time.Second
)

// errLate is the cause when a node did not answer while the others did.
var errLate = errors.New("the node has not answered in time")

// patience ends the wait for the nodes that are asked together.
type patience struct {
	end   context.CancelCauseFunc
	timer *time.Timer
	began time.Time

	mu       sync.Mutex // guards what follows
	awaited  int        // answers until the wait for the others is bounded
	finished bool
}

// newPatience starts to wait for so many nodes. stop must be called.
func newPatience(ctx context.Context, nodes int) (context.Context, *patience) {
	ctx, end := context.WithCancelCause(ctx)
	first := callTime
	if nodes == 1 {
		first = alone
	}
	return ctx, &patience{end: end, began: time.Now(), awaited: max(1, nodes/2), timer: time.AfterFunc(first, func() { end(errLate) })}
}

// answered is called when a node has answered. When half of them have, the others have a multiple of that time.
func (p *patience) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.awaited--; p.awaited == 0 && !p.finished {
		took := time.Since(p.began)
		p.timer.Reset(min(max(hedgeAfter, hedgeFactor*took), callTime) - took)
	}
}

func (p *patience) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = true
	p.timer.Stop()
	p.end(nil)
}

// lateNodes remembers which nodes were late.
type lateNodes struct {
	mu    sync.Mutex // guards until
	until map[crawl.NodeID]time.Time
}

// note notes that a node was late. What is over is forgotten, so there are no more entries than nodes were late in that time.
func (l *lateNodes) note(id crawl.NodeID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[crawl.NodeID]time.Time{}
	}
	for other, until := range l.until {
		if !until.After(now) {
			delete(l.until, other)
		}
	}
	l.until[id] = now.Add(remembered)
}

// was reports whether a node was late lately.
func (l *lateNodes) was(id crawl.NodeID, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until[id].After(now)
}
