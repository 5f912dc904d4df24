package recrawl

import (
	"container/heap"
	"iter"
	"slices"
	"time"

	"crawlnode/crawl"
)

// heads knows when the first page of each held partition is due. The heap's top is the next due
// time of all: no partition is scanned.
type heads struct {
	order headHeap
	index map[crawl.Partition]*head
}

type head struct {
	p     crawl.Partition
	at    time.Time
	place int
}

// set notes when the first page of p is due; without one p is left out.
func (h *heads) set(p crawl.Partition, at time.Time, ok bool) {
	e := h.index[p]
	switch {
	case !ok && e == nil:
	case !ok:
		heap.Remove(&h.order, e.place)
		delete(h.index, p)
	case e == nil:
		if h.index == nil {
			h.index = map[crawl.Partition]*head{}
		}
		e = &head{p: p, at: at}
		h.index[p] = e
		heap.Push(&h.order, e)
	default:
		e.at = at
		heap.Fix(&h.order, e.place)
	}
}

// sooner notes that a page of p is due at, and perhaps another one before.
func (h *heads) sooner(p crawl.Partition, at time.Time) {
	if e := h.index[p]; e == nil || at.Before(e.at) {
		h.set(p, at, true)
	}
}

// first is the partition whose first page is due next.
func (h *heads) first() (p crawl.Partition, at time.Time, ok bool) {
	if len(h.order) == 0 {
		return 0, time.Time{}, false
	}
	e := h.order[0]
	return e.p, e.at, true
}

// overdue are at most n partitions whose first page is due, in the order of their numbers, those
// behind a number first.
func (h *heads) overdue(now time.Time, behind crawl.Partition, n int) (ps []crawl.Partition) {
	for p, e := range h.index {
		if !e.at.After(now) {
			ps = append(ps, p)
		}
	}
	slices.Sort(ps)
	i, found := slices.BinarySearch(ps, behind)
	if found {
		i++
	}
	ps = slices.Concat(ps[i:], ps[:i])
	return ps[:min(n, len(ps))]
}

// all yields the partitions with their first due times, in no order.
func (h *heads) all() iter.Seq2[crawl.Partition, time.Time] {
	return func(yield func(crawl.Partition, time.Time) bool) {
		for p, e := range h.index {
			if !yield(p, e.at) {
				return
			}
		}
	}
}

// headHeap is a heap of partitions by their first due time, then by number.
type headHeap []*head

func (h headHeap) Len() int { return len(h) }
func (h headHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].p < h[j].p
	}
	return h[i].at.Before(h[j].at)
}

func (h headHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *headHeap) Push(x any) {
	e, ok := x.(*head)
	if !ok {
		panic("BUG: not a head")
	}
	e.place = len(*h)
	*h = append(*h, e)
}

func (h *headHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}
