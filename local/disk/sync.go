package disk

import (
	"context"
	"time"

	"crawlnode/local/datadir"
	"crawlnode/ticks"
)

// syncEvery bounds what a power loss can cost; a kill of the process costs nothing.
const syncEvery = time.Second

// SyncLoop makes what was acknowledged durable against power loss, until ctx ends: archive and
// derived outputs first, so that no page is done without its record and its lines. While the disk
// is full, what was written waits in memory.
func SyncLoop(ctx context.Context, s *Space, outputs, frontier func() error) error {
	tick := ticks.New(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !s.Has(0) {
			continue
		}
		switch err := outputs(); {
		case IsFull(err):
			continue // it has filled up since
		case err != nil:
			return err
		}
		if err := frontier(); err != nil {
			return datadir.Failed("sync the frontier", err)
		}
	}
}
