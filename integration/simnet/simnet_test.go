package simnet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/miekg/dns"
	"golang.org/x/net/nettest"

	"crawlnode/integration/simnet"
	"crawlnode/simweb"
)

// pair makes a network with hosts a and b and a stream from a to b.
func pair(t *testing.T, seed uint64) (n *simnet.Network, here, there net.Conn, l *simnet.Listener) {
	t.Helper()
	n = simnet.New(seed)
	a, b := n.AddHost("a", addr(1)), n.AddHost("b", addr(2))
	l, err := b.Listen(80)
	if err != nil {
		t.Fatal(err)
	}
	if here, err = a.Dial(t.Context(), "tcp", "10.0.0.2:80"); err != nil {
		t.Fatal(err)
	}
	if there, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return n, here, there, l
}

// The streams keep the contract of net.Conn, as the standard suite sees it.
func TestConnContract(t *testing.T) {
	t.Parallel()
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
		_, x, y, l := pair(t, 1)
		return x, y, func() { _, _, _ = x.Close(), y.Close(), l.Close() }, nil
	})
}

func TestDelayIsExactInVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, here, there, _ := pair(t, 1)
		n.SetLink("a", "b", simnet.Link{Delay: 70 * time.Millisecond})
		// a retransmission, 200 ms
		n.SetLink("b", "a", simnet.Link{Delay: 30 * time.Millisecond, Drop: 1})
		start := time.Now()
		buf := make([]byte, 4)
		for _, step := range []struct {
			from, to net.Conn
			at       time.Duration
		}{{here, there, 70 * time.Millisecond}, {there, here, 300 * time.Millisecond}} {
			if _, err := step.from.Write([]byte("ping")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(step.to, buf); err != nil || time.Since(start) != step.at {
				t.Fatalf("came after %v, want %v (%v)", time.Since(start), step.at, err)
			}
		}
	})
}

func TestACutHoldsBytesAndAHealLetsThemGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, here, there, _ := pair(t, 1)
		n.Partition([]string{"a"}, []string{"b"})
		if _, err := here.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1)
		if err := there.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, err := there.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("read across a cut: %v", err)
		}
		time.AfterFunc(time.Minute, n.Heal)
		start := time.Now()
		if err := there.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		if _, err := there.Read(buf); err != nil || time.Since(start) != time.Minute {
			t.Fatalf("read %v after %v", err, time.Since(start))
		}
	})
}

func TestCrashResetsRefusesAndRestarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, here, there, _ := pair(t, 1)
		a := n.AddHost("c", addr(3))
		n.Crash("b")
		if _, err := here.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read from a crashed host: %v", err)
		}
		if _, err := there.Write([]byte("x")); err == nil {
			t.Error("a crashed process can write")
		}
		if _, err := a.Dial(t.Context(), "tcp", "b:80"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial to a crashed host: %v", err)
		}
		l, err := n.Restart("b").Listen(80)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := a.Dial(t.Context(), "tcp", "b:80")
		if err != nil {
			t.Fatalf("dial to a restarted host: %v", err)
		}
		_, _ = conn.Close(), l.Close()
	})
}

// A peer behind a cut sees a crash only when the cut heals.
func TestACrashAcrossACutIsHeardLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, here, _, _ := pair(t, 1)
		n.Cut("b", "a")
		n.Crash("b")
		time.AfterFunc(time.Minute, n.Heal)
		start := time.Now()
		if _, err := here.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) ||
			time.Since(start) != time.Minute {
			t.Errorf("read: %v after %v", err, time.Since(start))
		}
	})
}

func TestDialIntoACutWaitsForItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(1)
		a := n.AddHost("a", addr(1))
		n.AddHost("b", addr(2))
		n.Cut("a", "b")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		if _, err := a.Dial(ctx, "tcp", "b:80"); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(start) != 10*time.Second {
			t.Errorf("dial: %v after %v", err, time.Since(start))
		}
		n.Heal()
		if _, err := a.Dial(t.Context(), "tcp", "b:80"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial: %v", err)
		}
		if _, err := a.Dial(t.Context(), "tcp", "10.9.9.9:80"); !errors.Is(err, syscall.EHOSTUNREACH) {
			t.Errorf("dial: %v", err)
		}
	})
}

