package peer

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"crawlnode/local/closedport"
)

// fakeNode stores links in memory and can be told to be slow or broken.
type fakeNode struct {
	Handler
	mu     sync.Mutex
	stored []string
	hold   chan struct{} // when not nil, StoreLinks waits for it
	err    error
}

func (f *fakeNode) StoreLinks(
	ctx context.Context,
	_ string,
	links []*Link,
	_ *RulesStamp,
) ([]Verdict, error) {
	f.mu.Lock()
	hold, err := f.hold, f.err
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Verdict, len(links))
	for i, l := range links {
		f.stored = append(f.stored, l.Url)
		out[i] = Verdict_VERDICT_ADDED
	}
	return out, nil
}

func (f *fakeNode) Renew(_ context.Context, from string, req *RenewRequest) (*RenewReply, error) {
	return &RenewReply{View: req.View + 1, Rules: &RulesStamp{CrawlBy: from}}, nil
}

func (f *fakeNode) Membership(_ context.Context, from string, req *Envelope) (*Envelope, error) {
	return &Envelope{Payload: append([]byte(from+":"), req.Payload...)}, nil
}

func (f *fakeNode) Replicate(
	string,
	grpc.BidiStreamingServer[Envelope, Envelope],
) error {
	return nil
}

func (f *fakeNode) Handoff(context.Context, string, *Envelope) (*Envelope, error) {
	return &Envelope{}, nil
}

func (f *fakeNode) Robots(context.Context, string, *RobotsRequest) (*RobotsReply, error) {
	return nil, nil
}
func (f *fakeNode) Operate(context.Context, string, *Envelope) (*Envelope, error) {
	return &Envelope{}, nil
}

func (f *fakeNode) Clock(context.Context, string, *ClockRequest) (*ClockReply, error) {
	return &ClockReply{}, nil
}

func (f *fakeNode) Part(context.Context, string, *PartRequest) (*PartReply, error) {
	return &PartReply{Refusal: "not used"}, nil
}

func (f *fakeNode) Search(context.Context, string, *Envelope) (*Envelope, error) {
	return nil, errors.New("not used")
}

func (f *fakeNode) Explain(context.Context, string, *Envelope) (*Envelope, error) {
	return &Envelope{}, nil
}

type logBook struct {
	mu    sync.Mutex
	lines []string
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, string(p))
	return len(p), nil
}

func startServer(t testing.TB, n Handler, cluster string) (to Target, log *logBook) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, l, n, cluster, "node", 1)
}

// serve makes a node answer on l until the test ends.
func serve(
	t testing.TB,
	l net.Listener,
	n Handler,
	cluster, id string,
	boot uint64,
) (to Target, log *logBook) {
	t.Helper()
	log = &logBook{}
	s := NewServer(ServerOptions{
		Self:    id,
		Boot:    boot,
		Cluster: func() string { return cluster },
		Handler: n,
		Logger:  slog.New(slog.NewTextHandler(log, nil)),
	})
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error("Serve:", err)
		}
	})
	return Target{ID: id, Boot: boot, Addr: l.Addr().String()}, log
}

func newPool(t testing.TB, cluster string) *Pool {
	p := NewPool(PoolOptions{Self: "me", Cluster: func() string { return cluster }})
	t.Cleanup(p.Close)
	return p
}

func links(urls ...string) []*Link {
	var ls []*Link
	for _, u := range urls {
		ls = append(ls, &Link{Url: u})
	}
	return ls
}

func TestForwardIsAcknowledgedWhenStored(t *testing.T) {
	t.Parallel()
	node := &fakeNode{}
	to, _ := startServer(t, node, "c1")
	p := newPool(t, "c1")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			u := "http://h/" + string(rune('a'+i%26))
			v, err := p.Forward(t.Context(), to, links(u, u+"2"))
			if err != nil || len(v) != 2 || v[0] != Verdict_VERDICT_ADDED {
				t.Errorf("verdicts %v, error %v", v, err)
			}
		})
	}
	wg.Wait()
	if len(node.stored) != 100 {
		t.Errorf("%d links stored, want 100", len(node.stored))
	}
}

// A stopped peer costs a caller its own deadline and nothing more, and a full
// queue answers at once.
func TestStoppedPeerBlocksNobody(t *testing.T) {
	t.Parallel()
	node := &fakeNode{hold: make(chan struct{})}
	to, _ := startServer(t, node, "c1")
	other := &fakeNode{}
	otherTo, _ := startServer(t, other, "c1")
	defer close(node.hold)
	p := newPool(t, "c1")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	// Each caller brings a whole batch. So the stream can take eight of them for its peer
	// and one that it holds, and the queue 256, however often the stream's goroutine runs.
	const callers = 2 * (maxPieces + maxInFlight + 1)
	whole := links(slices.Repeat([]string{"http://slow/"}, MaxBatchLinks)...)
	var wg sync.WaitGroup
	busy := make(chan error, callers)
	for range callers {
		wg.Go(func() {
			_, err := p.Forward(ctx, to, whole)
			busy <- err
		})
	}
	if v, err := p.Forward(t.Context(), otherTo, links("http://fast/")); err != nil || len(v) != 1 {
		t.Errorf("the other peer: %v, %v", v, err)
	}
	wg.Wait()
	close(busy)
	full := 0
	for err := range busy {
		switch {
		case errors.Is(err, ErrBusy):
			full++
		case !errors.Is(err, context.DeadlineExceeded):
			t.Fatalf("error %v, want busy or the deadline", err)
		}
	}
	if full < callers/2 {
		t.Errorf(
			"%d of %d callers with a batch each found the queue of %d full, want half of them at least",
			full, callers, maxPieces)
	}
}

