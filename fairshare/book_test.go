package fairshare

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func TestDomain(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"www.example.com": "example.com", "example.com": "example.com", "a.b.example.co.uk": "example.co.uk",
		"me.github.io": "me.github.io", "x.me.github.io": "me.github.io", "co.uk": "co.uk", "localhost": "localhost",
		"192.0.2.77": "192.0.2.0/24", "[2001:db8:1:2::7]": "2001:db8:1::/48", "": "", ".": ".", "a..b": "a..b",
	} {
		if got := Domain(host); got != want {
			t.Errorf("Domain(%q) = %q, want %q", host, got, want)
		}
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.77": "192.0.2.0/24", "::ffff:192.0.2.77": "192.0.2.0/24", "2001:db8:1:2::7": "2001:db8:1::/48", "fe80::1%eth0": "fe80::/48",
	} {
		if got := Block(netip.MustParseAddr(addr)); got.String() != want {
			t.Errorf("Block(%s) = %s, want %s", addr, got, want)
		}
	}
	if Block(netip.Addr{}).IsValid() {
		t.Error("no address has a block")
	}
}

// takeAll takes r for c as often as the book allows.
func takeAll(b *Book, c, block *Claimant, r Resource, most int) (n int) {
	for ; n < most; n++ {
		if ok, _ := b.Admits(c, block, r); !ok {
			return n
		}
		b.Take(c, r)
		if block != nil {
			b.Take(block, r)
		}
	}
	return n
}

// enter lets a domain have n hosts.
func enter(b *Book, name string, n int) (c *Claimant) {
	for range n {
		c = b.Enter(start, name, true)
	}
	return c
}

func noteAll(b *Book, c *Claimant, r Resource, o Outcome, n int) {
	for range n {
		b.Note(start, c, r, o)
	}
}

// A domain that is alone has everything, however it answers.
func TestAlone(t *testing.T) {
	t.Parallel()
	b := NewBook(256, 64, 20_000, 10)
	c := enter(b, "one.test", 5000)
	noteAll(b, c, Lookups, Bad, 100)
	noteAll(b, c, Fetchers, Bad, 100)
	if n := takeAll(b, c, nil, Fetchers, 256); n != 256 {
		t.Errorf("a domain that is alone has %d of 256 fetchers", n)
	}
	if !b.Fits("one.test", 19_999) {
		t.Error("a domain that is alone has its share of memory and no more")
	}
}

// A domain that answers has all it wants after a few dozen answers, beside others.
func TestGrows(t *testing.T) {
	t.Parallel()
	b := NewBook(256, 64, 20_000, 10)
	c := enter(b, "big.test", 5000)
	enter(b, "other.test", 1)
	if n := takeAll(b, c, nil, Fetchers, 256); n != 32 {
		t.Errorf("a new domain has %d fetchers of 256 beside others, want an eighth", n)
	}
	noteAll(b, c, Fetchers, Well, 56)
	if n := 32 + takeAll(b, c, nil, Fetchers, 224); n != 256 {
		t.Errorf("after 56 answers it has %d of 256", n)
	}
}

// Those who have answered keep a reserve, as large as they have hosts, against any
// number of new domains and of those that fail.
func TestReserve(t *testing.T) {
	t.Parallel()
	b := NewBook(256, 64, 20_000, 10)
	noteAll(b, enter(b, "good.test", 50), Fetchers, Well, 1)
	poor := 0
	for i := range 1000 {
		c := enter(b, fmt.Sprintf("bad%d.test", i), 10)
		noteAll(b, c, Lookups, Bad, 1)
		poor += takeAll(b, c, nil, Fetchers, 256)
	}
	if poor != 256-192 && poor != 256-50 {
		t.Errorf("domains that fail hold %d of 256 fetchers, want what 50 hosts that answered leave", poor)
	}
	fresh := 0
	for i := range 1000 {
		fresh += takeAll(b, enter(b, fmt.Sprintf("new%d.test", i), 1), nil, Fetchers, 256)
	}
	if poor+fresh != 256-50 {
		t.Errorf("all but those that answered hold %d of 256, want a reserve of 50", poor+fresh)
	}
	if ok, _ := b.Admits(b.byName["good.test"], nil, Fetchers); !ok {
		t.Error("a host that answered is not let in")
	}
}

// Many domains in one block are one claimant, unless they have answered.
func TestBlockWindow(t *testing.T) {
	t.Parallel()
	b := NewBook(256, 64, 20_000, 10)
	enter(b, "elsewhere.test", 1)
	n := 0
	var block *Claimant
	for i := range 300 {
		d := enter(b, fmt.Sprintf("d%d.test", i), 1)
		block = b.Enter(start, "192.0.2.0/24", false)
		n += takeAll(b, d, block, Fetchers, 1)
	}
	if n != 32 {
		t.Errorf("300 domains of one block hold %d of 256 fetchers, want an eighth", n)
	}
	good := enter(b, "good.test", 1)
	b.Note(start, good, Fetchers, Well)
	if ok, _ := b.Admits(good, block, Fetchers); !ok {
		t.Error("a domain that answered pays for its neighbours")
	}
}

