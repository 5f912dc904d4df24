package dnscache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
)

// fake is an Exchange without sockets, for tests with fake time.
type fake struct {
	mu      sync.Mutex
	queries int
	down    bool // answers nothing until the query's time is up
	handle  func(q *dns.Msg) *dns.Msg
}

func (f *fake) exchange(ctx context.Context, q *dns.Msg, _, _ string) (*dns.Msg, error) {
	f.mu.Lock()
	down := f.down
	// what a server is probed with when it is new is not counted
	if down || q.Question[0].Name != "." {
		f.queries++
	}
	f.mu.Unlock()
	if down {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return f.handle(q), nil
}

func (f *fake) set(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// asked returns the number of queries since the last call.
func (f *fake) asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.queries
	f.queries = 0
	return n
}

// one answers every A query with one address of TTL 60.
func one(t *testing.T) func(q *dns.Msg) *dns.Msg {
	return func(q *dns.Msg) *dns.Msg {
		name := q.Question[0].Name
		if strings.HasPrefix(name, "gone") {
			m := answer(q)
			m.Rcode, m.Ns = dns.RcodeNameError, rrs(t, soa)
			return m
		}
		return answer(q, rrs(t, name+" 60 IN A 192.0.2.1")...)
	}
}

// inBubble runs f with a cache over fake servers and fake time.
func inBubble(t *testing.T, o Options, f func(t *testing.T, c *Cache, net *fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		net := &fake{handle: one(t)}
		o.Servers, o.Exchange = []string{"192.0.2.53:53", "192.0.2.54:53"}, net.exchange
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		f(t, c, net)
	})
}

func TestEntriesLiveAsLongAsTheyMay(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(t *testing.T, c *Cache, net *fake) {
		for _, step := range []struct {
			host    string
			after   time.Duration
			queries int
			class   error
		}{
			{"a.test", 0, 1, nil},
			{"a.test", 59 * time.Second, 0, nil},
			{"a.test", 2 * time.Second, 1, nil},
			{"gone.test", 0, 1, ErrNotFound},
			{"gone.test", 89 * time.Second, 0, ErrNotFound}, // the SOA's minimum
			{"gone.test", 2 * time.Second, 1, ErrNotFound},
		} {
			time.Sleep(step.after)
			_, err := c.Lookup(t.Context(), step.host)
			if n := net.asked(); n != step.queries || !errors.Is(err, step.class) {
				t.Errorf("%s after %v: %d queries, error %v; want %d, %v", step.host, step.after, n, err,
					step.queries, step.class)
			}
		}
		// one is the probe of a new server
		if s := c.Stats(); s.Lookups != 6 || s.Hits != 1 || s.NegativeHits != 1 || s.Queries != 5 {
			t.Errorf("stats = %+v", s)
		}
	})
}

// TestServersDownAndBack walks through an outage: known names stay, new ones
// fail fast, all is well afterwards.
func TestServersDownAndBack(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{StaleFor: time.Hour}, func(t *testing.T, c *Cache, net *fake) {
		lookup := func(host string) (Answer, error) { return c.Lookup(t.Context(), host) }
		if _, err := lookup("known.test"); err != nil {
			t.Fatal(err)
		}
		net.set(true)
		time.Sleep(2 * time.Minute)
		begin := time.Now()
		got, err := lookup("known.test")
		if err != nil || !got.Stale || len(got.Addrs) != 1 {
			t.Errorf("during the outage = %+v, %v; want the old answer", got, err)
		}
		if took := time.Since(begin); took > 12*time.Second {
			t.Errorf("took %v, more than the bound of a flight", took)
		}
		net.asked()
		if _, err := lookup("known.test"); err != nil || net.asked() != 0 {
			t.Errorf("a second look-up asked the dead servers again (%v)", err)
		}
		if _, err := lookup("new.test"); !errors.Is(err, ErrFailed) {
			t.Errorf("unknown name: %v, want ErrFailed", err)
		}
		net.asked()
		if _, err := lookup("new.test"); !errors.Is(err, ErrFailed) || net.asked() != 0 {
			t.Errorf("the failure was not kept (%v)", err)
		}
		time.Sleep(time.Hour)
		if _, err := lookup("known.test"); !errors.Is(err, ErrFailed) {
			t.Errorf("after the stale time: %v, want ErrFailed", err)
		}
		net.set(false)
		time.Sleep(time.Minute)
		for _, host := range []string{"known.test", "new.test"} {
			if got, err := lookup(host); err != nil || got.Stale {
				t.Errorf("%s after the outage: %+v, %v", host, got, err)
			}
		}
		if s := c.Stats(); s.StaleServed != 2 || s.Failures != 3 {
			t.Errorf("stats = %+v", s)
		}
	})
}

