package replication

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// Replicas are the links from this node to all others.
type Replicas struct {
	opts    Options
	ctx     context.Context // of all goroutines
	wg      sync.WaitGroup
	slots   [copyClasses]chan struct{} // one for each copy that is being made
	limiter *rate.Limiter
	bases   *bases

	sent             atomic.Int64 // bytes of snapshots
	copied, caughtUp atomic.Int64

	mu    sync.Mutex // guards nodes and ended
	nodes map[crawl.NodeID]*replica
	ended bool
}

// New returns Replicas without links. Their goroutines end with ctx, and End waits for
// them. found is what the disk held at the start.
func New(ctx context.Context, o Options, found []machine.Loaded) *Replicas {
	rs := &Replicas{opts: o, ctx: ctx, nodes: map[crawl.NodeID]*replica{},
		bases:   findBases(o.Store, found),
		limiter: rate.NewLimiter(rate.Limit(o.BytesPerSecond), 1<<20)}
	for class, n := range copySlots {
		rs.slots[class] = make(chan struct{}, n)
	}
	return rs
}

// CaughtUp counts the replicas that went on where they were after a silence, Copied
// those that were copied as a whole.
func (rs *Replicas) CaughtUp() int64 { return rs.caughtUp.Load() }

// Copied is explained at CaughtUp.
func (rs *Replicas) Copied() int64 { return rs.copied.Load() }

// BytesSent counts the bytes of snapshots.
func (rs *Replicas) BytesSent() int64 { return rs.sent.Load() }

// replica is everything that goes from here to one other node. Its goroutines: one
// sends mutations (send.go), one makes calls (open.go), some make copies (copiers.go), one
// reads hints (catchup.go).
type replica struct {
	rs     *Replicas
	id     crawl.NodeID
	ctx    context.Context // ends when the node is no member any more
	cancel context.CancelFunc
	send   chan struct{} // capacity 1: mutations wait
	room   chan struct{} // capacity 1: the queue has become shorter
	work   chan struct{} // capacity 1: links to open, copies to drop, links that failed

	mu       sync.Mutex // guards the rest; held for moments, also by the frontier's writer
	links    map[crawl.Partition]*link
	queue    []item
	bytes    int       // of queue and inFlight
	oldest   time.Time // when the oldest unacknowledged mutation came; zero: none waits
	inFlight []group
	based    []*link
	wanted   []*link
	failed   []*link
	drops    []wire.DropPart
	asks     map[crawl.Partition]bool // copies to be asked for
	jobs     []copyJob
	making   map[crawl.Partition]bool // copies that are on their way; true: asked for
	copiers  [copyClasses]int         // that run
	behind   []catchUpJob             // copies to be caught up
	catching bool                     // catchUpLoop runs
}

// item is a mutation on its way.
type item struct {
	link *link
	m    crawl.Mutation
}

// group is what one message carries; the replica acknowledges it as a whole.
type group struct {
	id    uint64
	items []item
	bytes int
}

// of returns the replica and starts it when it is new.
func (rs *Replicas) of(id crawl.NodeID) *replica {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r := rs.nodes[id]; r != nil {
		return r
	}
	ctx, cancel := context.WithCancel(rs.ctx)
	r := &replica{rs: rs, id: id, ctx: ctx, cancel: cancel, send: make(chan struct{}, 1),
		room: make(chan struct{}, 1), work: make(chan struct{}, 1),
		links: map[crawl.Partition]*link{},
		asks:  map[crawl.Partition]bool{}, making: map[crawl.Partition]bool{}}
	rs.nodes[id] = r
	if rs.ended {
		return r // no goroutine serves it
	}
	rs.wg.Go(func() { r.sendLoop(ctx) })
	rs.wg.Go(func() { r.workLoop(ctx) })
	return r
}

