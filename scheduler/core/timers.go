package core

import (
	"container/heap"
	"time"
)

// timer fires for its owner, once, at the time it is set to. The zero value is not set.
type timer[T any] struct {
	Owner T

	at    time.Time
	seq   uint64 // breaks ties, so that equal times fire in the order set
	index int    // in the heap, from 1; 0 when not set
}

// IsSet reports whether the timer is to fire.
func (t *timer[T]) IsSet() bool { return t.index > 0 }

// At is the time that the timer was last set to.
func (t *timer[T]) At() time.Time { return t.at }

// timers orders the timers that are set: which of many things is due next. The zero value is empty.
type timers[T any] struct {
	order timerOrder[T]
	seq   uint64
}

// Set makes t fire at the given time, and replaces its former time.
func (h *timers[T]) Set(t *timer[T], at time.Time) {
	h.seq++
	t.at, t.seq = at, h.seq
	if t.IsSet() {
		heap.Fix(&h.order, t.index-1)
		return
	}
	heap.Push(&h.order, t)
}

// Stop unsets t, if it is set.
func (h *timers[T]) Stop(t *timer[T]) {
	if t.IsSet() {
		heap.Remove(&h.order, t.index-1)
	}
}

// Due takes out and returns the next timer that fires at now or before, or nil.
func (h *timers[T]) Due(now time.Time) *timer[T] {
	if len(h.order) == 0 || h.order[0].at.After(now) {
		return nil
	}
	return heap.Pop(&h.order).(*timer[T])
}

// Next returns the earliest time set, or the zero time.
func (h *timers[T]) Next() time.Time {
	if len(h.order) == 0 {
		return time.Time{}
	}
	return h.order[0].at
}

// timerOrder is what container/heap keeps in order.
type timerOrder[T any] []*timer[T]

func (o timerOrder[T]) Len() int { return len(o) }

func (o timerOrder[T]) Less(i, j int) bool {
	a, b := o[i], o[j]
	if a.at.Equal(b.at) {
		return a.seq < b.seq
	}
	return a.at.Before(b.at)
}

func (o timerOrder[T]) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].index, o[j].index = i+1, j+1
}

// Push and Pop are container/heap's.
func (o *timerOrder[T]) Push(x any) {
	t := x.(*timer[T])
	*o = append(*o, t)
	t.index = len(*o)
}

func (o *timerOrder[T]) Pop() any {
	n := len(*o) - 1
	t := (*o)[n]
	(*o)[n] = nil
	*o = (*o)[:n]
	t.index = 0
	return t
}
