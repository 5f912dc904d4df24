package turns

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/scheduler/addresses"
)

var someIP = netip.MustParseAddr("2001:db8::1")

// group is some nodes in one bubble; the first keeps every address.
type group struct {
	mu    sync.Mutex // guards deaf
	deaf  bool       // calls fail
	nodes []*member
}

type member struct {
	*Turns
	id   crawl.NodeID
	came chan netip.Addr
}

func newGroup(n int) *group {
	g := &group{}
	start := time.Now().Add(-time.Hour)
	for i := range n {
		m := &member{id: crawl.NodeID("n" + string(rune('1'+i))), came: make(chan netip.Addr, 100)}
		m.Turns = New(Options{
			Self:       Member{ID: m.id, Boot: crawl.Boot(i + 1)},
			Partitions: 512,
			Cluster:    caller{g, m, start},
		})
		g.nodes = append(g.nodes, m)
	}
	for p := range 512 {
		g.nodes[0].Hold(crawl.Partition(p), false)
	}
	return g
}

// caller is the group as one of its nodes sees it.
type caller struct {
	*group
	member *member
	start  time.Time // of the clock
}

func (caller) Holder(crawl.Partition) crawl.NodeID { return "n1" }
func (caller) Crawls() bool                        { return true }
func (caller) May(crawl.Partition) bool            { return true }

func (c caller) Clock() time.Duration       { return time.Since(c.start) }
func (caller) Gap(netip.Addr) time.Duration { return 100 * time.Millisecond }

func (c caller) Came(ips []netip.Addr) {
	for _, ip := range ips {
		c.member.came <- ip
	}
}

func (caller) Target(id crawl.NodeID) peer.Target {
	return peer.Target{ID: string(id), Boot: uint64(id[1] - '0')}
}

func (c caller) Call(
	_ context.Context, to peer.Target, b *peer.AddressBatch,
) (*peer.AddressBatch, error) {
	time.Sleep(3 * time.Millisecond)
	c.mu.Lock()
	deaf := c.deaf
	c.mu.Unlock()
	if deaf {
		return nil, errors.New("nobody is there")
	}
	for i, o := range c.nodes {
		if string(o.id) == to.ID && to.Boot == uint64(i+1) {
			return o.Serve(c.member.id, b), nil
		}
	}
	return nil, errors.New("no such node")
}

// run runs all nodes until the test ends.
func (g *group) run(f func()) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, m := range g.nodes {
		running.Go(func() { _ = m.Run(ctx) }) // it returns nil
	}
	f()
	stop()
	running.Wait()
}

// request makes n requests, as a scheduler would, and returns when they began.
func (m *member) request(n int) (at []time.Time) {
	for len(at) < n {
		wait, ok := m.Turn(someIP)
		switch {
		case !ok:
			<-m.came
		case wait > 0:
			time.Sleep(wait)
		default:
			m.Begin(someIP)
			time.Sleep(time.Millisecond)
			may := m.MayWrite(someIP)
			if may {
				at = append(at, time.Now())
			}
			m.End(someIP, may)
			time.Sleep(100 * time.Millisecond)
		}
	}
	m.Idle(someIP)
	return at
}

// Three nodes make requests to one address: none comes too early, and all come soon.
func TestThreeNodesShareAnAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(3)
		start := time.Now()
		var mu sync.Mutex
		var all []time.Time
		g.run(func() {
			var busy sync.WaitGroup
			for _, m := range g.nodes {
				busy.Go(func() {
					at := m.request(40)
					mu.Lock()
					defer mu.Unlock()
					all = append(all, at...)
				})
			}
			busy.Wait()
		})
		slices.SortFunc(all, time.Time.Compare)
		for i := 1; i < len(all); i++ {
			if gap := all[i].Sub(all[i-1]); gap < 100*time.Millisecond {
				t.Errorf("a request comes %v after another", gap)
			}
		}
		if took, least := time.Since(start),
			time.Duration(len(all))*100*time.Millisecond; took > least*5/4 {
			t.Errorf("%d requests took %v, %v is possible", len(all), took, least)
		}
	})
}

