package membership

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/membership/gossip"
)

// wire is a transport without sockets. Unlike memberlist's own, it holds nobody
// up who sends to a node that has ended, and a node can be cut off.
type wire struct {
	own     string
	v       *village
	packets chan *memberlist.Packet
	streams chan net.Conn
}

func (w *wire) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	at, err := gossip.ParseAddress(w.own)
	return net.ParseIP(at.Host), at.Port, err
}

func (w *wire) WriteTo(b []byte, addr string) (time.Time, error) {
	return w.WriteToAddress(b, memberlist.Address{Addr: addr})
}

func (w *wire) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	now := time.Now()
	if peer := w.v.wireTo(w.own, to.Addr); peer != nil {
		from, _ := gossip.ParseAddress(w.own)
		select {
		case peer.packets <- &memberlist.Packet{Buf: slices.Clone(b), From: &net.UDPAddr{IP: net.ParseIP(from.Host), Port: from.Port}, Timestamp: now}:
		default: // lost
		}
	}
	return now, nil
}

func (w *wire) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return w.DialAddressTimeout(memberlist.Address{Addr: addr}, timeout)
}

func (w *wire) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	if peer := w.v.wireTo(w.own, to.Addr); peer != nil {
		here, there := net.Pipe()
		select {
		case peer.streams <- there:
			// A socket takes the first bytes although nobody reads; a pipe does not, and
			// memberlist writes its label before it sets a deadline of its own.
			return here, here.SetDeadline(time.Now().Add(timeout))
		default:
		}
	}
	time.Sleep(timeout)
	return nil, errors.New("time-out")
}

func (w *wire) PacketCh() <-chan *memberlist.Packet                    { return w.packets }
func (w *wire) StreamCh() <-chan net.Conn                              { return w.streams }
func (w *wire) IngestPacket(net.Conn, net.Addr, time.Time, bool) error { panic("not used") }
func (w *wire) IngestStream(net.Conn) error                            { panic("not used") }
func (w *wire) Shutdown() error                                        { return nil }

// places are the houses of now.
func (v *village) places() []*house {
	v.moving.RLock()
	defer v.moving.RUnlock()
	return v.houses
}

// move puts a place where another one was: from now on nobody is at the old one's address.
func (v *village) move(old, place *house) {
	v.moving.Lock()
	defer v.moving.Unlock()
	v.houses = slices.Clone(v.houses)
	v.houses[slices.Index(v.houses, old)] = place
}

// wireTo finds the node at an address, unless one of the two is cut off.
func (v *village) wireTo(from, to string) *wire {
	for _, h := range v.places() {
		if h.wire.own == to && !v.cutBetween(from, to) {
			return h.wire
		}
	}
	return nil
}

func (v *village) cutBetween(a, b string) bool {
	_, one := v.isolated.Load(a)
	_, other := v.isolated.Load(b)
	_, both := v.parted.Load([2]string{min(a, b), max(a, b)})
	return one || other || both
}

// part cuts the link between two nodes.
func (h *house) part(other *house) {
	for _, link := range [][2]string{{h.wire.own, other.wire.own}, {h.o.RPC, other.o.RPC}} {
		h.v.parted.Store([2]string{min(link[0], link[1]), max(link[0], link[1])}, true)
	}
}

// bubbleClock is the bubble's time.
type bubbleClock struct{ start time.Time }

func (c bubbleClock) BootTime() time.Duration { return time.Since(c.start) + time.Hour }
func (c bubbleClock) Wall() time.Time         { return time.Now() }

// village is some nodes in virtual time, as simulations run them. One of them
// can be cut off from the others.
type village struct {
	t        *testing.T
	x        exchange
	ctx      context.Context
	isolated sync.Map     // addresses, gossip and RPC
	parted   sync.Map     // pairs of such addresses, sorted
	moving   sync.RWMutex // held while houses changes under running nodes
	houses   []*house
	dead     sync.Map // id of a node whose process is gone, to true
	refusing atomic.Bool
}

// house is one node's place: it outlives the node's processes.
type house struct {
	*Membership
	v     *village
	o     Options
	wire  *wire
	stop  context.CancelFunc
	done  chan error
	beats sync.WaitGroup
	// strays: calls to its RPC address reach another process.
	strays bool
}