// What a peer refuses is an error for the caller, who keeps the links, and one
// line in the peer's log, however often it happens.
func TestMalformedLinksAreRefusedAndLoggedOnce(t *testing.T) {
	t.Parallel()
	node := &fakeNode{err: status.Error(codes.InvalidArgument, "link \"x\" is not canonical")}
	to, log := startServer(t, node, "c1")
	p := newPool(t, "c1")
	for range 5 {
		if _, err := p.Forward(t.Context(), to, links("x")); err == nil ||
			!strings.Contains(err.Error(), "not canonical") {
			t.Fatalf("error %v, want the reason", err)
		}
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if len(log.lines) != 1 {
		t.Errorf("%d lines in the log, want 1: %q", len(log.lines), log.lines)
	}
}

func TestOtherClustersAreRefused(t *testing.T) {
	t.Parallel()
	node := &fakeNode{}
	to, _ := startServer(t, node, "c1")
	p := newPool(t, "c2")
	if _, err := p.Forward(t.Context(), to, links("http://h/")); err == nil {
		t.Error("links of another cluster were taken")
	}
	_, err := Call(t.Context(), p, to, &RenewRequest{}, PeerClient.Renew)
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("renewal of another cluster: %v, want a failed precondition", err)
	}
	// Membership checks the cluster itself.
	r, err := Call(t.Context(), p, to, &Envelope{Payload: []byte("x")}, PeerClient.Membership)
	if err != nil || string(r.Payload) != "me:x" {
		t.Errorf("membership: %v, %v", r, err)
	}
	if len(node.stored) != 0 {
		t.Error("something was stored")
	}
}

// Nodes of two releases do not copy to each other, whoever calls.
func TestOtherProtocolsAreRefused(t *testing.T) {
	t.Parallel()
	node := &fakeNode{}
	to, log := startServer(t, node, "c1") // of version 0, which nobody else speaks
	p := NewPool(PoolOptions{Self: "me", Protocol: 7, Cluster: func() string { return "c1" }})
	t.Cleanup(p.Close)
	_, err := Call(t.Context(), p, to, &Envelope{}, PeerClient.Membership)
	if status.Code(err) != codes.FailedPrecondition ||
		!strings.Contains(err.Error(), `protocol version "7", this node 0`) {
		t.Errorf("a newer caller: %v, want a refusal that names both versions", err)
	}
	if _, err := p.Forward(t.Context(), to, links("http://h/")); err == nil || len(node.stored) != 0 {
		t.Error("links of another release were taken")
	}
	c, err := p.conn(to)
	if err != nil {
		t.Fatal(err)
	}
	unnamed := metadata.AppendToOutgoingContext(t.Context(), clusterKey, "c1", nodeKey, "old")
	if _, err := c.client.Renew(unnamed, &RenewRequest{}); status.Code(err) !=
		codes.FailedPrecondition ||
		!strings.Contains(err.Error(), `version "1"`) {
		t.Errorf("a caller that names no version: %v, want a refusal as version 1", err)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if n := len(log.lines); n < 1 || n > 2 { // one for each caller, and one a second
		t.Errorf("%d lines in the log: %q", n, log.lines)
	}
}

// After a peer has come back, links flow again without anybody's help.
func TestForwardRecovers(t *testing.T) {
	t.Parallel()
	port := closedport.Reserve(t)
	to := Target{ID: "node", Boot: 1, Addr: port.Addr}
	p := newPool(t, "c1")
	if _, err := p.Forward(t.Context(), to, links("http://h/1")); err == nil {
		t.Fatal("nobody listens and the links were acknowledged")
	}
	node := &fakeNode{}
	serve(t, port.Listen(t), node, "c1", "node", 1)
	deadline := time.Now().Add(10 * time.Minute)
	for {
		_, err := p.Forward(t.Context(), to, links("http://h/2"))
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("links do not flow again:", err)
		}
		time.Sleep(20 * time.Millisecond) // the stream rests; there is no event to wait for
	}
}

func TestCallHasADeadline(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := newPool(t, "c1")
	begin := time.Now()
	if _, err := Call(t.Context(), p, Target{
		ID:   "node",
		Boot: 1,
		Addr: l.Addr().String(),
	}, &RenewRequest{}, PeerClient.Renew); err == nil {
		t.Error("a silent peer answered")
	}
	if took := time.Since(begin); took > 60*callTimeout { // the machine may be busy
		t.Errorf("the call took %v, its bound is %v", took, callTimeout)
	}
}
