//race:none

package shares

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func TestDomain(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"www.example.com": "example.com", "example.com": "example.com", "a.b.example.co.uk": "example.co.uk",
		"me.github.io": "me.github.io", "x.me.github.io": "me.github.io", "co.uk": "co.uk",
		"localhost":  "localhost",
		"192.0.2.77": "192.0.2.0/24", "[2001:db8:1:2::7]": "2001:db8:1::/48", "": "", ".": ".",
		"a..b": "a..b",
	} {
		if got := Domain(host); got != want {
			t.Errorf("Domain(%q) = %q, want %q", host, got, want)
		}
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.77": "192.0.2.0/24", "::ffff:192.0.2.77": "192.0.2.0/24",
		"2001:db8:1:2::7": "2001:db8:1::/48", "fe80::1%eth0": "fe80::/48",
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
		b.Wake(c)
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
	if !b.Fits("one.test", 19_999, 19_999) {
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
		t.Errorf("domains that fail hold %d of 256 fetchers, want what 50 hosts that answered leave",
			poor)
	}
	fresh := 0
	for i := range 1000 {
		fresh += takeAll(b, enter(b, fmt.Sprintf("new%d.test", i), 1), nil, Fetchers, 256)
	}
	if poor+fresh != 256-50 {
		t.Errorf("all but those that answered hold %d of 256, want a reserve of 50", poor+fresh)
	}
	if ok, _ := b.Admits(b.byName[key{"good.test", true}], nil, Fetchers); !ok {
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
		b.Wake(block)
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
		b.Sleep(c)
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

// FuzzBook lets claimants of both kinds, some of one name, come, wake, take, fail and go
// in any order. The sums are those that counting anew gives, and nothing is left of them
// when the last has gone.
func FuzzBook(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 7))
		b := NewBook(1+rng.IntN(40), 1+rng.IntN(20), 50, 3)
		var all []*holder
		now := start
		for range 500 {
			now = now.Add(time.Duration(rng.IntN(5000)) * time.Millisecond)
			if len(all) == 0 || rng.IntN(4) == 0 {
				all = append(all, &holder{c: b.Enter(now, fmt.Sprint("d", rng.IntN(8)), rng.IntN(3) > 0)})
				continue
			}
			i := rng.IntN(len(all))
			if all[i].act(t, b, now, rng); rng.IntN(6) == 0 {
				all[i].leave(b)
				all = slices.Delete(all, i, i+1)
			}
			recount(t, b)
		}
		for _, h := range all {
			h.leave(b)
		}
		if recount(t, b); b.domains != 0 || b.about() != 0 || len(b.byName) > 3 {
			t.Fatalf("%d domains, %d hosts awake and %d claimants when all have gone", b.domains, b.about(),
				len(b.byName))
		}
	})
}

// holder is a host that has entered.
type holder struct {
	c     *Claimant
	awake bool
	held  []Resource
}

func (h *holder) act(t *testing.T, b *Book, now time.Time, rng *rand.Rand) {
	r := Resource(rng.IntN(int(numResources)))
	switch rng.IntN(5) {
	case 0, 1:
		if !h.c.domain || !h.awake {
			break
		}
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
		b.Excuse(now, h.c, r)
	case 4:
		if n := len(h.held); n > 0 {
			b.Give(h.c, h.held[n-1])
			h.held = h.held[:n-1]
		} else {
			h.stir(b, !h.awake)
		}
	}
}

func (h *holder) stir(b *Book, awake bool) {
	switch {
	case awake && !h.awake:
		b.Wake(h.c)
	case !awake && h.awake:
		b.Sleep(h.c)
	}
	h.awake = awake
}

func (h *holder) leave(b *Book) {
	for _, r := range h.held {
		b.Give(h.c, r)
	}
	h.stir(b, false)
	b.Leave(h.c)
}

func recount(t *testing.T, b *Book) {
	t.Helper()
	n := Book{}
	for _, c := range b.byName {
		for _, w := range c.window {
			if w < smallest || w > whole {
				t.Fatalf("a window of %d", w)
			}
		}
		if n.add(c, 1); c.domain && c.hosts > 0 {
			n.domains++
		}
	}
	if n.some != b.some || n.hosts != b.hosts || n.held != b.held || n.awake != b.awake ||
		n.domains != b.domains {
		t.Fatalf("hosts %v awake %v held %v domains %d, counted anew %v %v %v %d", b.hosts, b.awake,
			b.held, b.domains, n.hosts, n.awake, n.held, n.domains)
	}
}

