package drain

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/handoff"
)

// openVisits is an engine with so many open visits.
type openVisits struct {
	open    int
	settled bool
}

func (e *openVisits) Moves() *handoff.Status { return &handoff.Status{} }
func (e *openVisits) Settle()                { e.settled = true }
func (e *openVisits) Open() int              { return e.open }

// TestSettleEnds: an open visit that never ends, as on a full disk, holds a drain up for no
// longer than the part of its time-out that is left for that.
func TestSettleEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ drain, settle time.Duration }{{time.Second, 200 * time.Millisecond}, {8 * time.Second, 1600 * time.Millisecond}, {25 * time.Second, 3 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			e := &openVisits{open: 1}
			stop := make(chan struct{})
			d := New(Options{Timeout: c.drain, Engine: e, Stop: stop})
			begun := time.Now()
			d.settle(context.Background())
			if took := time.Since(begun); took != c.settle || !e.settled {
				t.Errorf("of a drain of %v it took %v, want %v; visits are handed out: %v", c.drain, took, c.settle, !e.settled)
			}
			e.open = 0
			begun = time.Now()
			d.settle(context.Background())
			if took := time.Since(begun); took > 0 {
				t.Errorf("nothing was open, and it took %v", took)
			}
			e.open = 1
			close(stop)
			d.settle(context.Background())
			if took := time.Since(begun); took > 0 {
				t.Errorf("the node was stopped, and it took %v", took)
			}
		})
	}
}
