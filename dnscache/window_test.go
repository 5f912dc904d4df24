package dnscache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
)

// TestWindowDecides plays scripts of a window of 16 with 16 queries open: "answers N",
// "probe OK|LATE|NO" each at a millisecond of its own; then come the places, and whether there is
// room for one more when one query has ended.
func TestWindowDecides(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"0 answers 100 16 room",
		"0 probe NO 16 room", // it never answered one: proves nothing
		// on their way when the probe failed
		"0 probe OK 16 room; 1000 probe NO 8 shut; 1499 answers 9 8 shut",
		"0 probe OK 16 room; 1000 probe NO 8 shut; 1500 answers 8 8 full",      // 15 open
		"0 probe OK 16 room; 1000 probe NO 8 shut; 1500 answers 9 9 full",      // additive increase
		"0 probe OK 16 room; 1000 probe LATE 8 full; 1001 answers 200 16 room", // and up to the most
		"0 probe OK 16 room; 1 probe NO 8 shut; 600 probe NO 4 shut; 1599 answers 0 4 shut; " +
			"1600 probe NO 2 shut; 3600 probe NO 1 shut; 7600 probe NO 1 shut; 11599 answers 0 1 shut; " +
			"11600 answers 0 1 full",
		// the pauses begin anew
		"0 probe OK 16 room; 1 probe NO 8 shut; 600 probe OK 8 full; 601 probe NO 4 shut; " +
			"1100 answers 0 4 shut; 1101 answers 0 4 full",
	} {
		w := newWindow(16)
		w.open = 16
		for step := range strings.SplitSeq(script, "; ") {
			words := strings.Fields(step)
			var ms int64
			n := 0
			_, _ = fmt.Sscan(words[0], &ms)
			now := time.Unix(1000, ms*int64(time.Millisecond))
			switch words[1] {
			case "answers":
				_, _ = fmt.Sscan(words[2], &n)
				for range n {
					w.answered(now)
				}
			case "probe":
				w.probed(now, map[string]time.Duration{"OK": 20, "LATE": 900, "NO": 1000}[words[2]]*
					time.Millisecond, words[2] != "NO")
			}
			w.open--
			ok, again := w.room(now)
			w.open++
			got := map[bool]string{true: "room", false: "full"}[ok]
			if !again.IsZero() {
				got = "shut"
			}
			if got = fmt.Sprintf("%d %s", w.places(), got); got != strings.Join(words[3:], " ") {
				t.Errorf("%s: %q at %q", script, got, step)
			}
		}
	}
}

// miser is a resolver that answers so many queries a second, each after a while, and
// refuses or drops the rest. Names in lame.test it never answers.
type miser struct {
	mu       sync.Mutex
	rate     int // a second; 0: no limit
	drops    bool
	takes    time.Duration
	second   int64
	used     int
	open     int
	mostOpen int
	good     int // names answered
	turned   int // queries refused or dropped
}

func (m *miser) exchange(ctx context.Context, q *dns.Msg, _, _ string) (*dns.Msg, error) {
	name := q.Question[0].Name
	m.mu.Lock()
	m.open++
	m.mostOpen = max(m.mostOpen, m.open)
	if s := time.Now().Unix(); s != m.second {
		m.second, m.used = s, 0
	}
	m.used++
	over, drops, takes := m.rate > 0 && m.used > m.rate, m.drops, m.takes
	switch {
	case over:
		m.turned++
	case name != ".":
		m.good++
	}
	m.mu.Unlock()
	defer func() { m.mu.Lock(); m.open--; m.mu.Unlock() }()
	if over && drops || strings.HasSuffix(name, "lame.test.") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(takes)
	reply := answer(q)
	if over {
		reply.Rcode = dns.RcodeRefused
	} else if rr, err := dns.NewRR(name + " 60 IN A 192.0.2.1"); err == nil {
		reply.Answer = []dns.RR{rr}
	}
	return reply, nil
}

// counts returns names answered and queries turned away since the last call.
func (m *miser) counts() (good, turned int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	good, turned = m.good, m.turned
	m.good, m.turned = 0, 0
	return good, turned
}

// ask keeps so many look-ups of new names under way for a while, each worker as many at a
// time as the cache says that the servers bear; lame of ten are never answered. It
// returns the errors by class.
func ask(
	t *testing.T,
	c *Cache,
	name string,
	workers, lame int,
	long time.Duration,
) (failed, limited int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(long)
	busy := 0
	for w := range workers {
		all.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				mu.Lock()
				if busy >= c.Room() { // as the scheduler does
					mu.Unlock()
					time.Sleep(50 * time.Millisecond)
					continue
				}
				busy++
				mu.Unlock()
				zone := "fine.test"
				if i%10 < lame {
					zone = "lame.test"
				}
				_, err := c.Lookup(t.Context(), fmt.Sprintf("%s-%d-%d.%s", name, w, i, zone))
				mu.Lock()
				busy--
				switch {
				case errors.Is(err, ErrLimited):
					limited++
				case err != nil && zone == "fine.test":
					failed++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return failed, limited
}

// TestLimitsAreRespected has a resolver limit us, then no more.
func TestLimitsAreRespected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rate  int
		drops bool
		takes time.Duration
	}{{100, false, 50 * time.Millisecond}, {100, true, 50 * time.Millisecond},
		{10, false, 50 * time.Millisecond}, {10, true, 50 * time.Millisecond}} {
		t.Run(fmt.Sprintf("%d a second, drops %v", test.rate, test.drops), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &miser{takes: test.takes}
				c, err := New(Options{Servers: []string{"192.0.2.53:53"}, Exchange: m.exchange, PerServer: 16})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				const long = 30 * time.Second
				ask(t, c, "warm", 24, 0, 5*time.Second)
				free, _ := m.counts()
				m.mu.Lock()
				m.rate, m.drops = test.rate, test.drops // from now on
				m.mu.Unlock()
				ask(t, c, "first", 24, 0, 10*time.Second)
				m.counts()
				failed, limited := ask(t, c, "limited", 24, 0, long)
				good, turned := m.counts()
				t.Logf("%d/s free; limited: %d answered, %d turned away, %d look-ups blamed, "+
					"%d told of the limit, room %d",
					free/5, good, turned, failed, limited, c.Room())
				if most := test.rate * int(long/time.Second); good < most/3 || turned > good ||
					10*failed > good {
					t.Errorf("of %d answers that were to be had we got %d, with %d queries turned away "+
						"and %d names blamed",
						most, good, turned, failed)
				}
				m.mu.Lock()
				m.rate = 0
				m.mu.Unlock()
				ask(t, c, "rest", 24, 0, 30*time.Second)
				m.counts()
				ask(t, c, "freed", 24, 0, 5*time.Second)
				if after, _ := m.counts(); after < free*9/10 {
					t.Errorf("30 s after the limit was lifted %d names in 5 s, before it %d", after, free)
				}
				if m.mostOpen > 16 {
					t.Errorf("%d queries at a time, want 16 at the most", m.mostOpen)
				}
			})
		})
	}
}

// TestBadNamesAreNoLimit: names that are never answered leave the window alone.
func TestBadNamesAreNoLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &miser{takes: 20 * time.Millisecond}
		c, err := New(Options{Servers: []string{"192.0.2.53:53"}, Exchange: m.exchange, PerServer: 16})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		failed, limited := ask(t, c, "n", 24, 3, time.Minute)
		if failed+limited > 0 || c.Room() != 16 {
			t.Errorf("beside names that are never answered: %d good ones failed, %d were told of a limit, "+
				"room for %d of 16", failed, limited, c.Room())
		}
	})
}
