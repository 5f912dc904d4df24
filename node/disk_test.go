package node

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"crawlnode/crawl"
	"crawlnode/local/disk"
	"crawlnode/peer"
	"crawlnode/scheduler/addresses"
	"crawlnode/scheduler/turns"
)

// TestANewNodeWithoutRoom: who has nothing yet and finds no space says so and ends, at
// the beginning or when it comes to founding; who has data goes on, and says so too.
func TestANewNodeWithoutRoom(t *testing.T) {
	t.Parallel()
	var free atomic.Int64
	c := testConfig(t, "small")
	o := Options{Config: c, Logger: slog.New(slog.DiscardHandler), Version: "test",
		FreeBytes: func(string) (int64, error) { return free.Load(), nil }}
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, ErrNoRoom) || !errors.Is(err, ErrStorage) ||
			!strings.Contains(err.Error(), "39 MiB are free at "+c.DataDir) {
			t.Errorf("%v, want that there is no room, and where", err)
		}
	}
	free.Store(39 << 20)
	_, err := Open(o)
	refused(err)

	free.Store(1 << 40)
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	free.Store(39 << 20) // before it has founded its partitions
	err = n.Run(t.Context())
	_ = n.HTTPListener().Close()
	refused(err)

	free.Store(1 << 40)
	first := startNodeWith(t, o)
	until(t, patience, func() string { _, why := first.Ready(); return why })
	first.Stop()
	<-first.done
	free.Store(39 << 20)
	second := startNodeWith(t, o)
	if _, ok := reasonOf(statusOf(t, second.Node), crawl.ReasonLowDisk); !ok {
		t.Errorf("%+v: want %s before it has joined", statusOf(t, second.Node).Cluster.Health,
			crawl.ReasonLowDisk)
	}
	until(t, patience, func() string { _, why := second.Ready(); return why })
	stillKeepsAddresses(t, second.Node)
}

// stillKeepsAddresses checks that others learn whose turn it is from a node that does not crawl
// itself.
func stillKeepsAddresses(t *testing.T, n *Node) {
	t.Helper()
	ip := netip.MustParseAddr("192.0.2.1")
	until(t, patience, func() string {
		if n.mayCrawl() || !n.mayKeep(turns.PartitionOf(ip, n.partitions())) {
			return "it crawls, or gives no turns"
		}
		return ""
	})
	ask := &peer.AddressMessage{Kind: uint32(addresses.Ask), Address: ip.AsSlice(), StampNs: 1}
	got := n.engine.Load().turns.Serve("other",
		&peer.AddressBatch{Boot: 1, Messages: []*peer.AddressMessage{ask}}).Messages
	if len(got) != 1 || got[0].RestNs > 0 ||
		got[0].Kind == uint32(addresses.Wait) && got[0].Tenure == 0 {
		t.Errorf("an ask is answered with %v", got) // a new keeper may say that it waits for older turns
	}
}

// TestAPageFindsTheDiskLow: fetching pauses with the first page that finds little space,
// without the next look of the second.
func TestAPageFindsTheDiskLow(t *testing.T) {
	t.Parallel()
	var free atomic.Int64
	free.Store(1 << 40)
	n, err := Open(Options{Config: testConfig(t, "low"), Version: "test",
		FreeBytes: func(string) (int64, error) { return free.Load(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	defer n.HTTPListener().Close()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan bool, 1)
	go func() { over <- n.watchUntil(ctx, nil, nil) }()
	free.Store(disk.LowBytes - 1)
	if !n.space.Has(100) {
		t.Error("what was fetched has no place, though some is left for it")
	}
	until(t, patience, func() string {
		if n.space.Low() {
			return ""
		}
		return "the disk is low, and nobody has looked"
	})
	cancel()
	if <-over {
		t.Error("a tick that never came")
	}
	if n.space.Has(100); len(n.space.Fell()) > 0 {
		t.Error("what is known is said again")
	}
}
