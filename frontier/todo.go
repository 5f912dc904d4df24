package frontier

import (
	"context"
	"sync"
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
	select {
	case t.signal <- struct{}{}:
	default:
	}
}

// next takes the first, waiting for one; ok is false when ctx ends.
func (t *todo[T]) next(ctx context.Context) (v T, ok bool) {
	for ctx.Err() == nil {
		t.mu.Lock()
		if len(t.order) > 0 {
			v = t.order[0]
			t.order = t.order[1:]
			delete(t.member, v)
			t.mu.Unlock()
			return v, true
		}
		t.mu.Unlock()
		select {
		case <-t.signal:
		case <-ctx.Done():
		}
	}
	return v, false
}
