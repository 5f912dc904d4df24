package pipeline

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// workers begins so many that wait, and returns the count of those that passed.
func workers(ctx context.Context, b *backlog, wg *sync.WaitGroup, n int) func() int {
	var mu sync.Mutex
	passed := 0
	for range n {
		wg.Go(func() {
			b.wait(ctx)
			mu.Lock()
			passed++
			mu.Unlock()
		})
	}
	return func() int {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return passed
	}
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBacklog(8)
		ctx, cancel := context.WithCancel(t.Context())
		defer context.AfterFunc(ctx, b.wakeAll)()
		var wg sync.WaitGroup
		for range 10 {
			b.begin()
		}
		passed := workers(ctx, b, &wg, 100)
		steps := []int{
			0, 0, 1, // down to 9, 8, 7: one for the page that is done
			2, 3, 4, // to 4
			7, 10, 13, // to 1: three for each
			100, // none is left
		}
		for i, want := range steps {
			b.end()
			if got := passed(); got != want {
				t.Fatalf("after %d pages %d have begun, want %d", i+1, got, want)
			}
		}
		wg.Wait()
		for range 8 {
			b.begin()
		}
		passed = workers(ctx, b, &wg, 5)
		time.Sleep(time.Hour)
		if got := passed(); got != 0 {
			t.Errorf("%d have begun with a full backlog", got)
		}
		cancel()
		if got := passed(); got != 5 {
			t.Errorf("%d of 5 have ended with their context", got)
		}
		wg.Wait()
	})
}
