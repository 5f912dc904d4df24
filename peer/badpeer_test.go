package peer

import (
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"
)

// badPeer accepts connections and treats each as told, until the test ends.
func badPeer(t *testing.T, treat func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards conns
	var conns []net.Conn
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			serving.Go(func() { treat(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close() // ends the accepting
		mu.Lock()
		for _, c := range conns {
			_ = c.Close() // ends its treatment
		}
		mu.Unlock()
		serving.Wait()
	})
	return l.Addr().String()
}

// emptySettings is the frame with which a server opens an HTTP/2 connection (RFC
// 9113, 6.5), without settings.
var emptySettings = []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}

// Peers that accept and never answer, that reset each connection, and that go
// deaf after the first words cost a caller the call's deadline and nothing that
// stays: no goroutine is left when the pool is closed.
func TestBadPeersCostTheDeadlineOnly(t *testing.T) {
	peers := map[string]string{
		"silent": badPeer(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }),
		"resets": badPeer(t, func(c net.Conn) {
			_ = c.(*net.TCPConn).SetLinger(0) // Close sends RST
			_ = c.Close()
		}),
		"goes deaf": badPeer(t, func(c net.Conn) {
			_, _ = c.Write(emptySettings) // the caller takes the connection for good
			_, _ = io.Copy(io.Discard, c)
		}),
	}
	before := runtime.NumGoroutine()
	p := NewPool(PoolOptions{Self: "a", Cluster: func() string { return "c1" }})
	var calls sync.WaitGroup
	for name, addr := range peers {
		to := Target{ID: "b", Boot: 1, Addr: addr}
		for range 5 {
			calls.Go(func() {
				begin := time.Now()
				if _, err := Call(t.Context(), p, to, &RenewRequest{}, PeerClient.Renew); err == nil {
					t.Errorf("%s: the call was answered", name)
				}
				// a machine that is busy with other things takes longer
				if took := time.Since(begin); took > 5*time.Minute {
					t.Errorf("%s: the call took %v, 5 s are promised", name, took)
				}
			})
			calls.Go(func() {
				if _, err := p.Forward(t.Context(), to, links("http://h/1")); err == nil {
					t.Errorf("%s: links were acknowledged", name)
				}
			})
		}
	}
	calls.Wait()
	p.Close()
	deadline := time.Now().Add(10 * time.Minute)
	for runtime.NumGoroutine() > before+before/10+2 {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before,
				stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(20 * time.Millisecond) // connections end by themselves; there is no event to wait for
	}
}