// Call implements Caller: it obeys the cut.
func (h *house) Call(ctx context.Context, to Member, payload []byte) ([]byte, error) {
	if h.v.cutBetween(h.o.RPC, to.RPC) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.v.x.Call(ctx, to, payload)
}

// newVillage makes places for nodes; spare ones may stay empty.
func newVillage(t *testing.T, names ...string) *village {
	v := &village{t: t, ctx: t.Context()}
	for i, name := range names {
		h := &house{v: v, o: v.x.options(name), wire: &wire{
			own: fmt.Sprintf("127.0.0.1:%d", 1000+i), v: v, packets: make(chan *memberlist.Packet, 100), streams: make(chan net.Conn, 10),
		}}
		h.o.Transport, h.o.Caller, h.o.ProofOfDeath, h.o.Clock = h.wire, h, true, bubbleClock{time.Now()}
		h.o.Processes = func(m Member) (bool, bool) { _, gone := v.dead.Load(m.ID); return gone, true }
		h.o.Dial = func(context.Context, string) error {
			if v.refusing.Load() {
				return syscall.ECONNREFUSED
			}
			return errors.New("time-out")
		}
		if len(v.houses) > 0 {
			h.o.Join = []string{v.houses[0].wire.own}
		}
		v.houses = append(v.houses, h)
	}
	return v
}

// newRunningVillage makes places, starts a node at each, and gives them time to join.
func newRunningVillage(t *testing.T, names ...string) *village {
	v := newVillage(t, names...)
	for _, h := range v.houses {
		h.start()
	}
	time.Sleep(10 * time.Second)
	return v
}

// start runs a node, which asks the others for its lease each second.
func (h *house) start() {
	m, err := Open(h.o)
	if err != nil {
		h.v.t.Fatal(err)
	}
	h.Membership = m
	if !h.strays {
		h.v.x.set(h.o.RPC, m)
	}
	ctx, cancel := context.WithCancel(h.v.ctx)
	h.stop, h.done = cancel, make(chan error, 1)
	go func() { h.done <- m.Run(ctx) }()
	h.beats.Go(func() { h.renew(ctx, m) })
}