// A node that cannot reach the keeper makes no request, and says for how long; when it can, it goes
// on.
func TestKeeperOutOfReach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(2)
		g.deaf = true
		g.run(func() {
			m := g.nodes[1]
			if _, ok := m.Turn(someIP); ok {
				t.Fatal("a turn that nobody gave")
			}
			time.Sleep(20 * time.Second)
			if n, longest := m.Silent(10 * time.Second); n != 1 || longest < 19*time.Second {
				t.Errorf("the keepers of %d addresses are silent, for %v", n, longest)
			}
			if c := m.Counts(10 * time.Second); c.Unheard != 1 || c.Held != 0 {
				t.Errorf("%+v", c)
			}
			g.mu.Lock()
			g.deaf = false
			g.mu.Unlock()
			<-m.came
			if _, ok := m.Turn(someIP); !ok {
				t.Error("the turn came and is not there")
			}
			g.nodes[0].Drop(PartitionOf(someIP, 512))
			time.Sleep(addresses.Validity)
			if _, ok := m.Turn(someIP); ok {
				t.Error("the turn outlives its keeper")
			}
		})
	})
}

func TestPartitionOfIsTheSameForMappedAddresses(t *testing.T) {
	a, b := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("::ffff:192.0.2.7")
	if PartitionOf(a, 1024) != PartitionOf(b, 1024) {
		t.Error("one address has two keepers")
	}
}

// order notes what it is told, and how asks are answered then.
type order struct {
	turns *Turns
	told  []string
	stamp int64
}

func (o *order) note(what string) {
	o.stamp++
	ask := &peer.AddressMessage{
		Kind:    uint32(addresses.Ask),
		Address: someIP.AsSlice(),
		StampNs: o.stamp,
	}
	answer := "nothing"
	for _, m := range o.turns.Serve("n2",
		&peer.AddressBatch{Boot: 2, Messages: []*peer.AddressMessage{ask}}).Messages {
		answer = map[addresses.Kind]string{
			addresses.Grant: "granted",
			addresses.Wait:  "wait",
		}[addresses.Kind(m.Kind)]
	}
	o.told = append(o.told, what+" "+answer)
}

func (o *order) Freeze(context.Context, crawl.Partition) error {
	o.note("freeze")
	return nil
}
func (o *order) Resume(crawl.Partition)            { o.note("resume") }
func (o *order) Drop(crawl.Partition)              { o.note("drop") }
func (o *order) Hold(crawl.Partition, crawl.Epoch) { o.note("hold") }

// What handoff tells goes to the turns first; only in the first view turns are given at once.
func TestPartitionsComeAndGo(t *testing.T) {
	n := newGroup(1).nodes[0]
	p, view := PartitionOf(someIP, 512), crawl.Epoch(1)
	o := &order{turns: n.Turns}
	b := n.Beside(o, func() crawl.Epoch { return view })
	b.Drop(p)
	b.Hold(p, 1)
	view = 2
	_ = b.Freeze(t.Context(), p) // nil
	b.Resume(p)
	b.Drop(p)
	b.Hold(p, 2)
	if want := []string{"drop nothing", "hold granted", "freeze nothing", "resume wait",
		"drop nothing", "hold wait"}; !slices.Equal(o.told, want) {
		t.Errorf("told %q, want %q", o.told, want)
	}
}

// FuzzBatches: what a member sends is read, or left out.
func FuzzBatches(f *testing.F) {
	f.Add(uint32(1), []byte{192, 0, 2, 1}, int64(5), int64(-1), uint64(1), true)
	f.Add(uint32(3), []byte{}, int64(-1), int64(1<<62), uint64(0), false)
	f.Fuzz(func(t *testing.T, kind uint32, ip []byte, stamp, rest int64, tenure uint64, others bool) {
		g := newGroup(1)
		m := &peer.AddressMessage{
			Kind:    kind,
			Address: ip,
			StampNs: stamp,
			RestNs:  rest,
			Tenure:  tenure,
			Others:  others,
		}
		n := g.nodes[0]
		reply := n.Serve("stranger",
			&peer.AddressBatch{Boot: 9, Messages: []*peer.AddressMessage{m, nil, m}})
		if len(reply.Messages) > 4 {
			t.Errorf("three messages are answered with %d", len(reply.Messages))
		}
		if addr, ok := netip.AddrFromSlice(ip); ok && n.MayWrite(addr) {
			t.Error("a message gives a turn that was not asked for")
		}
	})
}
