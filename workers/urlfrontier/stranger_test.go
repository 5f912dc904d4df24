package urlfrontier

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"crawlnode/crawl"
	"crawlnode/integration/heldcalls"
	"crawlnode/workers/urlfrontier/wire"
)

// serveAt starts a server and returns its address.
func serveAt(t *testing.T, b Backend, o Options) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- New(b, o).Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// TestStrangersMessagesAreNotKept has six connections with 64 open calls each, whose messages of 4
// MiB, and of as much as may be, lack their end. Without a token none is kept; without a key a few
// are.
func TestStrangersMessagesAreNotKept(t *testing.T) { //nolint:paralleltest // measures the heap
	const conns, calls = 6, 64
	refuse := func(string) (crawl.Caller, error) {
		return crawl.Caller{}, fmt.Errorf("%w: no token", crawl.ErrForbidden)
	}
	for _, c := range []struct {
		what   string
		access func(string) (crawl.Caller, error)
		method string
		size   int
		open   int64 // calls that may be left open
	}{
		{"strangers", refuse, wire.URLFrontier_GetStats_FullMethodName, 4 << 20, 0},
		{"strangers, as large as may be", refuse, wire.URLFrontier_SetActive_FullMethodName, maxMessageBytes, 0},
		{"strangers' streams", refuse, wire.URLFrontier_PutURLs_FullMethodName, maxMessageBytes, 0},
		{"strangers' lists", refuse, wire.URLFrontier_GetURLs_FullMethodName, maxMessageBytes, 0},
		{"strangers' nonsense", refuse, "/no/such", maxMessageBytes, 0},
		{"no key, too large", nil, wire.URLFrontier_GetStats_FullMethodName, 4 << 20, 0},
		{"no key", nil, wire.URLFrontier_GetStats_FullMethodName, maxMessageBytes, maxUnary},
		{"no key, to change something", nil, wire.URLFrontier_SetDelay_FullMethodName, maxMessageBytes, maxUnary},
	} {
		addr := serveAt(t, &node{}, Options{Access: c.access})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var holders []*heldcalls.Client
		for range conns {
			h, err := heldcalls.Open(addr, c.method, calls, c.size)
			if err != nil {
				t.Fatal(err)
			}
			holders = append(holders, h)
		}
		var ended int64
		for deadline := time.Now().Add(5 * time.Second); ended < conns*calls-c.open &&
			time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			ended = 0
			for _, h := range holders {
				ended += h.Ended()
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if ended < conns*calls-c.open {
			t.Errorf("%s: only %d of %d calls were refused", c.what, ended, conns*calls)
		}
		if kept := int64(after.HeapAlloc) -
			int64(before.HeapAlloc); kept > c.open*maxMessageBytes*3/2+12<<20 {
			t.Errorf("%s: %d bytes are kept", c.what, kept)
		}
		for _, h := range holders {
			h.Close()
		}
	}
}

// TestUnaryCallsEnd: a call whose message does not come has its place for ten seconds only, and one
// that ended leaves it at once.
func TestUnaryCallsEnd(t *testing.T) {
	t.Parallel()
	addr := serveAt(t, &node{}, Options{})
	h, err := heldcalls.Open(addr, wire.URLFrontier_GetStats_FullMethodName, maxUnary, maxMessageBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	c := dialTo(t, addr)
	for { // until the calls have begun
		if _, err := c.GetStats(t.Context(), &wire.QueueWithinCrawlParams{}); status.Code(err) ==
			codes.ResourceExhausted {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for { // their time is over
		_, err := c.GetStats(t.Context(), &wire.QueueWithinCrawlParams{})
		if err == nil {
			break
		}
		if status.Code(err) != codes.ResourceExhausted {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	for range 3 * maxUnary {
		if _, err := c.GetStats(t.Context(), &wire.QueueWithinCrawlParams{}); err != nil &&
			status.Code(err) != codes.ResourceExhausted {
			t.Fatal(err)
		}
	}
}

// TestLargestMessage: a message of the size that the package comment names is taken, and no larger
// one.
func TestLargestMessage(t *testing.T) {
	t.Parallel()
	c := dialTo(t, serveAt(t, &node{}, Options{}))
	for size, want := range map[int]codes.Code{
		maxMessageBytes - 100: codes.OK,
		maxMessageBytes + 1:   codes.ResourceExhausted,
	} {
		p := &wire.QueueWithinCrawlParams{Key: strings.Repeat("k", size)}
		p.Key = p.Key[:len(p.Key)-max(0, proto.Size(p)-size)]
		_, err := c.GetStats(t.Context(), p, grpc.MaxCallSendMsgSize(64<<20))
		if got := status.Code(err); got != want && !(want == codes.OK && got == codes.NotFound) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// dialTo is a client of the server at an address.
func dialTo(t *testing.T, addr string) wire.URLFrontierClient {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return wire.NewURLFrontierClient(conn)
}
