package commit

import (
	"context"
	"sync"
	"time"

	"crawlnode/crawl"
)

// todo is a set of things that one goroutine works off in order. It is bounded
// by what there is: partitions or generations.
type todo[T comparable] struct {
	mu     sync.Mutex // guards the fields below
	order  []T
	member map[T]bool
	signal chan struct{} // cap 1: look again
}

func newTodo[T comparable]() *todo[T] {
	return &todo[T]{member: map[T]bool{}, signal: make(chan struct{}, 1)}
}

// add puts v at the end, unless it waits already. It never blocks.
func (t *todo[T]) add(v T) {
	t.mu.Lock()
	if !t.member[v] {
		t.member[v] = true
		t.order = append(t.order, v)
	}
	t.mu.Unlock()
	crawl.Signal(t.signal)
}

// next takes the first, waiting for one; ok is false when ctx ends.
func (t *todo[T]) next(ctx context.Context) (v T, ok bool) {
	return t.await(ctx, nil)
}

// nextWithin is next, but waits no longer than rest.
func (t *todo[T]) nextWithin(ctx context.Context, rest time.Duration) (v T, ok bool) {
	timer := time.NewTimer(rest)
	defer timer.Stop()
	return t.await(ctx, timer.C)
}

func (t *todo[T]) await(ctx context.Context, over <-chan time.Time) (v T, ok bool) {
	for ctx.Err() == nil {
		if v, ok = t.take(); ok {
			return v, true
		}
		select {
		case <-t.signal:
		case <-over:
			return v, false
		case <-ctx.Done():
		}
	}
	return v, false
}

// take takes the first, if there is one.
func (t *todo[T]) take() (v T, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		return v, false
	}
	v = t.order[0]
	t.order = t.order[1:]
	delete(t.member, v)
	return v, true
}
