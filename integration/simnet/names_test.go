package simnet_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/integration/simnet"
)

// greeter answers each stream with a word, until its host crashes.
func greeter(t *testing.T, h *simnet.Host, word string) {
	t.Helper()
	l, err := h.Listen(80)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, word) // who is gone does not hear it
			_ = c.Close()
		}
	}()
}

// greeting is what answers at an address.
func greeting(t *testing.T, from *simnet.Host, address string) (string, error) {
	t.Helper()
	c, err := from.Dial(t.Context(), "tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	return string(b), err
}

// A name leads to its old address, and to the host that has it by now, until the answer has
// expired.
func TestANameGoesStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(1)
		n.SetNameTTL(3 * time.Second)
		a, b := n.AddHost("a", addr(1)), n.AddHost("b", addr(2))
		me := n.AddHost("me", addr(9))
		n.SetName("a.test", addr(1))
		greeter(t, a, "a")
		greeter(t, b, "b")
		if word, err := greeting(t, me, "a.test:80"); word != "a" {
			t.Fatalf("%q, %v", word, err)
		}
		n.Crash("a")
		n.Crash("b")
		greeter(t, n.Restart("b", addr(1)), "b")
		greeter(t, n.Restart("a", addr(3)), "a")
		n.SetName("a.test", addr(3))
		if word, err := greeting(t, me, "a.test:80"); word != "b" || n.NameAt(addr(1)) != "b" {
			t.Fatalf("the stale name leads to %q, %v; %s is there", word, err, n.NameAt(addr(1)))
		}
		time.Sleep(3 * time.Second)
		if word, err := greeting(t, me, "a.test:80"); word != "a" {
			t.Fatalf("the name still leads to %q, %v", word, err)
		}
		n.SetName("a.test", netip.Addr{})
		time.Sleep(3 * time.Second)
		var missing *net.DNSError
		if _, err := greeting(t, me, "a.test:80"); !errors.As(err, &missing) {
			t.Fatalf("a name that is gone: %v", err)
		}
		began := time.Now()
		if _, err := greeting(t, me, "10.0.0.2:80"); !errors.Is(err, syscall.EHOSTUNREACH) ||
			time.Since(began) != 3*time.Second {
			t.Fatalf("the address that nobody has: %v after %v", err, time.Since(began))
		}
		n.Crash("a")
		n.Crash("b")
	})
}

// A stalled stream is accepted and keeps what was written; the other direction and
// packets are not touched.
func TestAStalledStreamLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, here, there, _ := pair(t, 1)
		n.Stall("a", "b")
		n.Stall("a", "b")
		n.Unstall("a", "b") // the other one holds
		if _, err := here.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1)
		_ = there.SetReadDeadline(time.Now().Add(time.Minute)) // a stream takes one
		if _, err := there.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("read %q, %v", buf, err)
		}
		if _, err := there.Write([]byte("y")); err != nil {
			t.Fatal(err)
		}
		if _, err := here.Read(buf); err != nil || buf[0] != 'y' {
			t.Fatalf("the other direction: %q, %v", buf, err)
		}
		n.Unstall("a", "b")
		_ = there.SetReadDeadline(time.Time{}) // as above
		if _, err := there.Read(buf); err != nil || buf[0] != 'x' {
			t.Fatalf("afterwards: %q, %v", buf, err)
		}
	})
}

// An address cannot be taken from a running host; a new host can take that of a crashed one.
func TestAnAddressInUseIsNotTaken(t *testing.T) {
	t.Parallel()
	n := simnet.New(1)
	n.AddHost("a", addr(1))
	n.AddHost("b", addr(2))
	n.Crash("b")
	if c := n.AddHost("c", addr(2)); c.Addr() != addr(2) {
		t.Errorf("c is at %v", c.Addr())
	}
	defer func() {
		if recover() == nil {
			t.Error("b has taken the address of a")
		}
	}()
	n.Restart("b", addr(1))
}

// The resolver is asked as a node asks it.
func TestLookupHost(t *testing.T) {
	t.Parallel()
	n := simnet.New(1)
	a := n.AddHost("a", addr(1))
	n.SetName("b.test", addr(2))
	if got, err := a.LookupHost(context.Background(), "b.test"); err != nil || len(got) != 1 ||
		got[0] != "10.0.0.2" {
		t.Errorf("%q, %v", got, err)
	}
	n.SetName("b.test", addr(3)) // without SetNameTTL nobody remembers an answer
	if got, err := a.LookupHost(context.Background(), "b.test"); err != nil || len(got) != 1 ||
		got[0] != "10.0.0.3" {
		t.Errorf("after a change: %q, %v", got, err)
	}
}

// A machine that has lost power is silent at its old address until it comes back elsewhere; then
// the address is unused.
func TestAMachineMovesWithoutAWord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(1)
		a, me := n.AddHost("a", addr(1)), n.AddHost("me", addr(9))
		greeter(t, a, "a")
		n.PowerOff("a")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := me.Dial(ctx, "tcp", "10.0.0.1:80"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a dial into the dark: %v", err)
		}
		greeter(t, n.Restart("a", addr(2)), "a")
		if _, err := greeting(t, me, "10.0.0.1:80"); !errors.Is(err, syscall.EHOSTUNREACH) {
			t.Fatalf("the old address: %v", err)
		}
		if word, err := greeting(t, me, "10.0.0.2:80"); word != "a" {
			t.Fatalf("the new address: %q, %v", word, err)
		}
		n.Crash("a")
	})
}
