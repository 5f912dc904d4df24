package membership

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// nameServer is a DNS in virtual time. Each house may have its own view of it.
type nameServer struct {
	mu    sync.Mutex
	names map[string][]string
}

func (s *nameServer) set(name string, ips ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[string][]string{}
	}
	s.names[name] = ips
}

func (s *nameServer) lookup(_ context.Context, name string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ips := s.names[name]; len(ips) > 0 {
		return ips, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

// lines counts the warnings of a logger.
type lines struct {
	mu    sync.Mutex
	texts []string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts = append(l.texts, string(b))
	return len(b), nil
}

// about returns the warnings that mention text.
func (l *lines) about(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.texts {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// town is a village whose houses have names, and all the same list of them. House i
// stands at 10.0.0.i+1 and is called by its name, at port 27296.
type town struct {
	*village
	dns  []*nameServer // of each house
	logs []*lines
}

func newTown(t *testing.T, names ...string) *town {
	w := &town{village: newVillage(t, names...)}
	var join []string
	for _, name := range names {
		join = append(join, name+":27296")
	}
	for i, h := range w.houses {
		h.wire.own = ip(i) + ":27296"
		dns, log := &nameServer{}, &lines{}
		for j, name := range names {
			dns.set(name, ip(j))
		}
		h.o.Join, h.o.Lookup = join, dns.lookup
		h.o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		w.dns, w.logs = append(w.dns, dns), append(w.logs, log)
	}
	return w
}

func ip(house int) string { return fmt.Sprintf("10.0.0.%d", house+1) }

// everywhere changes a name in all views of the DNS.
func (w *town) everywhere(name string, ips ...string) {
	for _, s := range w.dns {
		s.set(name, ips...)
	}
}

// founded checks that all nodes are members of one cluster and returns its founder.
func (w *town) founded(when string) string {
	w.t.Helper()
	founder, id := "", consensus.ClusterID("")
	for _, h := range w.houses {
		v := h.View()
		if v == nil {
			w.t.Fatalf("%s: %s belongs to no cluster", when, h.o.Name)
		}
		if id == "" {
			id = v.Cluster.ID
		}
		if v.Cluster.ID != id || len(v.Members) != len(w.houses) {
			w.t.Fatalf("%s: %s is in cluster %s, %s; another node in %s", when, h.o.Name, v.Cluster.ID, v, id)
		}
		for _, m := range v.Members {
			if m.Since == 1 {
				founder = m.Name
			}
		}
	}
	return founder
}

func (w *town) nobodyFounded(when string) {
	w.t.Helper()
	for _, h := range w.houses {
		if v := h.View(); v != nil {
			w.t.Fatalf("%s: %s has founded or joined: %s", when, h.o.Name, v)
		}
	}
}

// TestNameResolvesLate: the name of the first node has an address only some time
// after the start, for itself as well as for the others.
func TestNameResolvesLate(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{0, 2500 * time.Millisecond, time.Minute} {
		t.Run(late.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTown(t, "n1", "n2", "n3")
				w.everywhere("n1")
				for _, h := range w.houses {
					h.start()
				}
				time.Sleep(late)
				w.nobodyFounded("no name yet")
				w.everywhere("n1", ip(0))
				time.Sleep(15 * time.Second)
				if by := w.founded("15 s after the name resolves"); by != "n1" {
					t.Errorf("founded by %s", by)
				}
				w.end(w.houses...)
			})
		})
	}
}

// TestFirstFoundsByNameAlone: the names of the others never resolve, and nobody is there.
func TestFirstFoundsByNameAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, "n1", "n2", "n3")
		w.everywhere("n2")
		w.everywhere("n3", "10.0.0.99")
		w.everywhere("n1")
		n1 := w.houses[0]
		n1.start()
		time.Sleep(20 * time.Second)
		w.everywhere("n1", ip(0))
		time.Sleep(15 * time.Second)
		n1.members("alone", consensus.Active, "n1")
		w.end(n1)
	})
}

// TestNameLeadsElsewhere: the name of the first node leads to the second for a while,
// on some of the machines.
func TestNameLeadsElsewhere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		where []int // the houses that see it wrong
		wrong time.Duration
		late  time.Duration // when the first node starts
		by    string        // who founds; "": either
	}{
		{"everywhere, 4 s", []int{0, 1, 2}, 4 * time.Second, 0, "n1"},
		{"everywhere, before the first starts", []int{0, 1, 2}, 4 * time.Second, 3 * time.Second, "n1"},
		{"at the second, 4 s", []int{1}, 4 * time.Second, 0, "n1"},
		{"at the second, for a minute", []int{1}, time.Minute, 0, ""},
		{"at the second and the third, for a minute", []int{1, 2}, time.Minute, 5 * time.Second, ""},
		{"at the first, 20 s", []int{0}, 20 * time.Second, 0, "n1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTown(t, "n1", "n2", "n3")
				for _, i := range tt.where {
					w.dns[i].set("n1", ip(1))
				}
				w.houses[1].start()
				w.houses[2].start()
				time.Sleep(tt.late)
				w.houses[0].start()
				time.Sleep(tt.wrong - tt.late)
				w.everywhere("n1", ip(0))
				time.Sleep(30 * time.Second)
				if by := w.founded("the name is right"); tt.by != "" && by != tt.by {
					t.Errorf("founded by %s", by)
				}
				w.end(w.houses...)
			})
		})
	}
}