// packets sends 1,000 packets from a to b and returns which came, in order.
func packets(t *testing.T, seed uint64, l simnet.Link, interfere func(*simnet.Network)) []string {
	var got []string
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(seed)
		n.SetDefault(l)
		var ends [2]*simnet.Transport
		for i := range ends {
			var err error
			if ends[i], err = n.AddHost(string(rune('a'+i)), addr(i+1)).Transport(7946); err != nil {
				t.Fatal(err)
			}
		}
		if interfere != nil {
			interfere(n)
		}
		for i := range 1000 {
			if _, err := ends[0].WriteTo(fmt.Appendf(nil, "%d", i), "10.0.0.2:7946"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			got = drain(got, ends[1].PacketCh())
		}
		time.Sleep(time.Minute)
		n.Resume("b")
		got = drain(got, ends[1].PacketCh())
		for _, end := range ends {
			if err := end.Shutdown(); err != nil {
				t.Error(err)
			}
		}
	})
	return got
}

func drain(got []string, ch <-chan *memberlist.Packet) []string {
	for {
		select {
		case p := <-ch:
			got = append(got, string(p.Buf))
		default:
			return got
		}
	}
}

func TestPacketFaults(t *testing.T) {
	t.Parallel()
	between := func(name string, got []string, least, most int) {
		t.Helper()
		if len(got) < least || len(got) > most {
			t.Errorf("%s: %d of 1000 packets came, want %d to %d", name, len(got), least, most)
		}
	}
	between("perfect", packets(t, 1, simnet.Link{}, nil), 1000, 1000)
	between("drop", packets(t, 1, simnet.Link{Drop: 0.2}, nil), 740, 860)
	between("dup", packets(t, 1, simnet.Link{Dup: 0.2, Delay: time.Millisecond}, nil), 1140, 1260)
	between("cut", packets(t, 1, simnet.Link{}, func(n *simnet.Network) { n.Cut("a", "b") }), 0, 0)
	between("other way cut", packets(t, 1, simnet.Link{}, func(n *simnet.Network) { n.Cut("b", "a") }),
		1000, 1000)
	between("paused", packets(t, 1, simnet.Link{}, func(n *simnet.Network) { n.Pause("b") }), 1000,
		1000)
	between("crashed", packets(t, 1, simnet.Link{}, func(n *simnet.Network) { n.Crash("b") }), 0, 0)
}

func TestFaultsAreThoseOfTheSeed(t *testing.T) {
	t.Parallel()
	l := simnet.Link{Drop: 0.3, Dup: 0.1, Delay: time.Millisecond, Jitter: 5 * time.Millisecond}
	first, second, other := packets(t, 7, l, nil), packets(t, 7, l, nil), packets(t, 8, l, nil)
	if fmt.Sprint(first) != fmt.Sprint(second) {
		t.Error("the same seed gives other faults")
	}
	if fmt.Sprint(first) == fmt.Sprint(other) {
		t.Error("another seed gives the same faults")
	}
}

func TestResetBreaksBothEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, here, there, _ := pair(t, 1)
		n.SetLink("a", "b", simnet.Link{Reset: 1})
		if _, err := here.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("write: %v", err)
		}
		if _, err := there.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read at the other end: %v", err)
		}
	})
}

func TestDNS(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(1)
		a, web := n.AddHost("a", addr(1)), n.AddHost("web", addr(100))
		w, err := simweb.New(simweb.Config{})
		if err != nil {
			t.Fatal(err)
		}
		web.ServeDNS(w)
		q := new(dns.Msg)
		q.SetQuestion("h1.sim.test.", dns.TypeA)
		reply, err := a.Exchange(t.Context(), q, "10.0.0.100:53", "udp")
		if err != nil || len(reply.Answer) != 1 {
			t.Fatalf("answer %v, %v", reply, err)
		}
		n.Cut("web", "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Exchange(ctx, q, "10.0.0.100:53", "udp"); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("an answer across a cut: %v", err)
		}
	})
}

