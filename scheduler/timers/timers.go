package timers

import (
	"container/heap"
	"time"
)

// Timer fires for its owner, once, at the time it is set to. The zero value is not set.
type Timer[T any] struct {
	Owner T

	at    time.Time
	seq   uint64 // breaks ties, so that equal times fire in the order set
	index int    // in the heap, from 1; 0 when not set
}

// IsSet reports whether the timer is to fire.
func (t *Timer[T]) IsSet() bool { return t.index > 0 }

// At is the time that the timer was last set to.
func (t *Timer[T]) At() time.Time { return t.at }

// Heap orders the timers that are set. The zero value is empty.
type Heap[T any] struct {
	order order[T]
	seq   uint64
}

// Set makes t fire at the given time, and replaces its former time.
func (h *Heap[T]) Set(t *Timer[T], at time.Time) {
	h.seq++
	t.at, t.seq = at, h.seq
	if t.IsSet() {
		heap.Fix(&h.order, t.index-1)
		return
	}
	heap.Push(&h.order, t)
}

// Stop unsets t, if it is set.
func (h *Heap[T]) Stop(t *Timer[T]) {
	if t.IsSet() {
		heap.Remove(&h.order, t.index-1)
	}
}

// Due takes out and returns the next timer that fires at now or before, or nil.
func (h *Heap[T]) Due(now time.Time) *Timer[T] {
	if len(h.order) == 0 || h.order[0].at.After(now) {
		return nil
	}
	return heap.Pop(&h.order).(*Timer[T])
}

// Next returns the earliest time set, or the zero time.
func (h *Heap[T]) Next() time.Time {
	if len(h.order) == 0 {
		return time.Time{}
	}
	return h.order[0].at
}

// order is what container/heap keeps in order.
type order[T any] []*Timer[T]

func (o order[T]) Len() int { return len(o) }

func (o order[T]) Less(i, j int) bool {
	a, b := o[i], o[j]
	if a.at.Equal(b.at) {
		return a.seq < b.seq
	}
	return a.at.Before(b.at)
}

func (o order[T]) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].index, o[j].index = i+1, j+1
}

// Push and Pop are container/heap's.
func (o *order[T]) Push(x any) {
	t := x.(*Timer[T])
	*o = append(*o, t)
	t.index = len(*o)
}

func (o *order[T]) Pop() any {
	n := len(*o) - 1
	t := (*o)[n]
	(*o)[n] = nil
	*o = (*o)[:n]
	t.index = 0
	return t
}
