package peer

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// names is a name service that the test controls. It counts the connections.
type names struct {
	mu    sync.Mutex // guards the rest
	leads map[string]string
	dials int
}

func (n *names) lead(name, addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leads[name] = addr
}

func (n *names) dial(ctx context.Context, name string) (net.Conn, error) {
	n.mu.Lock()
	n.dials++
	addr := n.leads[name]
	n.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}

// everything is a node that answers every call and counts them.
type everything struct {
	fakeNode
	mu    sync.Mutex // guards calls
	calls int
}

func (e *everything) count() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
}

func (e *everything) counted() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls
}

func (e *everything) StoreLinks(
	ctx context.Context,
	from string,
	links []*Link,
	rules *RulesStamp,
) ([]Verdict, error) {
	e.count()
	return e.fakeNode.StoreLinks(ctx, from, links, rules)
}

func (e *everything) Handoff(ctx context.Context, from string, req *Envelope) (*Envelope, error) {
	e.count()
	return e.fakeNode.Handoff(ctx, from, req)
}

func (e *everything) Renew(
	ctx context.Context,
	from string,
	req *RenewRequest,
) (*RenewReply, error) {
	e.count()
	return e.fakeNode.Renew(ctx, from, req)
}

func (e *everything) Membership(
	ctx context.Context,
	from string,
	req *Envelope,
) (*Envelope, error) {
	e.count()
	return e.fakeNode.Membership(ctx, from, req)
}

func (e *everything) Replicate(_ string, s grpc.BidiStreamingServer[Envelope, Envelope]) error {
	e.count()
	m, err := s.Recv()
	if err != nil {
		return err
	}
	return s.Send(m)
}

func (e *everything) Archive(_ context.Context, _ string, _ *Envelope, out io.Writer) error {
	e.count()
	_, err := out.Write([]byte("bytes"))
	return err
}

// waysToAsk are all kinds of call and of stream; each returns nil once there was an
// answer.
var waysToAsk = map[string]func(context.Context, *Pool, Target) error{
	"a question about partitions": func(ctx context.Context, p *Pool, to Target) error {
		_, err := Call(ctx, p, to, &Envelope{}, PeerClient.Handoff)
		return err
	},
	"a renewal": func(ctx context.Context, p *Pool, to Target) error {
		_, err := Call(ctx, p, to, &RenewRequest{}, PeerClient.Renew)
		return err
	},
	"a message about members": func(ctx context.Context, p *Pool, to Target) error {
		_, err := Call(ctx, p, to, &Envelope{}, PeerClient.Membership)
		return err
	},
	"links": func(ctx context.Context, p *Pool, to Target) error {
		_, err := p.Forward(ctx, to, links("http://h/"))
		return err
	},
	"copies": func(ctx context.Context, p *Pool, to Target) error {
		s, err := p.Replicate(ctx, to)
		if err != nil {
			return err
		}
		if err := s.Send(&Envelope{Payload: []byte("a mutation")}); err != nil &&
			!errors.Is(err, io.EOF) {
			return err
		}
		_, err = s.Recv()
		return err
	},
	"the archive": func(ctx context.Context, p *Pool, to Target) error {
		r, err := p.Archive(ctx, to, &Envelope{})
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = io.ReadAll(r)
		return err
	},
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A name that leads to another node gets no answer that counts, and that node does
// nothing with what was not for it. As soon as the name is right the target answers,
// although the connection to the other node would have lived on.
func TestAddressTakenOverByAnotherNode(t *testing.T) {
	t.Parallel()
	for what, ask := range waysToAsk {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a, c := &everything{}, &everything{}
			atA, _ := serve(t, listen(t), a, "c1", "a", 3)
			atC, log := serve(t, listen(t), c, "c1", "c", 3)
			dns := &names{leads: map[string]string{"name-of-a": atC.Addr}}
			p := NewPool(PoolOptions{Self: "b", Cluster: func() string { return "c1" }, Dial: dns.dial,
				Ended: func(was Target) { t.Errorf("the end of a connection to %+v was told", was) }})
			t.Cleanup(p.Close)
			to := Target{ID: "a", Boot: 3, Addr: "name-of-a"}
			for range 3 {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				if err := ask(ctx, p, to); err == nil {
					t.Error("the answer of c counts for one of a")
				}
				cancel()
			}
			if n := c.counted(); n > 0 {
				t.Errorf("c has carried out %d calls that were for a", n)
			}
			log.mu.Lock()
			if len(log.lines) != 1 || !strings.Contains(log.lines[0], `for boot 3 of node \"a\"`) {
				t.Errorf("the log of c: %q, want one line that names a", log.lines)
			}
			log.mu.Unlock()

			dns.lead("name-of-a", atA.Addr)
			answered(t, func() error { return ask(t.Context(), p, to) })
			if a.counted() == 0 || c.counted() > 0 {
				t.Errorf("a carried out %d calls, c %d", a.counted(), c.counted())
			}
		})
	}
}

// answered repeats a call until it is answered: the stream of links rests a while.
func answered(t *testing.T, ask func() error) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Minute)
	for {
		err := ask()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still no answer: %v", err)
		}
		time.Sleep(20 * time.Millisecond) // there is no event to wait for
	}
}