// A stopped process sends nothing and reads nothing, but what it had sent comes
// and its kernel accepts connections.
func TestPauseStopsAProcessAtItsCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, here, there, l := pair(t, 1)
		n.SetDefault(simnet.Link{Delay: 10 * time.Millisecond})
		start := time.Now()
		if _, err := here.Write([]byte("a")); err != nil {
			t.Fatal(err)
		}
		n.Pause("a")
		time.AfterFunc(time.Minute, func() { n.Resume("a") })
		b := make([]byte, 8)
		if k, err := there.Read(b); k != 1 || err != nil || time.Since(start) != 10*time.Millisecond {
			t.Errorf("what was sent before the stop: %d bytes, %v, after %v", k, err, time.Since(start))
		}
		if err := here.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := here.Write([]byte("b")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a write whose deadline passed during the stop: %v", err)
		}
		_ = here.SetWriteDeadline(time.Time{})
		if _, err := here.Write([]byte("c")); err != nil || time.Since(start) != time.Minute {
			t.Errorf("a write during the stop: %v after %v", err, time.Since(start))
		}
		n.Pause("b")
		time.AfterFunc(time.Minute, func() { n.Resume("b") })
		conn, err := n.AddHost("c", addr(3)).Dial(t.Context(), "tcp", "b:80")
		if err != nil || time.Since(start) >= 2*time.Minute {
			t.Fatalf("dial to a stopped host: %v after %v", err, time.Since(start))
		}
		if k, err := there.Read(b); k != 1 || b[0] != 'c' || err != nil ||
			time.Since(start) != 2*time.Minute {
			t.Errorf("read by a stopped process: %q, %v, after %v", b[:k], err, time.Since(start))
		}
		_, _ = conn.Close(), l.Close()
	})
}

func TestPowerOffIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, here, _, _ := pair(t, 1)
		n.PowerOff("b")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := n.AddHost("c", addr(3)).Dial(ctx, "tcp", "b:80"); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("dial to a dark host: %v", err)
		}
		start := time.Now()
		time.AfterFunc(time.Minute, func() { n.Restart("b") })
		if _, err := here.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) ||
			time.Since(start) != time.Minute {
			t.Errorf("read from a dark host: %v after %v", err, time.Since(start))
		}
	})
}

// Over many crashes, what was on its way comes in about half of the cases.
func TestWhatWasOnItsWayMayComeAfterACrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		came := 0
		for seed := range uint64(100) {
			n, here, there, _ := pair(t, seed)
			n.SetDefault(simnet.Link{Delay: time.Millisecond})
			if _, err := there.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			n.Crash("b")
			k, err := here.Read(make([]byte, 1))
			came += k
			if err == nil {
				_, err = here.Read(make([]byte, 1))
			}
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the stream of a dead process ends with %v", err)
			}
		}
		if came < 25 || came > 75 {
			t.Errorf("the last byte came in %d of 100 crashes", came)
		}
	})
}

func TestMendAndTear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, here, there, _ := pair(t, 1)
		n.Cut("a", "b")
		n.Cut("b", "a")
		n.Mend("a", "b")
		if _, err := here.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if k, err := there.Read(make([]byte, 1)); k != 1 || err != nil {
			t.Errorf("over the mended direction: %d bytes, %v", k, err)
		}
		n.Mend("b", "a")
		n.Tear("a", "b")
		if _, err := there.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read from a torn stream: %v", err)
		}
	})
}

// An observer sees a piece before it has arrived.
func TestWatchHearsOfWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(1)
		n.SetDefault(simnet.Link{Delay: time.Second})
		var heard []string
		n.Watch(func(from, to string) { heard = append(heard, from+">"+to) })
		a, b := n.AddHost("a", addr(1)), n.AddHost("b", addr(2))
		l, err := b.Listen(80)
		if err != nil {
			t.Fatal(err)
		}
		here, err := a.Dial(t.Context(), "tcp", "b:80")
		if err != nil {
			t.Fatal(err)
		}
		there, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := here.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(heard) != "[a>b]" {
			t.Errorf("heard %v", heard)
		}
		n.Crash("a") // what is on its way may come or not
		_, _, _ = here.Close(), there.Close(), l.Close()
	})
}
