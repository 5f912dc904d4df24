package handoff

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

const (
	// maxQueued bounds the mutations that wait for one replica, in bytes; beyond
	// it the links break, and the copies are made again.
	maxQueued = 64 << 20
	// groupBytes closes a group; a single mutation may be larger.
	groupBytes = 1 << 20
	// eagerBytes is sent at once although another group is in flight.
	eagerBytes = 256 << 10
	maxFlying  = 8
	// stallTimeout is how long a replica may leave mutations unacknowledged
	// before its links are given up: so long nobody who adds is answered.
	stallTimeout = 3 * time.Second
)

// replicas are the links to all other nodes.
type replicas struct {
	d     *Driver
	slots [copyClasses]chan struct{} // one for each copy that is being made

	mu    sync.Mutex // guards nodes and ended
	nodes map[crawl.NodeID]*replica
	ended bool
}

func newReplicas(d *Driver) *replicas {
	rs := &replicas{d: d, nodes: map[crawl.NodeID]*replica{}}
	for class, n := range copySlots {
		rs.slots[class] = make(chan struct{}, n)
	}
	return rs
}

// replica is all that goes from here to one other node. Goroutines serve it: one
// sends mutations, some make copies, one asks and tells.
type replica struct {
	d      *Driver
	id     crawl.NodeID
	ctx    context.Context // ends when the node is no member any more
	cancel context.CancelFunc
	send   chan struct{} // capacity 1: mutations wait
	room   chan struct{} // capacity 1: the queue has become shorter
	work   chan struct{} // capacity 1: flows to open, copies to drop, flows that failed

	mu       sync.Mutex // guards the rest; held for moments, also by the frontier's writer
	flows    map[crawl.Partition]*flow
	queue    []item
	bytes    int       // of queue and flying
	oldest   time.Time // when the oldest unacknowledged mutation came; zero: none waits
	flying   []group
	based    []*flow
	wanted   []*flow
	failed   []*flow
	drops    []dropPart
	asks     map[crawl.Partition]bool // copies to be asked for
	jobs     []copyJob
	making   map[crawl.Partition]bool // copies that are on their way; true: asked for
	copiers  [copyClasses]int         // that run
	behind   []tailJob                // copies to be caught up
	catching bool                     // somebody works them off
}

// flow is one link.
type flow struct {
	r       *replica
	a       machine.OpenLink
	pending []crawl.Mutation // until the copy is there
	bytes   int
	room    int       // bound of bytes; 0: maxPending
	live    bool      // mutations go into the queue
	over    bool      // closed or failed
	upAt    crawl.Seq // the link is up once this is acknowledged
	acked   crawl.Seq // the last one that was
	last    crawl.Seq // the last one that was queued, or that the copy had
	isUp    bool
	feeds   bool // over, but its sink feeds the tail
}

// item is a mutation on its way.
type item struct {
	f *flow
	m crawl.Mutation
}

type group struct {
	id    uint64
	items []item
	bytes int
}

// of returns the replica and starts it when it is new.
func (rs *replicas) of(id crawl.NodeID) *replica {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r := rs.nodes[id]; r != nil {
		return r
	}
	ctx, cancel := context.WithCancel(rs.d.ctx)
	r := &replica{d: rs.d, id: id, ctx: ctx, cancel: cancel, send: make(chan struct{}, 1), room: make(chan struct{}, 1), work: make(chan struct{}, 1),
		flows: map[crawl.Partition]*flow{},
		asks:  map[crawl.Partition]bool{}, making: map[crawl.Partition]bool{}}
	rs.nodes[id] = r
	if rs.ended {
		return r // nobody will serve it
	}
	rs.d.wg.Go(func() { r.sendLoop(ctx) })
	rs.d.wg.Go(func() { r.workLoop(ctx) })
	return r
}

// end keeps new goroutines from being started; the driver waits for the others.
func (rs *replicas) end() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.ended = true
}

// keep ends what goes to nodes that are no members any more. Their links are
// closed by the machine.
func (rs *replicas) keep(members map[crawl.NodeID]crawl.Boot) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for id, r := range rs.nodes {
		if members[id] == 0 {
			r.cancel()
			r.mu.Lock()
			r.keepTail() // it may be back soon
			for _, f := range r.flows {
				f.over = true
			}
			r.mu.Unlock()
			delete(rs.nodes, id)
		}
	}
}

