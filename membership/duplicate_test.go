package membership

import (
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/membership/gossip"
)

// copied returns a storage with the same content.
func copied(t *testing.T, from Storage) *Memory {
	t.Helper()
	raw, err := from.Load()
	if err != nil {
		t.Fatal(err)
	}
	to := new(Memory)
	if err := to.Save(raw); err != nil {
		t.Fatal(err)
	}
	return to
}

// endsAsDuplicate starts a node that must end because another process has its id.
func endsAsDuplicate(t *testing.T, x *exchange, o Options) {
	t.Helper()
	o.RPC = "rpc-copy:1"
	m := x.run(t, o)
	select {
	case err := <-m.done:
		if !errors.Is(err, ErrDuplicate) {
			t.Errorf("the copy ends with %v", err)
		}
	case <-time.After(patience):
		t.Fatalf("the copy does not notice: %+v", m.Snapshot())
	}
	x.set(o.RPC, nil)
}

// A node that is started on a copy of a living node's data ends, whether its boot
// number is higher, the same or lower; the living one stays a member throughout.
func TestCopyGivesWay(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	n1 := x.run(t, x.options("n1"))
	o := x.options("n2")
	o.Join = []string{n1.Self().Gossip}
	n2 := x.run(t, o)
	n1.awaitMembers("n1", "n2")

	first := copied(t, o.Storage) // boot 1 is in use: its next start has boot 2
	double := o
	double.Storage = copied(t, first)
	endsAsDuplicate(t, x, double)
	if v := n1.View(); !v.Lists(n2.self.ID, 1) || v.Number != 2 {
		t.Errorf("the copy has changed the view to %s", v)
	}

	n2.end()
	second := copied(t, o.Storage)
	n2 = x.run(t, o)
	listed := func(boot crawl.Boot) {
		t.Helper()
		n1.await("the restart", func(s *Snapshot) bool { return s.View.Lists(n2.self.ID, boot) })
		n2.await("its place", func(s *Snapshot) bool { return s.View.Lists(n2.self.ID, boot) })
	}
	listed(2)
	double.Storage = second // boot 2, as the one that lives
	endsAsDuplicate(t, x, double)

	n2.end()
	n2 = x.run(t, o)
	listed(3)
	n2.end()
	double.Storage = first // boot 2, and a view lists boot 3
	endsAsDuplicate(t, x, double)
}

// A node whose data have moved to another address is a member there: nobody
// answers at the old one.
func TestMovedDataIsNoDuplicate(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	n1 := x.run(t, x.options("n1"))
	o := x.options("n2")
	o.Join = []string{n1.Self().Gossip}
	n2 := x.run(t, o)
	n1.awaitMembers("n1", "n2")
	n2.end()
	o.RPC = "rpc-moved:1"
	moved := x.run(t, o)
	moved.await("its place", func(s *Snapshot) bool { return s.View.Lists(moved.self.ID, 2) })
	n1.await("the new address", func(s *Snapshot) bool {
		m, ok := s.View.Member(moved.self.ID)
		return ok && m.RPC == o.RPC && len(s.View.Members) == 2
	})
}

// A node that was killed comes back with its data and its name at another address:
// its name leads to itself there, so it must not take itself for a duplicate, although
// gossip still shows its former boot at the old address.
func TestMovesWithItsName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newRunningVillage(t, "n1", "n2", "n3")
		n1, n2, n3 := v.houses[0], v.houses[1], v.houses[2]
		n1.members("joined", consensus.Active, "n1", "n2", "n3")
		before, _ := n1.View().Member(n3.self.ID)
		n3.crash(false)
		v.isolated.Delete(n3.o.RPC) // the name, its RPC address here, leads to the new place

		moved := &house{v: v, o: n3.o, wire: &wire{own: "127.0.0.9:1002", v: v, packets: make(chan *memberlist.Packet, 100), streams: make(chan net.Conn, 10)}}
		moved.o.Transport, moved.o.Caller = moved.wire, moved
		v.move(n3, moved)
		time.Sleep(time.Second)
		moved.start()
		time.Sleep(5 * time.Second)
		select {
		case err := <-moved.done:
			t.Errorf("it has ended: %v", err)
			moved.done <- nil
		default:
		}
		for _, h := range []*house{n1, n2, moved} {
			h.members("moved", consensus.Active, "n1", "n2", "n3")
		}
		after, _ := n1.View().Member(before.ID)
		if after.Boot != before.Boot+1 || after.Since != before.Since || after.Gossip != moved.wire.own {
			t.Errorf("it was %+v and is %+v", before, after)
		}
		for range 30 { // for some of them gossip has the old address, and finds nobody there
			time.Sleep(500 * time.Millisecond)
			for _, p := range n1.Snapshot().Peers {
				if p.State != crawl.NodeAlive || p.ID == before.ID && p.Boot != after.Boot {
					t.Errorf("n1 shows %+v", p)
				}
			}
		}
		v.end(n1, n2, moved)
	})
}

// misled is a wire of a node whose advertised name leads to another address than its
// own.
type misled struct {
	*wire
	shown string
}

func (w *misled) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	at, err := gossip.ParseAddress(w.shown)
	return net.ParseIP(at.Host), at.Port, err
}

