package node

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestAwaitSettledEnds: an open visit that never ends, as on a full disk, holds a drain up for no
// longer than the part of its time-out that is left for that.
func TestAwaitSettledEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ drain, settle time.Duration }{{time.Second, 200 * time.Millisecond}, {8 * time.Second, 1600 * time.Millisecond}, {25 * time.Second, 3 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			n := &Node{}
			n.cfg.DrainTimeout = c.drain
			open := 1
			busy := func() int { return open }
			begun := time.Now()
			n.awaitSettled(context.Background(), busy)
			if took := time.Since(begun); took != c.settle {
				t.Errorf("of a drain of %v it took %v, want %v", c.drain, took, c.settle)
			}
			open = 0
			begun = time.Now()
			n.awaitSettled(context.Background(), busy)
			if took := time.Since(begun); took > 0 {
				t.Errorf("nothing was open, and it took %v", took)
			}
		})
	}
}