// open begins a link. A based one listens from here on, before anything can
// change the partition.
func (rs *replicas) open(ctx context.Context, a machine.OpenLink) {
	r := rs.of(a.Node)
	f := &flow{r: r, a: a}
	rs.d.acks.follow(a.Node, a.P, a.Attempt)
	if a.Based && rs.d.opts.Store.Attach(ctx, a.P, a.Epoch, a.BaseSeq, f.sink) != nil {
		a.Based = false
	}
	r.mu.Lock()
	r.flows[a.P] = f
	if a.Based {
		r.based = append(r.based, f)
	} else {
		r.wanted = append(r.wanted, f)
	}
	r.mu.Unlock()
	signal(r.work)
}

// close ends a link.
func (rs *replicas) close(a machine.CloseLink) {
	rs.mu.Lock()
	r := rs.nodes[a.Node]
	rs.mu.Unlock()
	if r == nil {
		rs.d.acks.forget(a.Node, a.P, a.Attempt)
		return
	}
	r.mu.Lock()
	if f := r.flows[a.P]; f != nil && f.a.Attempt == a.Attempt {
		f.over = true
		f.pending = nil
		delete(r.flows, a.P)
		signal(r.room)
	}
	r.mu.Unlock()
	rs.d.acks.forget(a.Node, a.P, a.Attempt)
}

func (rs *replicas) drop(a machine.DropCopy) {
	r := rs.of(a.Node)
	r.mu.Lock()
	r.drops = append(r.drops, dropPart{P: a.P, Epoch: a.Epoch, Attempt: a.Attempt})
	r.mu.Unlock()
	signal(r.work)
}

// request asks a node for its copy.
func (rs *replicas) request(a machine.RequestCopy) {
	r := rs.of(a.From)
	r.mu.Lock()
	r.asks[a.P] = true
	r.mu.Unlock()
	signal(r.work)
}

// send queues copies that another node has asked for. It asks again until it has
// them: what is on its way, or waits, is not sent twice.
func (rs *replicas) send(to crawl.NodeID, ps []crawl.Partition) {
	r := rs.of(to)
	jobs := make([]copyJob, len(ps))
	for i, p := range ps {
		jobs[i] = r.newJob(p, nil)
	}
	r.mu.Lock()
	known := maps.Clone(r.making)
	maps.DeleteFunc(known, func(_ crawl.Partition, asked bool) bool { return !asked })
	for _, j := range r.jobs {
		if j.f == nil {
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
	rs.spur(r)
}

// sink takes a mutation from the frontier's writer.
func (f *flow) sink(_ crawl.Partition, m crawl.Mutation) bool {
	r := f.r
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case f.feeds:
		f.feeds = r.d.tail.add(f.a.P, m)
		return f.feeds
	case f.over:
		return false
	case f.live:
		r.enqueue(item{f, m})
		return !f.over || f.feeds
	}
	f.pending = append(f.pending, m)
	if f.bytes += m.Bytes(); f.bytes > cmp.Or(f.room, maxPending) {
		r.fail(f)
		return false
	}
	return true
}

// enqueue adds a mutation to what is sent. r.mu is held.
func (r *replica) enqueue(it item) {
	if r.oldest.IsZero() {
		r.oldest = time.Now()
	}
	r.queue = append(r.queue, it)
	it.f.last = it.m.Seq
	if r.bytes += it.m.Bytes(); r.bytes > maxQueued {
		r.failAll()
	}
	signal(r.send)
}

// fail gives a flow up; workLoop tells the machine. r.mu is held.
func (r *replica) fail(f *flow) {
	if f.over {
		return
	}
	f.over, f.pending = true, nil
	if r.flows[f.a.P] == f {
		delete(r.flows, f.a.P)
	}
	r.failed = append(r.failed, f)
	signal(r.work)
	signal(r.room) // who fills the queue for it stops
}

// failAll gives everything up, and keeps what the replica misses. r.mu is held.
func (r *replica) failAll() {
	r.keepTail()
	for _, f := range r.flows {
		r.fail(f)
	}
	r.queue, r.flying, r.bytes, r.oldest = nil, nil, 0, time.Time{}
}

// goLive lets a flow's mutations go, now that the replica has everything up to
// seq.
func (r *replica) goLive(ctx context.Context, f *flow, seq crawl.Seq) {
	r.mu.Lock()
	if f.over {
		r.mu.Unlock()
		return
	}
	f.live, f.upAt, f.acked, f.last = true, seq, seq, seq
	for _, m := range f.pending {
		if m.Seq > seq {
			f.upAt = m.Seq
			r.enqueue(item{f, m})
		}
	}
	f.pending = nil
	ready := f.upAt == seq && !f.over
	f.isUp = ready
	r.mu.Unlock()
	r.d.acks.note(r.id, f.a.P, f.a.Attempt, seq)
	if ready {
		r.follows(ctx, f)
	}
}
