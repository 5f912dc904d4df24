package pipeline

import (
	"context"
	"slices"
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
		b := newBacklog(8, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer context.AfterFunc(ctx, b.wakeAll)()
		var wg sync.WaitGroup
		for range 10 {
			b.begin("a.test")
		}
		passed := workers(ctx, b, &wg, 100)
		steps := []int{
			0, 0, 1, // down to 9, 8, 7: one for the page that is done
			2, 3, 4, // to 4
			7, 10, 13, // to 1: three for each
			100, // none is left
		}
		for i, want := range steps {
			b.end("a.test")
			if got := passed(); got != want {
				t.Fatalf("after %d pages %d have begun, want %d", i+1, got, want)
			}
		}
		wg.Wait()
		for range 8 {
			b.begin("a.test")
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

// TestHeavyPages: pages of one domain take the parser for long. Those of others are parsed
// before them, and no fetch waits for them.
func TestHeavyPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBacklog(8, 1)
		var order []string
		var wg sync.WaitGroup
		page := func(domain string, takes, late time.Duration) {
			wg.Go(func() {
				b.begin(domain)
				b.parse(domain)
				order = append(order, domain) // one at a time
				time.Sleep(takes)
				kept := b.parsed(domain, takes)
				want := takes
				if len(order) > 4 { // only heavy ones are left
					want = 0
				}
				if kept != want {
					t.Errorf("page %d, of %s, kept others from the parser for %v, want %v", len(order), domain, kept, want)
				}
				time.Sleep(late)
				b.end(domain)
			})
			synctest.Wait()
		}
		for range 10 {
			page("heavy.test", time.Second, 0)
		}
		for _, domain := range []string{"a.test", "b.test", "a.test"} {
			page(domain, time.Millisecond, time.Hour)
		}
		time.Sleep(2 * time.Second)
		if want := []string{"heavy.test", "a.test", "b.test", "a.test"}; !slices.Equal(order[:4], want) {
			t.Errorf("parsed in the order %v, want %v and then the other heavy ones", order, want)
		}
		b.mu.Lock()
		if pages := b.pages; pages != 3 {
			t.Errorf("%d pages hold fetches back, want 3 of 11", pages)
		}
		b.mu.Unlock()
		wg.Wait()
		if b.pages != 0 || len(b.domains) != 0 || b.parsers != 1 || b.waiting != 0 {
			t.Errorf("in the end: %+v", b)
		}
	})
}
