package search

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
	// mostWait bounds the first step, in which it is decided who answers, when a node that hangs
	// was late in it. A node that is only busy has callTime.
	mostWait = hedgeAfter + alone
	// remembered is how long a node that was late is asked only for what nobody else has, unless it
	// answers before.
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
	// rest is how much longer the others have, so long after the beginning.
	rest func(took time.Duration) time.Duration
}

// newPatience starts to wait for so many nodes, whose partitions others may have. When half of them
// have answered, the others have a multiple of that time. stop must be called.
func newPatience(ctx context.Context, nodes int) (context.Context, *patience) {
	first := callTime
	if nodes == 1 {
		first = alone
	}
	return start(ctx, time.Now(), first, max(1, nodes/2), func(took time.Duration) time.Duration {
		return min(max(hedgeAfter, hedgeFactor*took), callTime) - took
	})
}

// newLastChance starts to wait for nodes that nobody may stand in for: until most after began for
// so many that may be busy, and until mostWait for those that hang. stop must be called.
func newLastChance(
	ctx context.Context,
	began time.Time,
	most time.Duration,
	busy int,
) (context.Context, *patience) {
	first := most
	if busy == 0 {
		first = mostWait
	}
	return start(ctx, began, first, busy,
		func(took time.Duration) time.Duration { return mostWait - took })
}

func start(
	ctx context.Context,
	began time.Time,
	first time.Duration,
	awaited int,
	rest func(time.Duration) time.Duration,
) (context.Context, *patience) {
	ctx, end := context.WithCancelCause(ctx)
	return ctx, &patience{end: end, began: began, awaited: awaited, rest: rest,
		timer: time.AfterFunc(first-time.Since(began), func() { end(errLate) })}
}

// answered is called when a node has answered that is awaited.
func (p *patience) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.awaited--; p.awaited == 0 && !p.finished {
		p.timer.Reset(p.rest(time.Since(p.began)))
	}
}

func (p *patience) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = true
	p.timer.Stop()
	p.end(nil)
}

// lateNodes remembers which nodes were late. One that did not use its last chance hangs, as far as
// anybody can tell, until it answers; others are busy.
type lateNodes struct {
	mu    sync.Mutex // guards nodes
	nodes map[crawl.NodeID]lateNode
}

// lateNode is a node that was late.
type lateNode struct {
	until time.Time // it is remembered
	hangs bool
}

// note notes that a node was late, at its last chance or before. What is over is forgotten, so
// there are no more entries than nodes were late in that time.
func (l *lateNodes) note(id crawl.NodeID, now time.Time, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nodes == nil {
		l.nodes = map[crawl.NodeID]lateNode{}
	}
	for other, n := range l.nodes {
		if !n.until.After(now) {
			delete(l.nodes, other)
		}
	}
	l.nodes[id] = lateNode{until: now.Add(remembered), hangs: last || l.nodes[id].hangs}
}

// answered notes that a node has answered: it does not hang.
func (l *lateNodes) answered(id crawl.NodeID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.nodes, id)
}

// was reports whether a node was late lately.
func (l *lateNodes) was(id crawl.NodeID, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nodes[id].until.After(now)
}

// hangs reports whether a node was late lately, and has not used its last chance.
func (l *lateNodes) hangs(id crawl.NodeID, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.nodes[id]
	return n.hangs && n.until.After(now)
}