// End keeps new goroutines from being started and waits for the running ones. The
// context of New must be over.
func (rs *Replicas) End() {
	rs.mu.Lock()
	rs.ended = true
	rs.mu.Unlock()
	rs.wg.Wait()
}

// KeepMembers ends what goes to nodes that are no members any more. Their links are
// closed by the machine.
func (rs *Replicas) KeepMembers(members map[crawl.NodeID]crawl.Boot) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for id, r := range rs.nodes {
		if members[id] == 0 {
			r.cancel()
			r.mu.Lock()
			r.keepHints() // it may be back soon
			for _, l := range r.links {
				l.over = true
			}
			r.mu.Unlock()
			delete(rs.nodes, id)
		}
	}
}

// Open begins a link. A based one listens from here on, before anything can
// change the partition.
func (rs *Replicas) Open(ctx context.Context, a machine.OpenLink) {
	r := rs.of(a.Node)
	l := &link{r: r, a: a, opened: machine.Found{
		Generation: rs.opts.Store.Generation(a.P),
		Epoch:      a.Epoch,
		Seq:        rs.opts.Store.Kept(a.P).Seq,
		Held:       true,
	}}
	rs.opts.Acks.LinkOpened(a.Node, a.P, a.Attempt)
	if a.Based && rs.opts.Store.Attach(ctx, a.P, a.Epoch, a.BaseSeq, l.sink) != nil {
		l.a.Based = false
	}
	r.mu.Lock()
	r.links[a.P] = l
	if l.a.Based {
		r.based = append(r.based, l)
	} else {
		r.wanted = append(r.wanted, l)
	}
	r.mu.Unlock()
	crawl.Signal(r.work)
}

// Close ends a link. Hints are kept for a node that leaves: it may be back soon.
func (rs *Replicas) Close(a machine.CloseLink) {
	rs.mu.Lock()
	r := rs.nodes[a.Node]
	rs.mu.Unlock()
	if r == nil {
		rs.opts.Acks.LinkClosed(a.Node, a.P, a.Attempt)
		return
	}
	r.mu.Lock()
	if l := r.links[a.P]; l != nil && l.a.Attempt == a.Attempt {
		if a.Leaves {
			l.keepHints(r.unacknowledged(l))
		}
		l.over = true
		l.pending = nil
		delete(r.links, a.P)
		crawl.Signal(r.room)
	}
	r.mu.Unlock()
	rs.opts.Acks.LinkClosed(a.Node, a.P, a.Attempt)
}

// Drop tells a node that its copy is not needed any more.
func (rs *Replicas) Drop(a machine.DropCopy) {
	r := rs.of(a.Node)
	r.mu.Lock()
	r.drops = append(r.drops, wire.DropPart{P: a.P, Epoch: a.Epoch, Attempt: a.Attempt})
	r.mu.Unlock()
	crawl.Signal(r.work)
}

// Request asks a node for its copy.
func (rs *Replicas) Request(a machine.RequestCopy) {
	r := rs.of(a.From)
	r.mu.Lock()
	r.asks[a.P] = true
	r.mu.Unlock()
	crawl.Signal(r.work)
}

// Send queues copies that another node has asked for. That node asks again until it has
// them: what is on its way, or waits, is not sent twice.
func (rs *Replicas) Send(to crawl.NodeID, ps []crawl.Partition) {
	r := rs.of(to)
	jobs := make([]copyJob, len(ps))
	for i, p := range ps {
		jobs[i] = r.newJob(p, nil)
	}
	r.mu.Lock()
	known := maps.Clone(r.making)
	maps.DeleteFunc(known, func(_ crawl.Partition, asked bool) bool { return !asked })
	for _, j := range r.jobs {
		if j.link == nil {
			known[j.p] = true
		}
	}
	for _, j := range jobs {
		if !known[j.p] {
			known[j.p] = true
			r.jobs = append(r.jobs, j)
		}
	}
	r.mu.Unlock()
	rs.startCopiers(r)
}
