package urlfrontier

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"crawlnode/api/urlfrontier/wire"
	"crawlnode/crawl"
)

// holder is a client that opens calls and sends all but the end of a message on each.
type holder struct {
	conn   net.Conn
	framer *http2.Framer
	ended  atomic.Int64 // calls that the server has ended
	failed chan error
}

// hold opens calls of a method on a connection. size is that of each message.
func hold(addr, method string, calls, size int) (*holder, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	h := &holder{conn: conn, framer: http2.NewFramer(conn, conn), failed: make(chan error, 1)}
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		return nil, err
	}
	if err := h.framer.WriteSettings(); err != nil {
		return nil, err
	}
	var head bytes.Buffer
	coder := hpack.NewEncoder(&head)
	message := binary.BigEndian.AppendUint32([]byte{0}, uint32(size))
	message = append(message, make([]byte, 16<<10-len(message))...)
	left, window := map[uint32]int{}, map[uint32]int{}
	all := 65535
	for i := range calls {
		head.Reset()
		for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "x"}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
			if err := coder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				return nil, err
			}
		}
		id := uint32(2*i + 1)
		if err := h.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true}); err != nil {
			return nil, err
		}
		left[id], window[id] = size-100, 64<<10-1
	}
	go func() { // sends as the windows allow, and ends with the connection
		begun := map[uint32]bool{}
		send := func(id uint32) error {
			for n := min(left[id], window[id], all, len(message)); n > 0; n = min(left[id], window[id], all, len(message)) {
				part := make([]byte, n)
				if !begun[id] {
					copy(part, message[:5])
					begun[id] = true
				}
				left[id], window[id], all = left[id]-n, window[id]-n, all-n
				if err := h.framer.WriteData(id, false, part); err != nil {
					return err
				}
			}
			return nil
		}
		for id := range left {
			if err := send(id); err != nil {
				h.failed <- err
				return
			}
		}
		for {
			f, err := h.framer.ReadFrame()
			if err != nil {
				h.failed <- err
				return
			}
			switch f := f.(type) {
			case *http2.SettingsFrame:
				if size, ok := f.Value(http2.SettingInitialWindowSize); ok {
					for id := range window {
						window[id] += int(size) - 65535
					}
				}
				if !f.IsAck() {
					err = h.framer.WriteSettingsAck()
				}
			case *http2.PingFrame:
				if !f.IsAck() {
					err = h.framer.WritePing(true, f.Data)
				}
			case *http2.WindowUpdateFrame:
				if f.StreamID == 0 {
					all += int(f.Increment)
				} else if _, ok := window[f.StreamID]; ok {
					window[f.StreamID] += int(f.Increment)
				}
			case *http2.HeadersFrame:
				if _, ok := left[f.StreamID]; ok && f.StreamEnded() {
					delete(left, f.StreamID)
					h.ended.Add(1)
				}
			case *http2.RSTStreamFrame:
				if _, ok := left[f.StreamID]; ok {
					delete(left, f.StreamID)
					h.ended.Add(1)
				}
			}
			for id := range left {
				if err == nil {
					err = send(id)
				}
			}
			if err != nil {
				h.failed <- err
				return
			}
		}
	}()
	return h, nil
}

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

// TestStrangersMessagesAreNotKept has six connections with 64 open calls each, whose messages of 4 MiB, and of as much
// as may be, lack their end. Without a token none is kept; without a key a few are.
func TestStrangersMessagesAreNotKept(t *testing.T) { //nolint:paralleltest // measures the heap
	const conns, calls = 6, 64
	refuse := func(string) (crawl.Asker, error) {
		return crawl.Asker{}, fmt.Errorf("%w: no token", crawl.ErrForbidden)
	}
	for _, c := range []struct {
		what   string
		access func(string) (crawl.Asker, error)
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
		var holders []*holder
		for range conns {
			h, err := hold(addr, c.method, calls, c.size)
			if err != nil {
				t.Fatal(err)
			}
			holders = append(holders, h)
		}
		var ended int64
		for deadline := time.Now().Add(5 * time.Second); ended < conns*calls-c.open && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			ended = 0
			for _, h := range holders {
				ended += h.ended.Load()
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if ended < conns*calls-c.open {
			t.Errorf("%s: only %d of %d calls were refused", c.what, ended, conns*calls)
		}
		if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > c.open*maxMessageBytes*3/2+12<<20 {
			t.Errorf("%s: %d bytes are kept", c.what, kept)
		}
		for _, h := range holders {
			_ = h.conn.Close()
			<-h.failed
		}
	}
}

// TestUnaryCallsEnd: a call whose message does not come has its place for ten seconds only, and one that ended leaves
// it at once.
func TestUnaryCallsEnd(t *testing.T) {
	t.Parallel()
	addr := serveAt(t, &node{}, Options{})
	h, err := hold(addr, wire.URLFrontier_GetStats_FullMethodName, maxUnary, maxMessageBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer h.conn.Close()
	c := dialTo(t, addr)
	for { // until the calls have begun
		if _, err := c.GetStats(t.Context(), &wire.QueueWithinCrawlParams{}); status.Code(err) == codes.ResourceExhausted {
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
		if _, err := c.GetStats(t.Context(), &wire.QueueWithinCrawlParams{}); err != nil && status.Code(err) != codes.ResourceExhausted {
			t.Fatal(err)
		}
	}
}

// TestLargestMessage: a message of the size that the package comment names is taken, and no larger one.
func TestLargestMessage(t *testing.T) {
	t.Parallel()
	c := dialTo(t, serveAt(t, &node{}, Options{}))
	for size, want := range map[int]codes.Code{maxMessageBytes - 100: codes.OK, maxMessageBytes + 1: codes.ResourceExhausted} {
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
