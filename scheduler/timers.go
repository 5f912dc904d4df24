package scheduler

import (
	"container/heap"
	"time"
)

// timer is one entry of the heap of times. It is part of a host or of an address.
type timer struct {
	at    time.Time
	seq   uint64 // breaks ties, so that equal times fire in the order set
	index int    // in the heap, from 1; 0 when not set
	host  *host
	addr  *address
}

// timers orders the set timers by time.
type timers struct {
	heap []*timer
	seq  uint64
}

func (t *timers) Len() int { return len(t.heap) }
func (t *timers) Less(i, j int) bool {
	a, b := t.heap[i], t.heap[j]
	if a.at.Equal(b.at) {
		return a.seq < b.seq
	}
	return a.at.Before(b.at)
}
func (t *timers) Swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.heap[i].index, t.heap[j].index = i+1, j+1
}

// Push and Pop are container/heap's.
func (t *timers) Push(x any) {
	e := x.(*timer)
	t.heap = append(t.heap, e)
	e.index = len(t.heap)
}

func (t *timers) Pop() any {
	n := len(t.heap) - 1
	e := t.heap[n]
	t.heap[n] = nil
	t.heap = t.heap[:n]
	e.index = 0
	return e
}

// set makes e fire at the given time, and replaces its former time.
func (t *timers) set(e *timer, at time.Time) {
	t.seq++
	e.at, e.seq = at, t.seq
	if e.index > 0 {
		heap.Fix(t, e.index-1)
		return
	}
	heap.Push(t, e)
}

// stop unsets e.
func (t *timers) stop(e *timer) {
	if e.index > 0 {
		heap.Remove(t, e.index-1)
	}
}

// due takes out and returns the next timer that fires at now or before, or nil.
func (t *timers) due(now time.Time) *timer {
	if len(t.heap) == 0 || t.heap[0].at.After(now) {
		return nil
	}
	return heap.Pop(t).(*timer)
}

// next returns the earliest time set, or the zero time.
func (t *timers) next() time.Time {
	if len(t.heap) == 0 {
		return time.Time{}
	}
	return t.heap[0].at
}
