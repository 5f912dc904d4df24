package addresses

import (
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"crawlnode/crawl"
)

var modelSeeds = flag.Int("model-seeds", 60, "how many seeds TestModel runs")

// The model is a cluster with clocks of different speeds, a network that loses, delays, repeats and
// reorders, nodes that stand still, die and come back, and partitions that move. The judge is
// the server: it sees when each request starts.

const (
	modelPartitions = 4
	forEver         = time.Duration(1 << 62)
)

type event struct {
	at  time.Duration
	seq int
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

type model struct {
	t      *testing.T
	r      *rand.Rand
	now    time.Duration
	queue  events
	seq    int
	nodes  []*modelNode
	holder [modelPartitions]int // index of the node that holds; -1: nobody
	addrs  []netip.Addr
	last   map[netip.Addr]time.Duration
	by     map[netip.Addr]string
	writes int
	gap    time.Duration
	faulty bool // the network
	slow   bool // some of the servers
}

type modelNode struct {
	m       *model
	self    Member
	t       *Table
	rate    float64 // of its clock
	offset  time.Duration
	stopped time.Duration // until then it stands still
	dead    bool
	busy    time.Duration         // until then it hands out no visit
	paused  bool                  // and knows that it will not
	leased  time.Duration         // until then, in true time
	view    [modelPartitions]int  // who holds what, as far as it knows
	work    map[netip.Addr]*rider // what it asks of each address
}

// rider is a scheduler's side: hosts of one address, one visit at a time.
type rider struct {
	left int // requests to make
	next time.Duration
	busy bool
}

func (m *model) after(d time.Duration, do func()) {
	m.seq++
	heap.Push(&m.queue, event{m.now + d, m.seq, do})
}

// on runs do at a node: later, if it stands still, and never, if it is dead by then.
func (n *modelNode) on(d time.Duration, do func()) {
	n.m.after(d, func() {
		switch {
		case n.dead:
		case n.stopped > n.m.now:
			n.on(n.stopped-n.m.now, do)
		default:
			do()
			n.flush()
		}
	})
}

func (n *modelNode) clock() time.Duration {
	return n.offset + time.Duration(float64(n.m.now)*n.rate)
}

// flush sends what the table has to send.
func (n *modelNode) flush() {
	for _, to := range n.t.Targets() {
		batch := n.t.TakeFor(to, 1000)
		for copies := n.m.copies(); copies > 0; copies-- {
			delay := time.Duration(n.m.r.Int64N(int64(30 * time.Millisecond)))
			if n.m.faulty && n.m.r.IntN(20) == 0 {
				delay = time.Duration(n.m.r.Int64N(int64(6 * time.Second)))
			}
			for _, o := range n.m.nodes {
				if o.self == to {
					o.on(delay, func() { o.t.Receive(o.clock(), n.self, append([]Message(nil), batch...)) })
				}
			}
		}
	}
	for _, ip := range n.t.Came() {
		n.ride(ip)
	}
}

func (m *model) copies() int {
	switch {
	case !m.faulty:
		return 1
	case m.r.IntN(20) == 0:
		return 0
	case m.r.IntN(20) == 0:
		return 2
	}
	return 1
}

// well reports whether it is a member.
func (n *modelNode) well() bool { return !n.dead && n.leased == forEver }

// ride makes the next request to ip, if it may.
func (n *modelNode) ride(ip netip.Addr) {
	w := n.work[ip]
	if w == nil || w.busy {
		return
	}
	now := n.clock()
	if w.left == 0 {
		n.t.Idle(now, ip)
		return
	}
	wait, ok := n.t.Turn(now, ip)
	if wait = max(wait, w.next-now); !ok || wait > 0 {
		if ok || w.next > now {
			n.on(max(wait, time.Millisecond), func() { n.ride(ip) })
		}
		return
	}
	if n.busy > n.m.now {
		n.on(n.busy-n.m.now, func() { n.ride(ip) })
		return
	}
	w.busy = true
	n.t.Begin(now, ip)
	connect := time.Duration(n.m.r.Int64N(int64(20 * time.Millisecond)))
	if n.m.slow && n.m.r.IntN(100) == 0 {
		connect = time.Duration(n.m.r.Int64N(int64(5 * time.Second)))
	}
	n.on(connect, func() { n.write(ip, w) })
}

func (n *modelNode) write(ip netip.Addr, w *rider) {
	now := n.clock()
	if n.leased <= n.m.now || !n.t.MayWrite(now, ip) {
		n.ended(ip, w, false)
		return
	}
	n.m.request(n, ip)
	w.left--
	took := time.Duration(n.m.r.Int64N(int64(10 * time.Millisecond)))
	if n.m.slow && n.m.r.IntN(100) == 0 {
		took = time.Duration(n.m.r.Int64N(int64(8 * time.Second)))
	}
	n.on(took, func() { n.ended(ip, w, true) })
}

func (n *modelNode) ended(ip netip.Addr, w *rider, requested bool) {
	now := n.clock()
	if w.busy = false; requested {
		w.next = now + n.m.gap
	}
	n.t.End(now, ip, requested)
	n.on(max(w.next-now, 0), func() { n.ride(ip) })
}

// request is the server's side.
func (m *model) request(n *modelNode, ip netip.Addr) {
	who := fmt.Sprint(n.self)
	if last, ok := m.last[ip]; ok {
		// Gaps are measured by clocks that may be a twentieth fast.
		if gap := m.now - last; gap < m.gap*20/21 {
			m.t.Errorf("%v: %v is requested by %s %v after %s", m.now, ip, who, gap, m.by[ip])
		}
	}
	m.last[ip], m.by[ip] = m.now, who
	m.writes++
}

func newModel(t *testing.T, seed uint64, gap time.Duration, nodes, addrs, work int) *model {
	m := &model{
		t:    t,
		gap:  gap,
		r:    rand.New(rand.NewPCG(seed, 7)),
		now:  time.Hour,
		last: map[netip.Addr]time.Duration{},
		by:   map[netip.Addr]string{},
	}
	for i := range addrs {
		m.addrs = append(m.addrs, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
	}
	for i := range nodes {
		m.nodes = append(m.nodes, m.newNode(i, 1, work))
	}
	for p := range modelPartitions {
		m.holder[p] = p % nodes
		for _, n := range m.nodes {
			n.view[p] = m.holder[p]
		}
		n := m.nodes[m.holder[p]]
		n.t.Hold(n.clock(), crawl.Partition(p), false)
	}
	return m
}

// A modelNode is the Node of its table.

func (n *modelNode) Gap(netip.Addr) time.Duration { return n.m.gap }
func (n *modelNode) Crawls() bool                 { return !n.paused || n.busy <= n.m.now }
func (n *modelNode) May(crawl.Partition) bool     { return n.leased > n.m.now }

func (n *modelNode) Partition(ip netip.Addr) crawl.Partition {
	return crawl.Partition(ip.As4()[3] % modelPartitions)
}

func (n *modelNode) Holder(p crawl.Partition) (Member, bool) {
	if n.view[p] < 0 {
		return Member{}, false
	}
	return n.m.nodes[n.view[p]].self, true
}

func (m *model) newNode(i int, boot crawl.Boot, work int) *modelNode {
	n := &modelNode{
		m:      m,
		self:   Member{crawl.NodeID(fmt.Sprintf("n%d", i)), boot},
		rate:   1 + m.r.Float64()/20,
		offset: time.Duration(m.r.Int64N(int64(time.Hour))),
		leased: forEver,
		work:   map[netip.Addr]*rider{},
	}
	n.view = m.holder
	n.t = New(n.self, n)
	for _, ip := range m.addrs {
		n.work[ip] = &rider{left: work}
		n.on(time.Duration(m.r.Int64N(int64(time.Second))), func() { n.ride(ip) })
	}
	n.tick()
	return n
}

func (n *modelNode) tick() {
	n.on(Every, func() {
		n.t.Tick(n.clock())
		n.tick()
	})
}

func (m *model) run(d time.Duration) {
	for end := m.now + d; len(m.queue) > 0 && m.queue[0].at <= end && !m.t.Failed(); {
		e := heap.Pop(&m.queue).(event)
		m.now = e.at
		e.do()
	}
}

// take gives p to node i after a while, and tells the others.
func (m *model) take(p, i int, d time.Duration) {
	m.holder[p] = -1
	m.after(d, func() {
		n := m.nodes[i]
		if !n.well() {
			m.take(p, m.anyAlive(), time.Second)
			return
		}
		m.holder[p] = i
		n.on(0, func() {
			if m.holder[p] == i && n == m.nodes[i] && n.leased > m.now {
				n.t.Hold(n.clock(), crawl.Partition(p), true)
			}
		})
		for _, o := range m.nodes {
			o.on(time.Duration(m.r.Int64N(int64(2*time.Second))), func() { o.view[p] = m.holder[p] })
		}
	})
}

func (m *model) anyAlive() int {
	for {
		if i := m.r.IntN(len(m.nodes)); m.nodes[i].well() {
			return i
		}
	}
}

// fault does something bad, or only unusual.
func (m *model) fault(work int) {
	i := m.anyAlive()
	n := m.nodes[i]
	alive := 0
	for _, o := range m.nodes {
		if o.well() {
			alive++
		}
	}
	switch k := m.r.IntN(6); {
	case k == 0: // it stands still, for less than its lease
		n.stopped = m.now + time.Duration(m.r.Int64N(int64(7*time.Second)))
	case k == 1 && alive > 1:
		// it stands still or is cut off, and others take over when its lease is over
		n.stopped = m.now + time.Duration(m.r.Int64N(int64(30*time.Second)))
		n.leased = m.now + time.Duration(m.r.Int64N(int64(8*time.Second)))
		for p, h := range m.holder {
			if h == i {
				m.take(p, m.anyAlive(), n.leased-m.now+time.Duration(m.r.Int64N(int64(time.Second))))
			}
		}
		n.on(40*time.Second, func() {
			for p := range modelPartitions {
				n.t.Drop(crawl.Partition(p))
			}
			n.leased, n.view = forEver, m.holder
		})
	case k == 2 && alive > 1: // it is killed and starts again
		n.dead = true
		for p, h := range m.holder {
			if h == i {
				m.take(p, m.anyAlive(), time.Duration(m.r.Int64N(int64(2*time.Second))))
			}
		}
		m.after(time.Duration(m.r.Int64N(int64(20*time.Second))),
			func() { m.nodes[i] = m.newNode(i, n.self.Boot+1, work) })
	case k == 3: // all its fetchers are busy, or it is paused
		n.busy, n.paused = m.now+time.Duration(m.r.Int64N(int64(20*time.Second))), m.r.IntN(2) == 0
	default: // a partition moves between the living
		p := m.r.IntN(modelPartitions)
		h := m.holder[p]
		if h < 0 || !m.nodes[h].well() {
			return
		}
		old := m.nodes[h]
		m.holder[p] = -1
		to := m.anyAlive()
		old.on(0, func() {
			old.t.Drop(crawl.Partition(p))
			m.take(p, to, time.Duration(m.r.Int64N(int64(500*time.Millisecond))))
		})
	}
}

func TestModel(t *testing.T) {
	seeds := *modelSeeds
	if testing.Short() {
		seeds = 12
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newModel(t, seed,
				[]time.Duration{200 * time.Millisecond, 1500 * time.Millisecond}[seed/2%2], 2+int(seed%4),
				1+int(seed%3), 1<<30)
			m.faulty, m.slow = seed%2 == 0, true
			for range 60 {
				m.fault(1 << 30)
				m.run(time.Duration(m.r.Int64N(int64(10 * time.Second))))
			}
			m.faulty, m.slow = false, false
			m.run(time.Minute) // all stand-stills and exclusions are over
			for p, h := range m.holder {
				if h < 0 {
					m.take(p, m.anyAlive(), 0)
				}
			}
			m.run(20 * time.Second)
			before := m.writes
			m.run(time.Minute)
			if least := int(time.Minute/m.gap) * len(m.addrs) / 2; !t.Failed() && m.writes-before < least {
				t.Errorf("%d requests in the last minute, at least %d: the addresses are not used; "+
					"repeat with -run 'TestModel/%d$'", m.writes-before, least, seed)
			}
		})
	}
}

