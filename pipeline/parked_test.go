package pipeline

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
)

// gatedFetcher answers when the gate lets it.
type gatedFetcher struct {
	*bench
	gate chan struct{}
}

func (f gatedFetcher) Do(ctx context.Context, r fetcher.Request) (*fetcher.Response, error) {
	select {
	case <-f.gate:
		return f.bench.Do(ctx, r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// widening makes a pipeline of 20 workers with a limit, and visits for it.
func widening(
	t *testing.T,
	visits int,
) (b *bench, limit *atomic.Int64, gate chan struct{}, f Fetcher) {
	b, limit, gate = newBench(t, scope.Options{}), new(atomic.Int64), make(chan struct{})
	for i := range visits {
		b.visit(fmt.Sprintf("http://a.test/%d", i))
	}
	f = gatedFetcher{b, gate}
	b.p = New(Options{
		Workers:   20,
		Limit:     func() int { return int(limit.Load()) },
		Source:    b,
		Sink:      b,
		Archive:   b,
		Contents:  b,
		Fetcher:   f,
		Elsewhere: b,
		Rules:     func() *Rules { return &b.rules },
	})
	return b, limit, gate, f
}

// As many workers have a visit as the limit says; when it has grown, the next visit that ends lets
// the others in. The last visit ends those that wait.
func TestWorkersFollowLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, limit, gate, f := widening(t, 60)
		limit.Store(2)
		over := make(chan error, 1)
		go func() { over <- b.runWith(t.Context(), f) }()
		busy := func(want int) {
			t.Helper()
			if synctest.Wait(); b.p.Busy() != want {
				t.Fatalf("%d visits under way, want %d", b.p.Busy(), want)
			}
		}
		end := func(visits int) {
			for range visits {
				gate <- struct{}{}
			}
		}
		busy(2)
		end(3)
		busy(2)
		limit.Store(9)
		end(1)
		busy(9)
		limit.Store(100) // more than there are workers
		end(1)
		busy(20)
		limit.Store(3)
		for range 30 { // those that wait first come first
			end(1)
			synctest.Wait()
		}
		busy(3)
		close(gate)
		if err := <-over; err != nil || len(b.outcomes) != 60 {
			t.Errorf("%d visits of 60, %v", len(b.outcomes), err)
		}
	})
}

// Workers that wait end with the pipeline.
func TestParkedWorkersEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, limit, _, f := widening(t, 60)
		limit.Store(4)
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- b.runWith(ctx, f) }()
		if synctest.Wait(); b.p.Busy() != 4 {
			t.Fatalf("%d visits under way, want 4", b.p.Busy())
		}
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}
