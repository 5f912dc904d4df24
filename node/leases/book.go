package leases

import (
	"container/heap"
	"fmt"
	"time"
)

// Limits bound a Book.
type Limits struct {
	Open      int // URLs that are open
	PerWorker int // URLs of one worker that are open
	Done      int // leases that are remembered although all of their URLs are settled
}

// Item is one URL of a lease.
type Item struct {
	URL   string // canonical
	Visit uint64 // identifies the visit that is held open for it
}

// Answer says what became of a result.
type Answer uint8

// The answers to Settle.
const (
	// Yours: the URL was open, and is settled now.
	Yours Answer = iota
	// Repeated: it was settled before.
	Repeated
	// Ended: no such lease, or the URL was taken back.
	Ended
	// Foreign: the lease exists, and the URL was never part of it.
	Foreign
)

var answerNames = [...]string{"yours", "repeated", "ended", "foreign"}

func (a Answer) String() string { return answerNames[a] }

// Counts are the figures of a Book.
type Counts struct {
	Workers int   // with an open URL
	Leases  int   // with an open URL
	Open    int   // URLs
	Expired int64 // leases whose time ended with an open URL, ever
	Settled int64 // results that counted, ever
}

// Book is what one node has leased. One goroutine at a time may use it.
type Book struct {
	limits  Limits
	leases  map[string]*lease
	visits  map[uint64]place
	workers map[string]int // open URLs
	ends    byDeadline
	done    []*lease // of which everything is settled, the oldest first; some have ended
	counts  Counts
}

// lease is one batch.
type lease struct {
	id       string
	worker   string
	deadline time.Time
	urls     map[string]state // nil: everything is settled
	open     int
	index    int // in ends; -1: not there
}

// state is what became of a URL. An open one has its visit.
type state struct {
	visit uint64
	kind  kind
}

type kind uint8

const (
	open kind = iota
	settled
	takenBack
)

// place is where an open visit's URL stands.
type place struct {
	lease *lease
	url   string
}

// NewBook makes an empty Book.
func NewBook(l Limits) *Book {
	return &Book{limits: l, leases: map[string]*lease{}, visits: map[uint64]place{}, workers: map[string]int{}}
}

// Room is how many more URLs a worker may get now.
func (b *Book) Room(worker string) int {
	return max(min(b.limits.Open-len(b.visits), b.limits.PerWorker-b.workers[worker]), 0)
}

// Grant adds URLs to the lease id of a worker, which begins if there is none yet, until deadline.
// It reports false, and adds nothing, if the lease belongs to another worker or has ended by being settled.
func (b *Book) Grant(id, worker string, deadline time.Time, items []Item) bool {
	l := b.leases[id]
	switch {
	case l == nil:
		l = &lease{id: id, worker: worker, deadline: deadline, urls: make(map[string]state, len(items)), index: -1}
		b.leases[id] = l
		heap.Push(&b.ends, l)
	case l.worker != worker || l.urls == nil:
		return false
	}
	if deadline.After(l.deadline) {
		l.deadline = deadline
		heap.Fix(&b.ends, l.index)
	}
	for _, it := range items {
		if _, twice := b.visits[it.Visit]; twice {
			panic(fmt.Sprintf("BUG: the visit of %s is leased twice", it.URL))
		}
		if s, known := l.urls[it.URL]; known && s.kind == open {
			panic(fmt.Sprintf("BUG: %s is open twice in one lease", it.URL))
		}
		l.urls[it.URL] = state{visit: it.Visit}
		b.visits[it.Visit] = place{l, it.URL}
		if l.open++; l.open == 1 {
			b.counts.Leases++
		}
		b.workers[worker]++
	}
	return true
}

// Settle takes the result of a URL. With Yours it returns the URL's visit, which the caller ends.
func (b *Book) Settle(now time.Time, id, url string) (visit uint64, a Answer) {
	l := b.leases[id]
	if l == nil || !now.Before(l.deadline) {
		return 0, Ended
	}
	if l.urls == nil {
		return 0, Repeated
	}
	s, known := l.urls[url]
	switch {
	case !known:
		return 0, Foreign
	case s.kind == settled:
		return 0, Repeated
	case s.kind == takenBack:
		return 0, Ended
	}
	b.counts.Settled++
	b.close(l, url, s.visit, settled)
	return s.visit, Yours
}

// Withdraw takes an open URL back. It reports how long its lease would have lasted; false if it is not open.
func (b *Book) Withdraw(now time.Time, visit uint64) (left time.Duration, ok bool) {
	p, ok := b.visits[visit]
	if !ok {
		return 0, false
	}
	left = p.lease.deadline.Sub(now)
	b.close(p.lease, p.url, visit, takenBack)
	return left, true
}

// Expire ends the leases whose time is over and returns the visits of their open URLs.
func (b *Book) Expire(now time.Time) (visits []uint64) {
	for len(b.ends) > 0 && !now.Before(b.ends[0].deadline) {
		l := heap.Pop(&b.ends).(*lease)
		delete(b.leases, l.id)
		if l.open > 0 {
			b.counts.Expired++
		}
		for _, s := range l.urls {
			if s.kind == open {
				visits = append(visits, s.visit)
				b.forget(l, s.visit)
			}
		}
		l.urls = nil
	}
	return visits
}

// NextEnd is when the next lease ends; the zero time: there is none.
func (b *Book) NextEnd() time.Time {
	if len(b.ends) == 0 {
		return time.Time{}
	}
	return b.ends[0].deadline
}

// Counts returns the figures.
func (b *Book) Counts() Counts {
	c := b.counts
	c.Workers, c.Open = len(b.workers), len(b.visits)
	return c
}

// close ends an open URL.
func (b *Book) close(l *lease, url string, visit uint64, k kind) {
	l.urls[url] = state{kind: k}
	b.forget(l, visit)
	if l.open > 0 {
		return
	}
	for _, s := range l.urls {
		if s.kind == takenBack {
			return // a late result of it must be refused
		}
	}
	l.urls = nil
	b.remember(l)
}

func (b *Book) forget(l *lease, visit uint64) {
	delete(b.visits, visit)
	if l.open--; l.open == 0 {
		b.counts.Leases--
	}
	if b.workers[l.worker]--; b.workers[l.worker] == 0 {
		delete(b.workers, l.worker)
	}
}

// remember keeps the id of a lease of which everything is settled.
func (b *Book) remember(l *lease) {
	b.done = append(b.done, l)
	for len(b.done) > b.limits.Done {
		old := b.done[0]
		b.done[0] = nil
		b.done = b.done[1:]
		if old.index >= 0 {
			heap.Remove(&b.ends, old.index)
			delete(b.leases, old.id)
		}
	}
}

// byDeadline is a heap of leases, the first to end first.
type byDeadline []*lease

func (h byDeadline) Len() int           { return len(h) }
func (h byDeadline) Less(i, j int) bool { return h[i].deadline.Before(h[j].deadline) }
func (h byDeadline) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push is heap.Interface's.
func (h *byDeadline) Push(x any) {
	l := x.(*lease)
	l.index = len(*h)
	*h = append(*h, l)
}

// Pop is heap.Interface's.
func (h *byDeadline) Pop() any {
	last := len(*h) - 1
	l := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	l.index = -1
	return l
}
