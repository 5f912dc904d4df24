package core

import (
	"container/heap"
	"time"
)

// timer fires once, at the time it is set to. It is part of what it fires for, so that it can be
// set anew and stopped without a search. The zero value is not set.
type timer struct {
	host *host    // what it is part of: this,
	addr *address // or this

	at    time.Time // it was last set to this
	seq   uint64    // breaks ties, so that equal times fire in the order set
	index int       // in the heap, from 1; 0 when not set
}

// isSet reports whether the timer is to fire.
func (t *timer) isSet() bool { return t.index > 0 }

// timers orders the timers that are set: which of many things is due next. Setting, stopping and
// taking one out each cost O(log n). The zero value is empty.
type timers struct {
	order timerOrder
	seq   uint64
}

// set makes t fire at the given time, and replaces its former time.
func (h *timers) set(t *timer, at time.Time) {
	h.seq++
	t.at, t.seq = at, h.seq
	if t.isSet() {
		heap.Fix(&h.order, t.index-1)
		return
	}
	heap.Push(&h.order, t)
}

// stop unsets t, if it is set.
func (h *timers) stop(t *timer) {
	if t.isSet() {
		heap.Remove(&h.order, t.index-1)
	}
}

// due takes out and returns the next timer that fires at now or before, or nil.
func (h *timers) due(now time.Time) *timer {
	if len(h.order) == 0 || h.order[0].at.After(now) {
		return nil
	}
	return heap.Pop(&h.order).(*timer)
}

// next returns the earliest time set, or the zero time.
func (h *timers) next() time.Time {
	if len(h.order) == 0 {
		return time.Time{}
	}
	return h.order[0].at
}

// timerOrder is what container/heap keeps in order.
type timerOrder []*timer

func (o timerOrder) Len() int { return len(o) }

func (o timerOrder) Less(i, j int) bool {
	a, b := o[i], o[j]
	if a.at.Equal(b.at) {
		return a.seq < b.seq
	}
	return a.at.Before(b.at)
}

func (o timerOrder) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].index, o[j].index = i+1, j+1
}

// Push and Pop are container/heap's.
func (o *timerOrder) Push(x any) {
	t := x.(*timer)
	*o = append(*o, t)
	t.index = len(*o)
}

func (o *timerOrder) Pop() any {
	n := len(*o) - 1
	t := (*o)[n]
	(*o)[n] = nil
	*o = (*o)[:n]
	t.index = 0
	return t
}