// A window that fell comes back with time, and a domain that went is remembered.
func TestForgiven(t *testing.T) {
	t.Parallel()
	b := NewBook(256, 64, 20_000, 10)
	c := enter(b, "bad.test", failingHosts)
	enter(b, "other.test", 1)
	noteAll(b, c, Lookups, Bad, 100)
	if f := b.Failing(3); len(f) != 1 || f[0] != (Failing{"bad.test", 100, 100, start}) {
		t.Errorf("failing: %+v", f)
	}
	for range failingHosts {
		b.Leave(c)
	}
	if c = b.Enter(start.Add(time.Minute), "bad.test", true); c.Class() != Poor {
		t.Errorf("after a minute it is %v", c.Class())
	}
	b.Leave(c)
	if c = b.Enter(start.Add(20*time.Minute), "bad.test", true); c.Class() != New {
		t.Errorf("after 20 minutes it is %v", c.Class())
	}
	for i := range 12 {
		b.Leave(b.Enter(start, fmt.Sprint(i), true))
	}
	if len(b.byName) != 12 {
		t.Errorf("%d claimants are remembered, want 2 with hosts and 10", len(b.byName))
	}
}

// FuzzBook lets claimants come, take, fail and go in any order. The sums are those
// that counting anew gives, and whoever is not Good never takes from the reserve.
func FuzzBook(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 7))
		b := NewBook(1+rng.IntN(40), 1+rng.IntN(20), 50, 3)
		type holder struct {
			c    *Claimant
			held []Resource
		}
		var all []*holder
		now := start
		for range 500 {
			now = now.Add(time.Duration(rng.IntN(5000)) * time.Millisecond)
			if len(all) == 0 || rng.IntN(4) == 0 {
				all = append(all, &holder{c: b.Enter(now, fmt.Sprint("d", rng.IntN(8)), true)})
				continue
			}
			i := rng.IntN(len(all))
			h, r := all[i], Resource(rng.IntN(int(numResources)))
			switch rng.IntN(5) {
			case 0, 1:
				ok, full := b.Admits(h.c, nil, r)
				if !ok && (full != h.c || b.domains <= 1) {
					t.Fatalf("%s is refused for %+v", h.c.name, full)
				}
				if ok {
					b.Take(h.c, r)
					h.held = append(h.held, r)
				}
			case 2:
				b.Note(now, h.c, r, Outcome(rng.IntN(3)))
			case 3:
				if n := len(h.held); n > 0 {
					b.Give(h.c, h.held[n-1])
					h.held = h.held[:n-1]
				}
			case 4:
				for _, r := range h.held {
					b.Give(h.c, r)
				}
				b.Leave(h.c)
				all = append(all[:i], all[i+1:]...)
			}
			recount(t, b)
		}
	})
}

func recount(t *testing.T, b *Book) {
	t.Helper()
	var hosts [numClasses]int
	var held [numClasses][numResources]int
	var some [numClasses]int
	sum, domains := 0, 0
	for _, c := range b.byName {
		hosts[c.Class()] += c.hosts
		sum += c.hosts
		if c.hosts > 0 {
			domains++
			some[c.Class()]++
		}
		for r, n := range c.held {
			held[c.Class()][r] += n
		}
		for _, w := range c.window {
			if w < smallest || w > whole {
				t.Fatalf("a window of %d", w)
			}
		}
	}
	if some != b.some || hosts != b.hosts || held != b.held || sum != b.all || domains != b.domains {
		t.Fatalf("hosts %v held %v all %d domains %d, counted anew %v %v %d %d", b.hosts, b.held, b.all, b.domains, hosts, held, sum, domains)
	}
}

func BenchmarkVisit(bench *testing.B) {
	b := NewBook(256, 64, 20_000, 1000)
	d := enter(b, "one.test", 100)
	enter(b, "two.test", 100)
	block := b.Enter(start, "192.0.2.0/24", false)
	for bench.Loop() {
		if ok, _ := b.Admits(d, block, Fetchers); ok {
			b.Take(d, Fetchers)
			b.Take(block, Fetchers)
		}
		b.Note(start, d, Fetchers, Well)
		b.Note(start, block, Fetchers, Well)
		b.Give(d, Fetchers)
		b.Give(block, Fetchers)
	}
}

func BenchmarkDomain(bench *testing.B) {
	for bench.Loop() {
		Domain("www.some-host.example.co.uk")
	}
}