// A block and the domain of the literals in it have one name, and are two claimants.
func TestLiteralsAndTheirBlock(t *testing.T) {
	t.Parallel()
	b := NewBook(256, 64, 20_000, 10)
	name := enter(b, "name.test", 1)
	block := b.Enter(start, "192.0.2.0/24", false)
	for range 1000 {
		c := b.Enter(start, Domain("192.0.2.9"), true)
		if c == block {
			t.Fatal("a block and the domain of its literals are one claimant")
		}
		b.Leave(c)
	}
	b.Leave(block)
	b.Leave(b.Enter(start, Domain("192.0.2.9"), true))
	if n := takeAll(b, name, nil, Fetchers, 256); n != 256 {
		t.Errorf("a domain that is alone has %d of 256 fetchers after literals have come and gone", n)
	}
	if over, excess := b.Over(name, Fetchers), b.Excess(Fetchers); over+excess != 0 {
		t.Errorf("a domain that is alone holds %d, and with others that fail %d, too many", over, excess)
	}
}

// A domain whose hosts all sleep is no competitor; of one that wakes there is a reserve.
func TestWhoSleepsKeepsNothing(t *testing.T) {
	t.Parallel()
	b := NewBook(64, 64, 20_000, 10)
	slow := enter(b, "slow.test", 1000)
	noteAll(b, slow, Fetchers, Bad, 20)
	waits := b.Enter(start, "waits.test", true)
	if n := takeAll(b, slow, nil, Fetchers, 64); n != 64 {
		t.Errorf("beside a host that sleeps a domain has %d of 64 fetchers", n)
	}
	if b.Over(slow, Fetchers)+b.Excess(Fetchers) != 0 {
		t.Error("a host that sleeps takes fetchers back")
	}
	b.Wake(waits)
	if b.Over(slow, Fetchers) != 48 {
		t.Errorf("beside a host that is awake it holds %d of 64 too many, want 48",
			b.Over(slow, Fetchers))
	}
}

// A domain that goes on being asked is forgiven as soon as one that is silent.
func TestBusyIsForgiven(t *testing.T) {
	t.Parallel()
	b := NewBook(256, 64, 20_000, 10)
	c := enter(b, "busy.test", 500)
	enter(b, "other.test", 1)
	noteAll(b, c, Lookups, Bad, 40)
	for s := range 600 {
		for range 5 {
			b.Note(start.Add(time.Duration(s)*time.Second), c, Fetchers, Well)
		}
	}
	if b.Note(start.Add(forgiven), c, Fetchers, Well); c.Class() != Good {
		t.Errorf("after ten minutes of good answers it is %v, windows %v", c.Class(), c.window)
	}
}

// Failing are those of whose recent tries more than half fail.
func TestFailingMostly(t *testing.T) {
	t.Parallel()
	for well, want := range map[int]int{15: 1, 25: 0} {
		b := NewBook(256, 64, 20_000, 10)
		c := enter(b, "some.test", 100)
		noteAll(b, c, Lookups, Well, 300) // they say nothing of requests
		noteAll(b, c, Fetchers, Slow, well)
		noteAll(b, c, Fetchers, Bad, 20)
		if got := b.Failing(3); len(got) != want || c.Class() != Poor {
			t.Errorf("20 of %d tries failed: %+v, %v", 20+well, got, c.Class())
		}
	}
}

// What counted as failed and was answered after all leaves no trace.
func TestExcuse(t *testing.T) {
	t.Parallel()
	b := NewBook(256, 64, 20_000, 10)
	c := enter(b, "slow.test", 100)
	noteAll(b, c, Fetchers, Bad, 60)
	for range 60 {
		b.Excuse(start, c, Fetchers)
		b.Note(start, c, Fetchers, Slow)
	}
	if c.Class() == Poor || len(b.Failing(3)) != 0 {
		t.Errorf("after 60 answers it is %v: %+v", c.Class(), b.Failing(3))
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