// TestThroughput: without faults, five nodes that share addresses use nearly all that the
// gap allows.
func TestThroughput(t *testing.T) {
	alone := 0
	for _, nodes := range []int{1, 2, 5} {
		m := newModel(t, 3, 200*time.Millisecond, nodes, 3, 1<<30)
		m.run(5 * time.Second)
		before := m.writes
		m.run(5 * time.Minute)
		made := m.writes - before
		t.Logf("%d nodes: %d requests, %d are possible", nodes, made, 3*int(5*time.Minute/m.gap))
		if alone = max(alone, made); made < alone*85/100 {
			t.Errorf("%d nodes make %d requests, one node %d", nodes, made, alone)
		}
	}
}

// TestThroughputBesideBusyNodes: nodes that hand out no visits take little of the others' time.
func TestThroughputBesideBusyNodes(t *testing.T) {
	for _, paused := range []bool{false, true} {
		m := newModel(t, 3, 200*time.Millisecond, 5, 3, 1<<30)
		for _, n := range m.nodes[:3] {
			n.busy, n.paused = forEver, paused
		}
		m.run(5 * time.Second)
		before := m.writes
		m.run(5 * time.Minute)
		made, possible := m.writes-before, 3*int(5*time.Minute/m.gap)
		t.Logf("paused %t: %d requests, %d are possible", paused, made, possible)
		if made < possible*80/100 {
			t.Errorf("beside busy nodes (paused: %t) %d requests are made, %d are possible", paused, made,
				possible)
		}
	}
}
