package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/peer"
	"crawlnode/security/clusterkey/clusterkeytest"
	"crawlnode/security/door"
)

// openHandler answers renewals, and nothing else is asked of it.
type openHandler struct{ peer.Handler }

func (openHandler) Renew(context.Context, string, *peer.RenewRequest) (*peer.RenewReply, error) {
	return &peer.RenewReply{}, nil
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// Whoever has not the key gets no answer, the log says so at most once a second, and a
// member's connection counts as trusted from its first call on.
func TestStrangersAtTheDoor(t *testing.T) {
	t.Parallel()
	ours, theirs := clusterkeytest.New(t), clusterkeytest.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log, began := &lockedBuffer{}, time.Now()
	s := peer.NewServer(peer.ServerOptions{
		Self:    "node",
		Boot:    1,
		Cluster: func() string { return "c1" },
		Handler: openHandler{},
		TLS:     ours.ServerTLS(),
		Logger:  slog.New(slog.NewTextHandler(log, nil)),
	})
	done := make(chan error, 1)
	go func() { done <- s.Serve(door.Listen(l, door.Limits{Strangers: 2, Trusted: 10})) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error("Serve:", err)
		}
	})
	addr := l.Addr().String()
	to := peer.Target{ID: "node", Boot: 1, Addr: addr}

	var ended atomic.Bool
	member := peer.NewPool(peer.PoolOptions{
		Self:    "me",
		Cluster: func() string { return "c1" },
		TLS:     fixedTLS(ours.ClientTLS()),
		Ended:   func(peer.Target) { ended.Store(true) },
	})
	renew := func() {
		t.Helper()
		until(t, patience, func() string { // on a busy machine a handshake may take too long
			_, err := peer.Call(t.Context(), member, to, &peer.RenewRequest{}, peer.PeerClient.Renew)
			if err != nil {
				return fmt.Sprintf("the member: %v", err)
			}
			return ""
		})
	}
	renew()
	for range 10 { // of connections that say nothing
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	renew()
	for _, config := range []*tls.Config{nil, theirs.ClientTLS(), {InsecureSkipVerify: true}} {
		p := peer.NewPool(peer.PoolOptions{
			Self:    "me",
			Cluster: func() string { return "c1" },
			TLS:     fixedTLS(config),
		})
		for range 3 {
			if _, err := peer.Call(t.Context(), p, to, &peer.RenewRequest{},
				peer.PeerClient.Renew); status.Code(
				err) != codes.Unavailable && status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("a stranger: %v", err)
			}
		}
		p.Close()
	}
	renew()
	if ended.Load() {
		t.Error("the member's connection was ended")
	}
	member.Close()
	log.mu.Lock()
	defer log.mu.Unlock()
	most := 2 + int(time.Since(began)/time.Second)
	if lines := strings.Count(log.b.String(), "has not shown this cluster's key"); lines < 1 ||
		lines > most {
		t.Errorf("%d lines, want 1 to %d in the log: %q", lines, most, log.b.String())
	}
}

// fixedTLS is the same at each try; nil is plain text.
func fixedTLS(config *tls.Config) func(int) *tls.Config {
	if config == nil {
		return nil
	}
	return func(int) *tls.Config { return config }
}