// TestCallerGivesUp: the caller's end ends the wait, not the flight.
func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(t *testing.T, c *Cache, net *fake) {
		slow := net.handle
		net.handle = func(q *dns.Msg) *dns.Msg { time.Sleep(time.Second); return slow(q) }
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := c.Lookup(ctx, "a.test"); !errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, ErrFailed) {
			t.Errorf("error = %v, want the caller's deadline", err)
		}
		time.Sleep(time.Second)
		net.asked()
		if _, err := c.Lookup(t.Context(), "a.test"); err != nil || net.asked() != 0 {
			t.Errorf("the flight did not go on: %v", err)
		}
	})
}

// TestSlots: no more flights than slots, a full house makes Lookup wait; Close
// ends them all.
func TestSlots(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{Concurrency: 2}, func(t *testing.T, c *Cache, net *fake) {
		net.set(true)
		results := make(chan error, 3)
		for i := range 3 {
			go func() {
				_, err := c.Lookup(t.Context(), fmt.Sprintf("h%d.test", i))
				results <- err
			}()
		}
		synctest.Wait()
		if n := net.asked(); n != 2 {
			t.Errorf("%d queries at once, want 2", n)
		}
		c.Close()
		for range 3 {
			if err := <-results; !errors.Is(err, ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
		if _, err := c.Lookup(t.Context(), "late.test"); !errors.Is(err, ErrClosed) {
			t.Errorf("look-up on a closed cache: %v", err)
		}
	})
}

// TestLeastUsedIsForgotten checks the bound on names.
func TestLeastUsedIsForgotten(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{MaxEntries: 3}, func(t *testing.T, c *Cache, net *fake) {
		for _, host := range []string{"a.test", "b.test", "c.test", "a.test", "d.test"} {
			if _, err := c.Lookup(t.Context(), host); err != nil {
				t.Fatal(err)
			}
		}
		net.asked()
		var again []string
		for _, host := range []string{"a.test", "c.test", "d.test", "b.test"} {
			_, _ = c.Lookup(t.Context(), host)
			if net.asked() > 0 {
				again = append(again, host)
			}
		}
		if !slices.Equal(again, []string{"b.test"}) || c.Stats().Entries != 3 {
			t.Errorf("asked again for %v, %d entries; want b.test, 3", again, c.Stats().Entries)
		}
	})
}

func TestEvents(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	note := func(what string) func(string) {
		return func(host string) { mu.Lock(); seen = append(seen, what+" "+host); mu.Unlock() }
	}
	events := Events{
		Lookup:      note("lookup"),
		Hit:         note("hit"),
		NegativeHit: note("negative"),
		StaleServed: note("stale"),
		Failure:     func(host string, _ error) { note("failure")(host) },
	}
	inBubble(t, Options{Events: events}, func(t *testing.T, c *Cache, net *fake) {
		for _, host := range []string{"a.test", "a.test", "gone.test", "gone.test"} {
			_, _ = c.Lookup(t.Context(), host)
		}
		net.set(true)
		time.Sleep(time.Hour)
		_, _ = c.Lookup(t.Context(), "a.test")
		_, _ = c.Lookup(t.Context(), "b.test")
	})
	want := "lookup a.test,lookup a.test,hit a.test,lookup gone.test,lookup gone.test,negative " +
		"gone.test,lookup a.test,stale a.test,lookup b.test,failure b.test"
	if got := strings.Join(seen, ","); got != want {
		t.Errorf("events = %s\nwant %s", got, want)
	}
}
