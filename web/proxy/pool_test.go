package proxy

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	a, b, c = Proxy{HTTP, "a", 1, ""}, Proxy{HTTP, "b", 1, ""}, Proxy{HTTP, "c", 1, ""}
	start   = time.Unix(1_000_000, 0)
)

// hosts are the next n proxies of a list; '-' stands for none.
func hosts(p *Pool, list []Proxy, now time.Time, n int) string {
	var out strings.Builder
	for range n {
		if x, _, ok := p.Next(list, now); ok {
			out.WriteString(x.Host)
		} else {
			out.WriteString("-")
		}
	}
	return out.String()
}

func TestNext(t *testing.T) {
	t.Parallel()
	var p Pool
	if got := hosts(&p, []Proxy{a, b, c}, start, 7); got != "abcabca" {
		t.Errorf("in turn: %s", got)
	}
	if _, wait, ok := p.Next(nil, start); ok || wait != 0 {
		t.Errorf("of nothing: %v, %v", wait, ok)
	}
	// Two lists that are asked by turns must both use all their proxies.
	var q Pool
	var one, two string
	for range 4 {
		one += hosts(&q, []Proxy{a, b}, start, 1)
		two += hosts(&q, []Proxy{c, b}, start, 1)
	}
	for _, got := range []string{one, two} {
		if strings.Count(got, "b") == 0 || strings.Count(got, "b") == len(got) {
			t.Errorf("two lists: %s and %s", one, two)
		}
	}
}

func TestPauses(t *testing.T) {
	t.Parallel()
	var p Pool
	list, now := []Proxy{a, b}, start
	pauses := []time.Duration{time.Second, 10 * time.Second, 60 * time.Second, 60 * time.Second}
	for i, want := range pauses {
		p.Failed(a, fmt.Errorf("failure %d", i), now)
		p.Failed(a, errors.New("at the same time"), now.Add(want/2)) // makes nothing longer
		if got := hosts(&p, list, now.Add(want-1), 2); got != "bb" {
			t.Errorf("pause %d: %s before it ends", i, got)
		}
		if _, wait, ok := p.Next([]Proxy{a}, now); ok || wait != want {
			t.Errorf("pause %d: %v, %v; want %v", i, wait, ok, want)
		}
		if w, why := p.Wait([]Proxy{a}, now); w != want || why != "at the same time" {
			t.Errorf("pause %d: the wait is %v, for %q", i, w, why)
		}
		if w, why := p.Wait(list, now); w != 0 || why != "" {
			t.Errorf("pause %d: the wait is %v, for %q, though one works", i, w, why)
		}
		now = now.Add(want)
		if got := hosts(&p, list, now, 2); got != "ab" && got != "ba" {
			t.Errorf("pause %d: %s when it is over", i, got)
		}
	}
	fail := p.Failing(now)
	if len(fail) != 1 || fail[0] != (Failure{a, start, "at the same time", 8}) {
		t.Errorf("failing: %+v", fail)
	}
	if got := p.Failing(now.Add(unused)); got != nil {
		t.Errorf("failing, though nobody uses it: %+v", got)
	}
	p.Failed(b, errors.New("b"), now)
	p.Failed(a, errors.New("a"), now)
	if _, wait, ok := p.Next(list, now.Add(100*time.Millisecond)); ok || wait != 900*time.Millisecond {
		t.Errorf("both failed: %v, %v; want the wait for the first", wait, ok)
	}
	if fail := p.Failing(now); len(fail) != 2 || fail[0].Proxy != a || fail[1].Failures != 1 {
		t.Errorf("failing: %+v", fail)
	}
	p.Worked(a, now)
	fail = p.Failing(now)
	if len(fail) != 1 || fail[0].Proxy != b || hosts(&p, list, now, 2) != "aa" {
		t.Errorf("a works again, failing: %+v", fail)
	}
	p.Failed(a, errors.New("again"), now)
	if _, wait, _ := p.Next([]Proxy{a}, now); wait != time.Second {
		t.Errorf("the first failure after a success: %v", wait)
	}
}

func TestWorks(t *testing.T) {
	t.Parallel()
	var p Pool
	works := func(after time.Duration) bool { return p.Works(a, start.Add(after)) }
	if works(0) {
		t.Error("works before it was used")
	}
	p.Worked(a, start)
	if !works(59*time.Second) || works(time.Minute) {
		t.Error("works for another time than a minute")
	}
	p.Failed(a, errors.New("x"), start)
	if works(0) {
		t.Error("works after it failed")
	}
}

// TestBounded: neither many proxies nor long errors take memory for ever.
func TestBounded(t *testing.T) {
	t.Parallel()
	var p Pool
	p.Failed(c, errors.New(strings.Repeat("ä", 1000)), start)
	if text := p.Failing(start)[0].Error; len(text) > maxError+3 || !strings.HasPrefix(text, "ä") {
		t.Errorf("%d bytes of an error are kept", len(text))
	}
	for i := range 2 * maxKnown {
		x := Proxy{HTTP, fmt.Sprint("h", i), 1, ""}
		p.Next([]Proxy{x}, start)
		p.Failed(x, errors.New("x"), start)
	}
	if n := len(p.known); n != maxKnown {
		t.Errorf("%d proxies are known, want %d", n, maxKnown)
	}
	if p.Works(a, start) || len(p.Failing(start)) != maxKnown {
		t.Error("the newest are not known")
	}
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	var p Pool
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			for i := range 1000 {
				now := start.Add(time.Duration(i) * 10 * time.Millisecond)
				x, _, ok := p.Next([]Proxy{a, b, c}, now)
				if ok && i%3 == 0 {
					p.Failed(x, errors.New("x"), now)
				} else if ok {
					p.Worked(x, now)
				}
				p.Failing(now)
				p.Wait([]Proxy{a, b}, now)
				p.Works(a, now)
			}
		})
	}
	g.Wait()
}
