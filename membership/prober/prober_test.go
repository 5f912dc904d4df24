package prober

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// deathWithin bounds the wait for a child process to be gone.
const deathWithin = 30 * time.Second

func TestParseStat(t *testing.T) {
	t.Parallel()
	line := func(name, state string) string {
		return "4711 (" + name + ") " + state + " 1 4711 4711 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 987654 0 0"
	}
	for _, c := range []struct {
		raw  string
		want processStat
		ok   bool
	}{
		{line("crawlnode", "S"), processStat{'S', 3, 987654}, true},
		{line("a) R (b", "Z"), processStat{'Z', 3, 987654}, true},
		{line("", "X"), processStat{'X', 3, 987654}, true},
		{"", processStat{}, false},
		{"4711 (x", processStat{}, false},
		{"4711 (x) S 1 2", processStat{}, false},
		{strings.Replace(line("x", "S"), "987654", "-1", 1), processStat{}, false},
		{strings.Replace(line("x", "S"), " 3 0 9", " y 0 9", 1), processStat{}, false},
	} {
		got, err := parseStat([]byte(c.raw))
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%q: %+v, %v", c.raw, got, err)
		}
	}
	for _, c := range []struct {
		stat processStat
		over bool
	}{
		{processStat{'S', 3, 5}, false}, {processStat{'T', 1, 5}, false}, {processStat{'D', 1, 5}, false},
		{processStat{'Z', 1, 5}, true}, {processStat{'X', 0, 5}, true},
		{processStat{'Z', 2, 5}, false}, // others of its threads live
		{processStat{'S', 3, 6}, true},  // the id is another process's now
	} {
		if got := c.stat.over(5); got != c.over {
			t.Errorf("%+v: over = %v", c.stat, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (a) S 1 1 1 0 -1 1 1 0 0 0 0 0 0 0 20 0 3 0 9 0 0"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := parseStat(raw)
		if err != nil && s != (processStat{}) {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// streamTo is where the streams of probe's target led.
const streamTo = "10.0.0.1:7"

// probe runs a prober for one target, in virtual time, until a proof comes or
// ten seconds are over. It must be called in a bubble.
func probe(t *testing.T, p *Prober, to Target, streamOf crawl.Boot) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	done := make(chan struct{})
	go func() { defer close(done); p.Run(ctx) }()
	defer func() { cancel(); <-done }()
	p.Watch([]Target{to})
	if streamOf != 0 {
		p.StreamEnded(to.ID, streamOf, streamTo)
	}
	select {
	case proof := <-p.Proofs:
		if proof != (consensus.Dead{ID: to.ID, Boot: to.Boot}) {
			t.Errorf("proof of %+v", proof)
		}
		return true
	case <-ctx.Done():
		return false
	}
}

func TestProber(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		name     string
		dial     error
		gone     bool // as /proc says
		known    bool
		streamOf crawl.Boot
		want     bool
	}{
		{"refused after its stream's end", refused, false, false, 3, true},
		{"refused, but no stream ended", refused, false, false, 0, false},
		{"the end of an older boot's stream", refused, false, false, 2, false},
		{"still listening", nil, false, false, 3, false},
		{"unreachable", syscall.EHOSTUNREACH, false, false, 3, false},
		{"time-out", context.DeadlineExceeded, false, false, 3, false},
		{"reset", syscall.ECONNRESET, false, false, 3, false},
		{"its process is gone", nil, true, true, 0, true},
		{"its process is not known", nil, true, false, 0, false},
		{"its process lives", nil, false, true, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := New(consensus.Process{}, func(context.Context, string) error { return c.dial },
					func(consensus.Member) (bool, bool) { return c.gone, c.known })
				if got := probe(t, p, Target{consensus.Member{ID: "b", Boot: 3}, true}, c.streamOf); got != c.want {
					t.Errorf("proved: %v, want %v", got, c.want)
				}
			})
		})
	}
}

// TestProberDialsWhereTheStreamLed: the member's name may lead to another machine by
// now, where nobody listens yet. What is refused there says nothing of the member.
func TestProberDialsWhereTheStreamLed(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for refusing, want := range map[string]bool{"name:7": false, streamTo: true} {
		synctest.Test(t, func(t *testing.T) {
			p := New(consensus.Process{}, func(_ context.Context, addr string) error {
				if addr == refusing {
					return refused
				}
				return nil
			}, func(consensus.Member) (bool, bool) { return false, false })
			if got := probe(t, p, Target{consensus.Member{ID: "b", Boot: 3, RPC: "name:7"}, true}, 3); got != want {
				t.Errorf("%s refuses: proved %v, want %v", refusing, got, want)
			}
		})
	}
}

// TestProberLooksIntoProc: only for members of this machine.
func TestProberLooksIntoProc(t *testing.T) {
	t.Parallel()
	own := OwnProcess()
	dead := own
	dead.Started-- // somebody who had this process's id before
	elsewhere := dead
	elsewhere.Machine = "fedcba9876543210"
	p := New(own, nil, nil)
	for name, c := range map[string]struct {
		process consensus.Process
		want    bool
	}{"this one": {own, false}, "a dead one": {dead, own.Machine != ""}, "elsewhere": {elsewhere, false}, "unknown": {consensus.Process{}, false}} {
		if gone, known := p.gone(consensus.Member{Process: c.process}); (gone && known) != c.want {
			t.Errorf("%s: gone %v, known %v", name, gone, known)
		}
	}
}

func TestDialOnce(t *testing.T) {
	t.Parallel()
	// An address that no other test listens at: somebody else may get the port.
	listener, err := net.Listen("tcp", "127.93.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := dialOnce(t.Context(), listener.Addr().String()); err != nil {
		t.Errorf("somebody listens: %v", err)
	}
	listener.Close()
	// The socket keeps its port, so that no other listener gets it.
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(socket)
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 93, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	free := fmt.Sprintf("127.93.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
	if err := dialOnce(t.Context(), free); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestProberInsists: a killed process may accept for a moment; while it is
// suspect the prober tries again.
func TestProberInsists(t *testing.T) {
	t.Parallel()
	for _, suspect := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			dials := 0
			p := New(consensus.Process{}, func(context.Context, string) error {
				if dials++; dials <= dialAttempts+1 {
					return nil
				}
				return syscall.ECONNREFUSED
			}, nil)
			if got := probe(t, p, Target{consensus.Member{ID: "b", Boot: 3}, suspect}, 3); got != suspect {
				t.Errorf("suspect %v: proof %v after %d connects", suspect, got, dials)
			}
		})
	}
}