func (h *house) renew(ctx context.Context, m *Membership) {
	for ctx.Err() == nil {
		if v := m.View(); v != nil {
			for _, other := range h.v.places() {
				to := h.v.x.at(other.o.RPC)
				if to == nil || other == h || m.stalled.Load() || h.v.cutBetween(h.o.RPC, other.o.RPC) {
					continue
				}
				sent := m.LeaseAsked()
				switch granted := to.Grant(v.Number, m.self.ID, m.self.Boot); {
				case granted && to.stalled.Load():
					m.LeaseGrantedStalled(v.Number, to.self.ID, sent)
				case granted:
					m.LeaseGranted(v.Number, to.self.ID, sent)
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// cut takes a node off the network, and heal puts it back.
func (h *house) cut() {
	h.v.isolated.Store(h.wire.own, true)
	h.v.isolated.Store(h.o.RPC, true)
}

func (h *house) heal() {
	h.v.isolated.Delete(h.wire.own)
	h.v.isolated.Delete(h.o.RPC)
}

// crash ends a node without a word to the others; with known set, they can see
// that its process is gone.
func (h *house) crash(known bool) {
	h.cut()
	h.v.x.set(h.o.RPC, nil)
	if known {
		h.v.dead.Store(h.self.ID, true)
	}
	h.stop()
	<-h.done
	h.beats.Wait()
}

// end stops the nodes that are left, and waits for what they leave behind.
func (v *village) end(left ...*house) {
	for _, h := range left {
		h.stop()
	}
	for _, h := range left {
		if err := <-h.done; err != nil {
			v.t.Error(err)
		}
		h.beats.Wait()
	}
	time.Sleep(time.Minute) // memberlist does not wait for its goroutines
}

// members checks what a node has installed.
func (h *house) members(when string, status consensus.Status, names ...string) {
	h.v.t.Helper()
	var got []string
	s := h.Snapshot()
	for _, m := range s.View.Members {
		got = append(got, m.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, names) || s.Status != status {
		h.v.t.Errorf("%s: %s is %s in %s, want %s in %v", when, h.o.Name, s.Status, s.View, status, names)
	}
}

// TestHealsAfterCut cuts one of three off for so long that gossip forgets it
// for good. It is excluded and pauses; then it finds the others again and joins
// anew, without a restart.
func TestHealsAfterCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newRunningVillage(t, "n1", "n2", "n3")
		n1, n2, n3 := v.houses[0], v.houses[1], v.houses[2]
		for _, h := range v.houses {
			h.members("joined", consensus.Active, "n1", "n2", "n3")
			if !h.LeaseValid() || h.Snapshot().Minority {
				t.Errorf("%s is not leased", h.o.Name)
			}
		}
		n3.cut()
		time.Sleep(4 * time.Second)
		n1.members("cut for a moment", consensus.Active, "n1", "n2", "n3")
		time.Sleep(6 * time.Second)
		n1.members("cut", consensus.Active, "n1", "n2")
		if removed := n1.View().Removed; len(removed) != 1 || removed[0] != (Removal{ID: n3.self.ID, Boot: 1, Name: "n3"}) {
			t.Errorf("removed: %+v", removed)
		}
		n3.members("cut", consensus.Active, "n1", "n2", "n3")
		if n3.LeaseValid() || !n3.Snapshot().Minority || !n1.LeaseValid() || n1.Snapshot().Minority {
			t.Error("ten seconds after the cut the minority has not paused, or the majority has")
		}
		time.Sleep(5 * time.Minute)
		n3.heal()
		time.Sleep(10 * time.Second)
		for _, h := range v.houses {
			h.members("healed", consensus.Active, "n1", "n2", "n3")
			if !h.LeaseValid() || h.Snapshot().Minority {
				t.Errorf("healed: %s is not leased", h.o.Name)
			}
		}
		if m, _ := n2.View().Member(n3.self.ID); m.Boot != 1 || m.Since <= 3 {
			t.Errorf("n3 came back as %+v", m)
		}
		v.end(n1, n2, n3)
	})
}

// countingStorage counts the writes.
type countingStorage struct {
	Storage
	saves atomic.Int32
}

func (c *countingStorage) Save(doc []byte) error {
	c.saves.Add(1)
	return c.Storage.Save(doc)
}

// TestApartInBubble cuts the link between two of five, which reach the others:
// nobody is excluded, and whoever tries does not try often.
func TestApartInBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVillage(t, "n1", "n2", "n3", "n4", "n5")
		disk := &countingStorage{Storage: v.houses[2].o.Storage}
		v.houses[2].o.Storage = disk
		for _, h := range v.houses {
			h.start()
		}
		time.Sleep(20 * time.Second)
		n1, n2 := v.houses[0], v.houses[1]
		view := n1.View()
		n1.part(n2)
		saved := disk.saves.Load()
		time.Sleep(2 * time.Minute)
		if n := disk.saves.Load() - saved; n == 0 || n > 28 {
			t.Errorf("n3 has written its state %d times in two minutes, want one for each attempt of n1 and n2, at most each 10 s", n)
		}
		for _, h := range v.houses {
			h.members("apart", consensus.Active, "n1", "n2", "n3", "n4", "n5")
			if h.View().Number != view.Number || !h.LeaseValid() {
				t.Errorf("apart: %s has installed %s, lease %v", h.o.Name, h.View(), h.Lease())
			}
		}
		v.end(v.houses...)
	})
}

// TestExcludesTheDead kills nodes one after the other. The death is seen in
// the list of processes, then by an ended stream and refused connects: the
// last one goes on alone, each time within a second.
func TestExcludesTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newRunningVillage(t, "n1", "n2", "n3")
		n1, n2, n3 := v.houses[0], v.houses[1], v.houses[2]
		n1.members("joined", consensus.Active, "n1", "n2", "n3")
		n1.crash(true)
		time.Sleep(time.Second)
		n2.members("n1 killed", consensus.Active, "n2", "n3")
		n3.members("n1 killed", consensus.Active, "n2", "n3")
		if r := n2.View().Removed; len(r) != 1 || !r[0].Proved || r[0].Name != "n1" {
			t.Errorf("removed: %+v", r)
		}
		n2.crash(false)
		time.Sleep(10 * time.Second)
		n3.members("n2 silent", consensus.Active, "n2", "n3")
		v.refusing.Store(true)
		n3.StreamEnded(n2.self.ID, n2.self.Boot, n2.self.RPC)
		time.Sleep(time.Second)
		n3.members("n2 proved dead", consensus.Active, "n3")
		if !n3.LeaseValid() {
			t.Error("the last one is not leased")
		}
		v.end(n3)
	})
}