// double makes a place for a process with a copy of a node's data, its name, and an
// address of its own to which the name does not lead.
func (h *house) double(data Storage, change ...func(*house)) *house {
	d := &house{v: h.v, o: h.o, strays: true, wire: &wire{own: "127.0.0.8:1002", v: h.v, packets: make(chan *memberlist.Packet, 100), streams: make(chan net.Conn, 10)}}
	d.o.Storage, d.o.Transport, d.o.Caller = data, &misled{d.wire, h.wire.own}, d
	for _, f := range change { // before the others see the place: they read its address
		f(d)
	}
	h.v.moving.Lock()
	defer h.v.moving.Unlock()
	h.v.houses = append(slices.Clone(h.v.houses), d)
	return d
}

// A copy of a living node's data is started elsewhere under the same name, so that
// gossip has one address for both. It ends; the living one stays a member under its
// boot, and nobody sees another one.
func TestCopyWithItsNameGivesWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		stopped bool // the copy was made before the living one was started
		own     bool // the name leads to the copy by now
	}{
		{name: "copied while it runs"},
		{name: "copied before its start", stopped: true},
		{name: "the name leads to the copy", own: true},
	} {
		t.Run(c.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { copyGivesWay(t, c.stopped, c.own) }) })
	}
}

func copyGivesWay(t *testing.T, stopped, own bool) {
	v := newRunningVillage(t, "n1", "n2", "n3")
	n1, n3 := v.houses[0], v.houses[2]
	var data Storage
	if stopped {
		n3.crash(true)
		n3.heal()
		v.dead.Delete(n3.self.ID)
		data = copied(t, n3.o.Storage)
		n3.start()
		time.Sleep(10 * time.Second)
	} else {
		data = copied(t, n3.o.Storage)
	}
	before := n1.View()
	double := n3.double(data)
	if own {
		double.strays = false
		v.x.set("127.0.0.1:1", n3.Membership) // the address of its gossip, and the port of its RPC
	}
	double.start()
	for range 200 {
		time.Sleep(100 * time.Millisecond)
		if double.LeaseValid() || double.Snapshot().Status == consensus.Active {
			t.Error("the copy takes part")
			break
		}
	}
	double.stop()
	if err := <-double.done; !errors.Is(err, ErrDuplicate) {
		t.Errorf("the copy ends with %v", err)
	}
	double.beats.Wait()
	if own {
		v.x.set(n3.o.RPC, n3.Membership)
	}
	if after := n1.View(); after.Digest() != before.Digest() {
		t.Errorf("the copy has changed the view from %s to %s", before, after)
	}
	if !n3.LeaseValid() || n3.Snapshot().Status != consensus.Active {
		t.Errorf("the living one is %s", n3.Snapshot().Status)
	}
	v.end(v.houses[:3]...)
}

// A copy of a node's data is started while that node is cut off and answers nobody: it
// takes its place. The former process has no lease after eight seconds, and ends when it
// hears the others again.
func TestCopyOfASilentNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newRunningVillage(t, "n1", "n2", "n3")
		n1, n2, n3 := v.houses[0], v.houses[1], v.houses[2]
		before, _ := n1.View().Member(n3.self.ID)
		double := n3.double(copied(t, n3.o.Storage), func(d *house) {
			d.o.RPC, d.o.Transport, d.strays = "rpc-copy:1", d.wire, false
		})
		n3.cut()
		double.start()
		time.Sleep(consensus.LeaseTime + time.Second) // of the request that was granted last
		if n3.LeaseValid() {
			t.Error("the node that is cut off has its lease yet")
		}
		time.Sleep(10 * time.Second)
		for _, h := range []*house{n1, n2, double} {
			h.members("while the former one is cut off", consensus.Active, "n1", "n2", "n3")
		}
		if after, _ := n1.View().Member(before.ID); after.Boot != before.Boot+1 || !double.LeaseValid() {
			t.Errorf("it was %+v and is %+v; the copy's lease: %v", before, after, double.LeaseValid())
		}
		n3.heal()
		select {
		case err := <-n3.done:
			if !errors.Is(err, ErrDuplicate) {
				t.Errorf("the former one ends with %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the former one goes on")
		}
		v.x.set(n3.o.RPC, nil)
		n3.stop()
		n3.beats.Wait()
		double.members("afterwards", consensus.Active, "n1", "n2", "n3")
		v.end(n1, n2, double)
	})
}

// A process whose number the view gives to another one is the copy, whoever else
// answers; where the system does not tell processes apart nobody is one.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	p := consensus.Process{Machine: "ab", PID: 7, Started: 100}
	later := consensus.Process{Machine: "ab", PID: 7, Started: 101}
	for _, c := range []struct {
		name   string
		listed Member
		ends   bool
	}{
		{"itself", Member{ID: "a", Boot: 2, Process: p}, false},
		{"its former self", Member{ID: "a", Boot: 1, Process: later}, false},
		{"a later start", Member{ID: "a", Boot: 3, Process: later}, true},
		{"another process of this number", Member{ID: "a", Boot: 2, Process: later}, true},
		{"processes are unknown", Member{ID: "a", Boot: 2}, false},
		{"another node", Member{ID: "b", Boot: 2, Process: later}, false},
	} {
		err := superseded(&View{Number: 1, Cluster: foundedCluster, Members: []Member{c.listed}}, Member{ID: "a", Boot: 2, Process: p})
		if errors.Is(err, ErrDuplicate) != c.ends {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
