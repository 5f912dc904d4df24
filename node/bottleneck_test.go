package node

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/storage"
	"crawlnode/simweb"
)

// slowStore takes its time for each write.
type slowStore struct {
	*storage.Memory
	writes time.Duration
}

func (s slowStore) Write(entries []storage.Entry) error {
	time.Sleep(s.writes) // this is the fault
	return s.Memory.Write(entries)
}

// A node whose store is slow says that the disk is waited for, and for how long.
func TestBottleneckIsTheDisk(t *testing.T) {
	t.Parallel()
	web, srv := newWeb(t,
		simweb.Config{Seed: 6, Hosts: 100, PagesPerHost: 500, Skew: -1, PageBytes: 2000})
	c := testConfig(t, "slow")
	c.DNS, c.Delay = []string{srv.DNS.String()}, 0
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	var ticks atomic.Int64 // other tests keep the whole machine busy, which would be named first
	idle := func() (own, busy, all int64) { return 0, 0, ticks.Add(100) }
	n := startNodeWith(t,
		Options{Config: c, Logger: slog.New(slog.DiscardHandler), Version: "test", ProcessorTime: idle,
			Store: slowStore{storage.NewMemory(), 50 * time.Millisecond}})
	converged(t, 1, n)
	seed(t, n, web)
	until(t, patience, func() string {
		if b := statusOf(t, n.Node).Bottleneck; b.Cause != crawl.BottleneckDisk ||
			!strings.Contains(b.Message, "% of the time") {
			return b.Cause + ": " + b.Message
		}
		return ""
	})
}