// TestForget loses two of three without proof: the last one pauses, until an
// operator forgets both. One of them comes back and learns that it is barred.
func TestForget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVillage(t, "n1", "n2", "n3", "again")
		n1, n2, n3, again := v.houses[0], v.houses[1], v.houses[2], v.houses[3]
		n1.start()
		n2.start()
		n3.start()
		time.Sleep(10 * time.Second)
		ctx := t.Context()
		for what, c := range map[string]struct {
			id   crawl.NodeID
			want error
		}{"a living one": {n2.self.ID, ErrAnswers}, "itself": {n1.self.ID, ErrForget}, "a stranger": {"nobody", ErrUnknown}} {
			if err := n1.Forget(ctx, c.id); !errors.Is(err, c.want) {
				t.Errorf("forgetting %s: %v", what, err)
			}
		}
		n2.crash(false)
		n3.crash(false)
		time.Sleep(10 * time.Second)
		if n1.members("alone", consensus.Active, "n1", "n2", "n3"); !n1.Snapshot().Minority || n1.LeaseValid() {
			t.Error("one of three has not paused")
		}
		for _, h := range []*house{n2, n3, n3} { // the second time changes nothing
			if err := n1.Forget(ctx, h.self.ID); err != nil {
				t.Errorf("forgetting %s: %v", h.o.Name, err)
			}
		}
		time.Sleep(time.Second)
		n1.members("forgotten", consensus.Active, "n1")
		if n1.Snapshot().Minority || !n1.LeaseValid() || !n1.View().Bars(n2.self.ID) || n1.View().Removed[0].Proved {
			t.Errorf("%s, lease %v", n1.View(), n1.Lease())
		}
		if len(n1.Snapshot().Peers) != 1 {
			t.Errorf("the forgotten are still shown: %+v", n1.Snapshot().Peers)
		}
		again.o.Storage, again.o.Name = n2.o.Storage, "n2"
		again.start()
		if err := <-again.done; !errors.Is(err, ErrForgotten) {
			t.Errorf("n2 came back and ended with %v", err)
		}
		again.stop()
		again.beats.Wait()
		n1.members("n2 was back", consensus.Active, "n1")
		v.end(n1)
	})
}

// TestNameIsFreeAgain: a name is taken while its owner is a member.
func TestNameIsFreeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVillage(t, "n1", "n2", "early", "late")
		n1, n2, early, late := v.houses[0], v.houses[1], v.houses[2], v.houses[3]
		n1.start()
		n2.start()
		time.Sleep(10 * time.Second)
		early.o.Name, late.o.Name = "n2", "n2"
		early.start()
		if err := <-early.done; !errors.Is(err, ErrNameTaken) {
			t.Errorf("the second n2 ends with %v", err)
		}
		early.stop()
		early.beats.Wait()
		n2.crash(true)
		time.Sleep(time.Second)
		n1.members("n2 killed", consensus.Active, "n1")
		late.start()
		time.Sleep(10 * time.Second)
		late.members("late", consensus.Active, "n1", "n2")
		if m, _ := n1.View().Member(late.self.ID); m.Name != "n2" {
			t.Errorf("%s", n1.View())
		}
		v.end(n1, late)
	})
}

// TestDeletedDataKeepTheName: a node that was killed and comes back without its data
// has another id; it waits until the others have dropped the former one, and ends
// only while that one lives.
func TestDeletedDataKeepTheName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVillage(t, "n1", "n2", "n3", "again")
		n1, n2, n3, again := v.houses[0], v.houses[1], v.houses[2], v.houses[3]
		for _, h := range []*house{n1, n2, n3} {
			h.start()
		}
		time.Sleep(10 * time.Second)
		n3.crash(false) // nobody knows that it is dead
		again.o.Name = "n3"
		again.start()
		time.Sleep(3 * time.Second)
		n1.members("n3 silent", consensus.Active, "n1", "n2", "n3")
		again.members("it waits", consensus.Joining, "n1", "n2", "n3")
		time.Sleep(10 * time.Second)
		for _, h := range []*house{n1, n2, again} {
			h.members("admitted", consensus.Active, "n1", "n2", "n3")
		}
		if listed(n1.View(), n3.self.ID) || !n1.View().Lists(again.self.ID, 1) {
			t.Errorf("%s", n1.View())
		}
		v.end(n1, n2, again)
	})
}
