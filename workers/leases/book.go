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
	Settled   int // URLs that are remembered as settled
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
	// Unknown: it is not open here, and was not settled here of late.
	Unknown
)

var answerNames = [...]string{"yours", "repeated", "unknown"}

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
	leases  map[string]*lease // with an open URL
	visits  map[uint64]place
	workers map[string]int // open URLs
	ends    byDeadline
	settled remembered
	counts  Counts
}

// lease is one batch.
type lease struct {
	id       string
	worker   string
	deadline time.Time
	open     map[string]uint64 // visits by URL
	index    int               // in ends
}

// place is where an open visit's URL stands.
type place struct {
	lease *lease
	url   string
}

// NewBook makes an empty Book.
func NewBook(l Limits) *Book {
	return &Book{
		limits:  l,
		leases:  map[string]*lease{},
		visits:  map[uint64]place{},
		workers: map[string]int{},
		settled: newRemembered(l.Settled),
	}
}

// Room is how many more URLs a worker may get now.
func (b *Book) Room(worker string) int {
	return max(min(b.limits.Open-len(b.visits), b.limits.PerWorker-b.workers[worker]), 0)
}

// Grant adds URLs to the lease id of a worker, which begins if there is none yet, until deadline.
// It reports false, and adds nothing, if the lease belongs to another worker.
func (b *Book) Grant(id, worker string, deadline time.Time, items []Item) bool {
	l := b.leases[id]
	switch {
	case l != nil && l.worker != worker:
		return false
	case len(items) == 0:
		return true
	case l == nil:
		l = &lease{id: id, worker: worker, deadline: deadline, open: make(map[string]uint64, len(items))}
		b.leases[id] = l
		heap.Push(&b.ends, l)
	case deadline.After(l.deadline):
		l.deadline = deadline
		heap.Fix(&b.ends, l.index)
	}
	for _, it := range items {
		if _, twice := b.visits[it.Visit]; twice {
			panic(fmt.Sprintf("BUG: the visit of %s is leased twice", it.URL))
		}
		if _, twice := l.open[it.URL]; twice {
			panic(fmt.Sprintf("BUG: %s is open twice in one lease", it.URL))
		}
		l.open[it.URL] = it.Visit
		b.visits[it.Visit] = place{l, it.URL}
		b.workers[worker]++
	}
	return true
}

// Settle takes the result of a URL, whose tag in the lease id is tag. With Yours it returns the
// URL's visit, which the caller ends.
func (b *Book) Settle(now time.Time, id, url string, tag uint64) (visit uint64, a Answer) {
	if b.settled.has(tag) {
		return 0, Repeated
	}
	l := b.leases[id]
	if l == nil || !now.Before(l.deadline) {
		return 0, Unknown
	}
	visit, ok := l.open[url]
	if !ok {
		return 0, Unknown
	}
	b.close(l, url, visit)
	b.Settled(tag)
	return visit, Yours
}

// WasSettled reports whether a result with this tag counted of late.
func (b *Book) WasSettled(tag uint64) bool { return b.settled.has(tag) }

// Settled remembers a URL whose result counted. The caller has ended its visit, which was never in
// the Book.
func (b *Book) Settled(tag uint64) {
	b.counts.Settled++
	b.settled.add(tag)
}

// Withdraw takes an open URL back. It reports how long its lease would have lasted; false if it is
// not open.
func (b *Book) Withdraw(now time.Time, visit uint64) (left time.Duration, ok bool) {
	p, ok := b.visits[visit]
	if !ok {
		return 0, false
	}
	left = p.lease.deadline.Sub(now)
	b.close(p.lease, p.url, visit)
	return left, true
}

// Expire ends the leases whose time is over and returns the visits of their open URLs.
func (b *Book) Expire(now time.Time) (visits []uint64) {
	for len(b.ends) > 0 && !now.Before(b.ends[0].deadline) {
		l := b.ends[0]
		b.counts.Expired++
		for url, visit := range l.open {
			visits = append(visits, visit)
			b.close(l, url, visit) // the last one ends the lease
		}
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
	c.Workers, c.Leases, c.Open = len(b.workers), len(b.leases), len(b.visits)
	return c
}

// close ends an open URL, and with the last one its lease.
func (b *Book) close(l *lease, url string, visit uint64) {
	delete(l.open, url)
	delete(b.visits, visit)
	if b.workers[l.worker]--; b.workers[l.worker] == 0 {
		delete(b.workers, l.worker)
	}
	if len(l.open) == 0 {
		heap.Remove(&b.ends, l.index)
		delete(b.leases, l.id)
	}
}

// remembered is a set of the latest tags.
type remembered struct {
	set   map[uint64]struct{}
	order []uint64 // a ring from next on, when it is full
	next  int
	most  int
}

func newRemembered(most int) remembered {
	return remembered{set: map[uint64]struct{}{}, most: most}
}

func (r *remembered) has(tag uint64) bool {
	_, ok := r.set[tag]
	return ok
}

func (r *remembered) add(tag uint64) {
	if r.has(tag) {
		return
	}
	r.set[tag] = struct{}{}
	if len(r.order) < r.most {
		r.order = append(r.order, tag)
		return
	}
	delete(r.set, r.order[r.next])
	r.order[r.next] = tag
	r.next = (r.next + 1) % r.most
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
	return l
}