// TestNameOfSeveralNodes: a name that leads to all nodes is no node's own; that is said
// once, and an address of one of them put first founds.
func TestNameOfSeveralNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, "n1", "n2", "n3")
		w.everywhere("all", ip(0), ip(1), ip(2))
		for _, h := range w.houses {
			h.o.Join = []string{"all:27296"}
			h.start()
		}
		time.Sleep(time.Minute)
		w.nobodyFounded("one name for all")
		for i, h := range w.houses {
			if told := w.logs[i].about("several nodes answer"); len(told) != 1 {
				t.Errorf("%s: %q", h.o.Name, told)
			}
			if s := h.Snapshot().Join; len(s) != 1 || s[0].Code != crawl.ReasonJoinWrong || s[0].Addr != "all:27296" {
				t.Errorf("%s shows %+v", h.o.Name, s)
			}
		}
		w.end(w.houses...)
	})
}

// TestBehindNAT: the first node cannot reach itself under the address that it advertises.
func TestBehindNAT(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, "n1", "n2")
		n1, n2 := w.houses[0], w.houses[1]
		w.parted.Store([2]string{n1.wire.own, n1.wire.own}, true)
		n1.start()
		n2.start()
		time.Sleep(25 * time.Second)
		if by := w.founded("after 25 s"); by != "n1" {
			t.Errorf("founded by %s", by)
		}
		w.end(n1, n2)
	})
}

// TestJoinTroubles: an address of --join where nobody is is told of once and shown until
// somebody answers there. A member that is down is not told of.
func TestJoinTroubles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, "n1", "n2", "n3")
		n1, n2, n3 := w.houses[0], w.houses[1], w.houses[2]
		for _, h := range w.houses {
			h.o.Join = []string{"n1:27296", "n2:27296", "n3:27296", "gone:27296", "10.0.0.9:1"}
		}
		n3.cut() // a pipe to a house without a node would take what nobody reads
		n1.start()
		n2.start()
		time.Sleep(30 * time.Second)
		show := func() (out []string) {
			for _, j := range n1.Snapshot().Join {
				out = append(out, j.Code+" "+j.Addr)
			}
			return out
		}
		want := func(when string, addrs ...string) {
			t.Helper()
			var want []string
			for _, a := range addrs {
				want = append(want, crawl.ReasonJoinSilent+" "+a)
			}
			if got := show(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: n1 shows %q, want %q", when, got, want)
			}
		}
		want("n3 has not started", "n3:27296", "gone:27296", "10.0.0.9:1")
		n3.heal()
		n3.start()
		time.Sleep(10 * time.Second)
		n1.members("n3 has started", consensus.Active, "n1", "n2", "n3")
		want("n3 has started", "gone:27296", "10.0.0.9:1")
		n3.crash(false)
		w.everywhere("n3")
		time.Sleep(time.Minute)
		want("n3 is down", "gone:27296", "10.0.0.9:1")
		for _, addr := range []string{"n3:27296", "gone:27296", "10.0.0.9:1"} {
			if told := w.logs[0].about("addr=" + addr); len(told) != 1 {
				t.Errorf("told of %s: %q", addr, told)
			}
		}
		w.end(n1, n2)
	})
}

// TestAdvertisedNameResolvesLate: a node waits for the name that it advertises.
func TestAdvertisedNameResolvesLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, "n1")
		n1 := w.houses[0]
		n1.o.Advertise = "n1"
		w.everywhere("n1")
		go func() {
			time.Sleep(2500 * time.Millisecond)
			w.everywhere("n1", ip(0))
		}()
		begin := time.Now()
		n1.start()
		if took := time.Since(begin); took < 2500*time.Millisecond || took > 4*time.Second {
			t.Errorf("opened after %v", took)
		}
		if told := w.logs[0].about("--advertise"); len(told) != 1 {
			t.Errorf("told: %q", told)
		}
		w.end(n1)
		w.everywhere("n1")
		n1.o.Storage = new(Memory)
		begin = time.Now()
		if _, err := Open(n1.o); err == nil || !strings.Contains(err.Error(), `advertised name "n1"`) || time.Since(begin) < nameWithin {
			t.Errorf("a name that never resolves: %v after %v", err, time.Since(begin))
		}
	})
}

// TestServersOnAllAddresses: others are told an address that they can dial, not "all".
func TestServersOnAllAddresses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, "n1", "n2")
		n1, n2 := w.houses[0], w.houses[1]
		n1.o.RPC, n1.o.HTTP = "[::]:27297", "0.0.0.0:27295"
		n2.o.RPC, n2.o.HTTP = "rpc.example:27297", "198.18.0.9:27295"
		n1.start()
		n2.start()
		if me := n1.Self(); me.RPC != ip(0)+":27297" || me.HTTP != ip(0)+":27295" {
			t.Errorf("n1 is told to be at %s and %s", me.RPC, me.HTTP)
		}
		if me := n2.Self(); me.RPC != "rpc.example:27297" || me.HTTP != "198.18.0.9:27295" {
			t.Errorf("n2 is told to be at %s and %s", me.RPC, me.HTTP)
		}
		w.end(n1, n2)
	})
}
