package drain

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/handoff"
)

// openVisits is an engine with so many open visits.
type openVisits struct {
	open    int
	stopped bool
}

func (e *openVisits) Moves() *handoff.Status { return &handoff.Status{} }
func (e *openVisits) StopVisits()            { e.stopped = true }
func (e *openVisits) Open() int              { return e.open }

// TestEndVisitsEnds: an open visit that never ends, as on a full disk, holds a drain up for no
// longer than the part of its time-out that is left for that.
func TestEndVisitsEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ drain, wait time.Duration }{{time.Second, 200 * time.Millisecond},
		{8 * time.Second, 1600 * time.Millisecond}, {25 * time.Second, 3 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			e := &openVisits{open: 1}
			stop := make(chan struct{})
			d := New(Options{Timeout: c.drain, Engine: e, Stop: stop})
			begun := time.Now()
			d.endVisits(context.Background())
			if took := time.Since(begun); took != c.wait || !e.stopped {
				t.Errorf("of a drain of %v it took %v, want %v; visits are handed out: %v", c.drain, took,
					c.wait, !e.stopped)
			}
			e.open = 0
			begun = time.Now()
			d.endVisits(context.Background())
			if took := time.Since(begun); took > 0 {
				t.Errorf("nothing was open, and it took %v", took)
			}
			e.open = 1
			close(stop)
			d.endVisits(context.Background())
			if took := time.Since(begun); took > 0 {
				t.Errorf("the node was stopped, and it took %v", took)
			}
		})
	}
}

// TestTogether: when all nodes stop, a node ends its visits, waits for the order to end, and moves
// nothing; without that order it ends anyway.
func TestTogether(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			e := &openVisits{open: 1}
			// no members: asking them panics
			d := New(Options{
				Timeout: 25 * time.Second,
				Engine:  e,
				Stop:    make(chan struct{}),
				Log:     slog.New(slog.DiscardHandler),
			})
			d.Together()
			left := make(chan time.Duration)
			begun := time.Now()
			go func() {
				d.Leave(t.Context())
				left <- time.Since(begun)
			}()
			<-d.NoVisits()
			want := openVisitsGrace
			if took := time.Since(begun); took != want || !e.stopped {
				t.Errorf("visits ended after %v, want %v", took, want)
			}
			if ordered {
				time.Sleep(time.Second)
				want += time.Second
				d.End()
			} else {
				want += endAnyway
			}
			if took := <-left; took != want {
				t.Errorf("it left after %v, want %v", took, want)
			}
		})
	}
}