// careless is a server that looks at nothing and does not say who it is, as one of
// an older release.
type careless struct{ UnimplementedPeerServer }

func (careless) Renew(context.Context, *RenewRequest) (*RenewReply, error) {
	return &RenewReply{Granted: true}, nil
}

func (careless) Handoff(context.Context, *Envelope) (*Envelope, error) { return &Envelope{}, nil }

func (careless) Membership(
	context.Context,
	*Envelope,
) (*Envelope, error) {
	return &Envelope{}, nil
}

func (careless) Links(s grpc.BidiStreamingServer[LinkBatch, LinkAck]) error {
	for {
		b, err := s.Recv()
		if err != nil {
			return err
		}
		if err := s.Send(&LinkAck{Id: b.Id, Verdicts: make([]Verdict, len(b.Links))}); err != nil {
			return err
		}
	}
}

func (careless) Replicate(s grpc.BidiStreamingServer[Envelope, Envelope]) error {
	return s.Send(&Envelope{Payload: []byte("done")})
}

func (careless) Archive(*Envelope, grpc.ServerStreamingServer[Envelope]) error { return nil }

// The caller believes nobody who does not say that it is the target.
func TestNamelessAnswersDoNotCount(t *testing.T) {
	t.Parallel()
	l := listen(t)
	s := grpc.NewServer()
	RegisterPeerServer(s, careless{})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		<-served // Stop ended it
	})
	p := newPool(t, "c1")
	for what, ask := range waysToAsk {
		if err := ask(t.Context(), p, Target{ID: "a", Boot: 1, Addr: l.Addr().String()}); err == nil {
			t.Errorf("%s: an answer of nobody counts", what)
		}
	}
}

// A node that was started again refuses what was meant for its former boot, but for
// messages about members, by which others learn that it was started again. Its
// address is right, so nobody hangs up.
func TestLaterBootRefuses(t *testing.T) {
	t.Parallel()
	a := &everything{}
	at, log := serve(t, listen(t), a, "c1", "a", 8)
	dns := &names{leads: map[string]string{"a": at.Addr}}
	p := NewPool(PoolOptions{Self: "b", Cluster: func() string { return "c1" }, Dial: dns.dial})
	t.Cleanup(p.Close)
	to := Target{ID: "a", Boot: 7, Addr: "a"}
	for range 2 {
		for what, ask := range waysToAsk {
			err := ask(t.Context(), p, to)
			if about := what == "a message about members"; about != (err == nil) {
				t.Errorf("%s: %v", what, err)
			} else if !about && what != "links" && status.Code(err) != codes.Unavailable {
				t.Errorf("%s: %v, want an error like that of a node that does not answer", what, err)
			}
		}
	}
	if n := a.counted(); n != 2 {
		t.Errorf("%d calls were carried out, want the 2 about members", n)
	}
	dns.mu.Lock()
	defer dns.mu.Unlock()
	if dns.dials != 1 {
		t.Errorf("%d connections were opened, want 1", dns.dials)
	}
	if log.mu.Lock(); len(log.lines) > 0 {
		t.Errorf("the log: %q, restarts are no news", log.lines)
	}
	log.mu.Unlock()
}

// An earlier boot stands at an address that is stale: the caller hangs up and looks
// where the name leads now.
func TestEarlierBootIsLeft(t *testing.T) {
	t.Parallel()
	old, _ := serve(t, listen(t), &everything{}, "c1", "a", 1)
	now, _ := serve(t, listen(t), &everything{}, "c1", "a", 2)
	dns := &names{leads: map[string]string{"a": old.Addr}}
	p := NewPool(PoolOptions{Self: "b", Cluster: func() string { return "c1" }, Dial: dns.dial})
	t.Cleanup(p.Close)
	renew := func() error {
		_, err := Call(t.Context(), p, Target{ID: "a", Boot: 2, Addr: "a"}, &RenewRequest{},
			PeerClient.Renew)
		return err
	}
	if err := renew(); err == nil {
		t.Error("boot 1 has answered for boot 2")
	}
	dns.lead("a", now.Addr)
	answered(t, renew)
}

// The end of a connection is told of the boot that answered on it and of the address
// that it was connected to, whatever name and boot the caller had in mind.
func TestEndIsToldOfWhoAnswered(t *testing.T) {
	t.Parallel()
	l := listen(t)
	s := NewServer(ServerOptions{
		Self:    "a",
		Boot:    8,
		Cluster: func() string { return "c1" },
		Handler: &everything{},
	})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	dns := &names{leads: map[string]string{"a": l.Addr().String()}}
	ended := make(chan Target, 10)
	p := NewPool(PoolOptions{
		Self:    "b",
		Cluster: func() string { return "c1" },
		Dial:    dns.dial,
		Ended:   func(was Target) { ended <- was },
	})
	t.Cleanup(p.Close)
	if _, err := Call(t.Context(), p, Target{
		ID:   "a",
		Boot: 7,
		Addr: "a",
	}, &Envelope{}, PeerClient.Membership); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	<-served // Stop ended it
	want := Target{ID: "a", Boot: 8, Addr: l.Addr().String()}
	select {
	case got := <-ended:
		if got != want {
			t.Errorf("the end of %+v was told, want %+v", got, want)
		}
	case <-time.After(10 * time.Minute):
		t.Error("the end was not told")
	}
}
