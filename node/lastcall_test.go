package node

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/storage"
	"crawlnode/settings/crawldoc"
)

// doorListener asks something when it is closed for the first time.
type doorListener struct {
	net.Listener
	once    sync.Once
	onClose func()
}

func (l *doorListener) Close() error {
	l.once.Do(l.onClose)
	return l.Listener.Close()
}

// TestNoRightBehindAClosedDoor: who finds the listener for other nodes closed may take over, so
// by then a node that ends has no right to fetch any more.
func TestNoRightBehindAClosedDoor(t *testing.T) {
	t.Parallel()
	n, err := Open(Options{
		Config:  testConfig(t, "door"),
		Logger:  slog.New(slog.DiscardHandler),
		Version: "test",
		Store:   storage.NewMemory(),
	})
	if err != nil {
		t.Fatal(err)
	}
	right := make(chan bool, 1)
	n.rpc = &doorListener{Listener: n.rpc, onClose: func() { right <- n.MayFetch(0) }}
	ended := make(chan error, 1)
	go func() { ended <- n.Run(context.Background()) }()
	until(t, patience, func() string { _, why := n.Ready(); return why })
	if _, err := n.doc.Change(func(d *crawldoc.Document) *crawldoc.Document {
		return d.Enter(crawl.CrawlRunning, "", "a", time.Now())
	}); err != nil {
		t.Fatal(err)
	}
	until(t, patience, func() string {
		if !n.MayFetch(0) {
			return "it may not fetch"
		}
		return ""
	})
	n.Stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if <-right {
		t.Error("it may fetch when its port is closed")
	}
}
