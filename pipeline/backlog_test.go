package pipeline

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// workers starts n workers that wait, and returns a function that counts those that passed.
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
			b.begin("a.test", time.Now())
		}
		b.parsed("a.test", b.parse("a.test"), time.Now(), 0, 0)
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
			b.begin("a.test", time.Now())
		}
		b.parsed("a.test", b.parse("a.test"), time.Now(), 0, 0)
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

// TestHeavyPages: the pages of one domain take long to parse. Pages of other domains are parsed
// before them or beside one of them, and no fetch waits for them.
func TestHeavyPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBacklog(8, 1)
		var order []string // guarded by b.mu
		var wg sync.WaitGroup
		page := func(domain string, takes, late time.Duration) {
			wg.Go(func() {
				b.begin(domain, time.Now())
				p := b.parse(domain)
				b.mu.Lock()
				order = append(order, domain)
				b.mu.Unlock()
				time.Sleep(takes)
				if kept := b.parsed(domain, p, time.Now(), takes, 0); kept != takes {
					t.Errorf("a page of %s kept others from the parser for %v, want %v", domain, kept, takes)
				}
				time.Sleep(late)
				b.end(domain)
			})
			synctest.Wait()
		}
		look := func(when string, pages int, want ...string) {
			t.Helper()
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.pages != pages || !slices.Equal(order, want) {
				t.Errorf("%s %d pages hold fetches back, want %d; parsed were %v, want %v", when, b.pages,
					pages, order, want)
			}
		}
		for range 10 {
			page("heavy.test", time.Second, 0)
		}
		look("before it is known that they are heavy,", fewPages, "heavy.test")
		for _, domain := range []string{"a.test", "b.test", "a.test"} {
			page(domain, time.Millisecond, time.Hour)
		}
		time.Sleep(1500 * time.Millisecond)
		look("then", 3, "heavy.test", "a.test", "b.test", "a.test", "heavy.test")
		page("c.test", time.Millisecond, time.Hour)
		look("while the second is parsed,", 4, "heavy.test", "a.test", "b.test", "a.test", "heavy.test",
			"c.test")
		wg.Wait()
		if b.pages != 0 || len(b.domains) != 0 || b.parsers != 1 || b.waiting != 0 || b.heavy != 0 ||
			b.extra {
			t.Errorf("in the end: %+v", b)
		}
	})
}

// TestHeavy checks which pages are heavy, and for how long they delay another domain.
func TestHeavy(t *testing.T) {
	t.Parallel()
	start := time.Unix(1e9, 0)
	for name, c := range map[string]struct {
		took  time.Duration
		size  int
		after time.Duration // a page of another domain
		want  time.Duration
	}{
		"long":                 {heavyPage, 1000, time.Second, heavyPage},
		"longer":               {3 * heavyPage, 1000, time.Second, 3 * heavyPage},
		"large, and not short": {heavyPage / 5, largePage, time.Second, heavyPage},
		"large and short":      {heavyPage/5 - 1, largePage, time.Second, 0},
		"small and not short":  {heavyPage - 1, largePage - 1, time.Second, 0},
		"alone":                {heavyPage, largePage, aloneAfter + 1, 0},
	} {
		b := newBacklog(8, 1)
		b.begin("other.test", start)
		b.parsed("other.test", b.parse("other.test"), start, 0, 0)
		b.end("other.test")
		now := start.Add(c.after)
		b.begin("a.test", now)
		if kept := b.parsed("a.test", b.parse("a.test"), now, c.took, c.size); kept != c.want {
			t.Errorf("%s: others were kept from the parser for %v, want %v", name, kept, c.want)
		}
		b.end("a.test")
	}
}

// TestHeavyAlone: pages of a domain that is alone count like any others, however long they take.
func TestHeavyAlone(t *testing.T) {
	t.Parallel()
	b := newBacklog(8, 1)
	for range 5 {
		b.begin("a.test", time.Now())
	}
	if kept := b.parsed("a.test", b.parse("a.test"), time.Now(), time.Minute, 0); kept != 0 ||
		b.pages != 5 {
		t.Errorf("of five pages %d hold fetches back, and others were kept from the parser for %v",
			b.pages, kept)
	}
}
