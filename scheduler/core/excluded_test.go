package core

import (
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestExcludedAtOnce: a domain is excluded whose hosts wait for names, back-offs, shares and
// freezes. Its URLs are refused within seconds, beside others who lose nothing.
func TestExcludedAtOnce(t *testing.T) {
	t.Parallel()
	bad := func(h crawl.Host) bool { return strings.HasSuffix(string(h), "bad.test") }
	r := newRush(t, Config{MaxFailures: 1, Fetchers: 64}, func(h crawl.Host) temperament {
		k := quick(h)
		switch {
		case strings.HasSuffix(string(h), ".name.bad.test"):
			k.name, k.nameless = 1800*time.Millisecond, true
		case bad(h):
			k.answer, k.bytes = time.Minute, 100
		}
		return k
	})
	good := hostNames(5, "good%d.test")
	r.add(good...)
	hostile := append(hostNames(3000, "h%d.name.bad.test"), hostNames(500, "h%d.drip-bad.test")...)
	for _, name := range hostile {
		r.core.Activate(r.now, Queue{Host: name, Items: r.items(name, 3)}, time.Time{})
	}
	before := r.of(good, 10*time.Second)
	r.pass(20 * time.Second)
	counts := r.core.Counts()
	if counts.Frozen < 10 || r.core.Lookups() < 1000 || counts.InFlight < 10 {
		t.Fatalf("the attack is none: %+v, %d look-ups", counts, r.core.Lookups())
	}
	r.excluded = "bad.test"
	r.core.ExcludeChanged(r.now)
	during := r.of(good, 10*time.Second)
	left := 0
	for _, name := range hostile {
		if h := r.core.hosts[name]; h != nil && !h.open {
			left++
		}
	}
	if left > 0 || r.core.Lookups() > 0 {
		t.Errorf("10 s after their domain was excluded %d hosts are in memory, and %d names asked for",
			left, r.core.Lookups())
	}
	if during < 8*before/10 {
		t.Errorf("good hosts have %d visits meanwhile, %d before", during, before)
	}
}

// TestExcludeTakenBack: what is excluded no more is fetched as before.
func TestExcludeTakenBack(t *testing.T) {
	t.Parallel()
	r := newRush(t, Config{}, quick)
	r.excluded = "a.test"
	r.fetchers = 0 // so that nothing is handed out yet
	r.add("a.test")
	if r.pass(time.Second); r.core.hosts["a.test"].status != Ready {
		t.Fatalf("an excluded host is %v", r.core.hosts["a.test"].status)
	}
	r.excluded = ""
	r.core.ExcludeChanged(r.now)
	r.fetchers = 1
	if r.pass(2 * time.Second); r.visits["a.test"] < 2 || r.core.hosts["a.test"].errors > 0 ||
		r.core.hosts["a.test"].state.Failures > 0 {
		t.Errorf("%d visits in 2 s, state %+v", r.visits["a.test"], r.core.hosts["a.test"].state)
	}
}

// TestFewerLookups: name servers that bear less are asked less, and more again later.
func TestFewerLookups(t *testing.T) {
	t.Parallel()
	r := newRush(t, Config{}, func(h crawl.Host) temperament {
		k := quick(h)
		k.name = time.Second
		return k
	})
	r.core.LimitLookups(r.now, 5)
	r.add(hostNames(100, "h%d.test")...)
	r.pass(1500 * time.Millisecond)
	if r.looking != 5 {
		t.Errorf("%d look-ups at once, want 5", r.looking)
	}
	r.core.LimitLookups(r.now, 1000)
	if r.pass(10 * time.Millisecond); r.looking != 64-5 {
		t.Errorf("%d look-ups at once, want 64 again but for the reserve of the five that have answered",
			r.looking)
	}
}
