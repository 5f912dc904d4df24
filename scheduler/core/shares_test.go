package core

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// rush is a Core with fetchers and name servers that take their time, driven by a clock
// of its own. Every host has pages without end.
type rush struct {
	fakeRules
	t        *testing.T
	core     *Core
	now      time.Time
	fetchers int // free
	ahead    []rushEvent
	kind     func(crawl.Host) temperament
	visits   map[crawl.Host]int
	looking  int // look-ups under way
	seq      uint64
	limit    time.Duration // visits end by then
	rates    map[uint64]rushRate
	open     map[uint64]bool
	parsed   time.Time // when the pages that are there are parsed
	unread   int       // pages that wait for that
	taken    int       // back
}

// temperament is how a host answers.
type temperament struct {
	name     time.Duration // its name server takes
	nameless bool
	answer   time.Duration // it takes to answer a request
	bytes    int64
	parse    time.Duration // its pages take the parser, one after the other
	addr     netip.Addr
}

// rushRate is how fast the payload of a visit arrives.
type rushRate struct {
	begun time.Time
	bytes float64 // a second
}

type rushEvent struct {
	at time.Time
	do func()
}

func newRush(t *testing.T, cfg Config, kind func(crawl.Host) temperament) *rush {
	cfg = cfg.withDefaults()
	r := &rush{
		fakeRules: fakeRules{delay: 500 * time.Millisecond},
		rates:     map[uint64]rushRate{},
	}
	cfg.Dispatcher = r
	r.t, r.core, r.now, r.fetchers, r.kind = t, New(cfg), time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		cfg.Fetchers, kind
	r.open, r.visits, r.limit = map[uint64]bool{}, map[crawl.Host]int{}, time.Minute
	return r
}

// Received is how much of the payload of a visit has arrived.
func (r *rush) Received(id uint64) int64 {
	return int64(r.now.Sub(r.rates[id].begun).Seconds() * r.rates[id].bytes)
}

func (r *rush) add(names ...crawl.Host) {
	for _, name := range names {
		if r.core.Fits(name) && r.core.Places() > 0 {
			r.core.Activate(r.now, Queue{Host: name, Items: r.items(name, 4), More: true}, time.Time{})
		}
	}
}

func (r *rush) items(name crawl.Host, n int) (items []crawl.Item) {
	for range n {
		r.seq++
		u, err := urlnorm.Parse(fmt.Sprintf("http://%s/%d", name, r.seq))
		if err != nil {
			r.t.Fatal(err)
		}
		items = append(items, crawl.Item{URL: u, Seq: r.seq})
	}
	return items
}

func (r *rush) after(d time.Duration, do func()) {
	e := rushEvent{r.now.Add(d), do}
	i, _ := slices.BinarySearchFunc(r.ahead, e,
		func(a, b rushEvent) int { return cmp.Or(a.at.Compare(b.at), -1) })
	r.ahead = slices.Insert(r.ahead, i, e)
}

// pass lets time pass.
func (r *rush) pass(d time.Duration) {
	r.t.Helper()
	for end := r.now.Add(d); ; {
		r.step()
		next := end
		if w := r.core.NextWake(); !w.IsZero() && w.Before(next) {
			next = w
		}
		if len(r.ahead) > 0 && r.ahead[0].at.Before(next) {
			next = r.ahead[0].at
		}
		if !next.Before(end) {
			r.now = end
			return
		}
		r.now = next
		for len(r.ahead) > 0 && !r.ahead[0].at.After(r.now) {
			e := r.ahead[0]
			r.ahead = r.ahead[1:]
			e.do()
		}
	}
}

// step does what can be done now.
func (r *rush) step() {
	r.t.Helper()
	r.core.Advance(r.now)
	for r.fetchers > 0 { // what is taken back below is given out at the next step
		v, ok := r.core.Next(r.now)
		if !ok {
			break
		}
		r.fetchers--
		r.visit(v)
	}
	for _, a := range r.core.Actions() {
		switch k := r.kind(a.Host); a.Kind {
		case Refill:
			r.core.Offer(r.now, a.Host, r.items(a.Host, a.N), a.After, true)
		case TakeBack:
			if !r.open[a.Visit] {
				r.t.Fatalf("visit %d is taken back that is not open", a.Visit)
			}
			delete(r.open, a.Visit)
			r.taken++
			r.core.Release(r.now, a.Visit, crawl.Response{Kind: crawl.Aborted, Requested: true})
			r.core.Completed(r.now, a.Visit)
			r.fetchers++
		case Resolve:
			if r.looking++; r.looking > r.core.shares.most {
				r.t.Fatalf("%d look-ups at once, want %d at the most", r.looking, r.core.shares.most)
			}
			r.after(k.name, func() {
				r.looking--
				var err error
				if k.nameless {
					err = errors.New("SERVFAIL")
				}
				r.core.Resolved(r.now, a.Host, []netip.Addr{k.addr}, r.now.Add(time.Hour), err)
			})
		}
	}
}

func (r *rush) visit(v crawl.Visit) {
	k := r.kind(v.Host)
	out := crawl.Response{
		Kind:      crawl.Fetched,
		Requested: true,
		Took:      min(k.answer, r.limit),
		Bytes:     k.bytes,
	}
	switch {
	case v.Excluded && v.Addr.IsValid():
		r.t.Fatalf("the visit of %s, which is excluded, could make a request", v.Host)
	case v.Excluded:
		out = crawl.Response{Kind: crawl.Refused, Took: 20 * time.Millisecond} // a commit
	case !v.Addr.IsValid():
		out = crawl.Response{Kind: crawl.HostFailed}
	}
	r.open[v.ID] = true
	r.rates[v.ID] = rushRate{r.now, float64(out.Bytes) / max(out.Took.Seconds(), 0.001)}
	r.after(out.Took, func() {
		if !r.open[v.ID] {
			return
		}
		delete(r.open, v.ID)
		r.visits[v.Host]++
		r.core.Release(r.now, v.ID, out)
		wait := time.Duration(0)
		if k.parse > 0 { // others' pages are parsed before those
			r.parsed = crawl.Latest(r.parsed, r.now).Add(k.parse)
			wait = r.parsed.Sub(r.now)
		}
		r.unread++
		r.after(wait, func() {
			r.unread--
			r.core.KeptOthers(v.ID, k.parse)
			r.core.Completed(r.now, v.ID)
			r.fetchers++
		})
	})
}

func hostNames(n int, format string) (names []crawl.Host) {
	for i := range n {
		names = append(names, crawl.Host(fmt.Sprintf(format, i)))
	}
	return names
}

// of counts the visits of some hosts while time passes.
func (r *rush) of(names []crawl.Host, d time.Duration) (n int) {
	r.t.Helper()
	for _, h := range names {
		n -= r.visits[h]
	}
	r.pass(d)
	for _, h := range names {
		n += r.visits[h]
	}
	return n
}

// quick is a host that answers.
func quick(host crawl.Host) temperament {
	return temperament{
		name:   10 * time.Millisecond,
		answer: 10 * time.Millisecond,
		bytes:  10_000,
		addr:   netip.AddrFrom4([4]byte{192, 0, byte(len(host)), 1}),
	}
}

// besiege runs five hosts, then the attackers beside them, then new hosts as well.
// The new ones have some time.
func besiege(
	t *testing.T,
	within time.Duration,
	attackers []crawl.Host,
	kind func(crawl.Host) temperament,
) {
	t.Helper()
	r := newRush(t, Config{MaxActive: 8000}, func(h crawl.Host) temperament {
		if k := kind(h); k.name > 0 {
			return k
		}
		return quick(h)
	})
	good, fresh := hostNames(5, "good%d.test"), hostNames(600, "new%d.test")
	r.add(good...)
	r.pass(5 * time.Second)
	before := r.of(good, 10*time.Second)
	r.add(attackers...)
	during := r.of(good, 10*time.Second)
	late := r.of(good, 10*time.Second)
	t.Logf("visits of five good hosts in 10 s: %d before, %d then %d during", before, during, late)
	if during < 8*before/10 || late < 8*before/10 {
		t.Errorf("five good hosts have %d visits in 10 s, then %d and %d under attack", before, during,
			late)
	}
	r.add(fresh...)
	r.pass(within)
	missing := 0
	for _, h := range fresh {
		if r.visits[h] == 0 {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d of 600 new hosts have had no visit after %v", missing, within)
	}
}

// TestShareOfLookups is F38: thousands of names that take 1.8 s to fail.
func TestShareOfLookups(t *testing.T) {
	t.Parallel()
	besiege(t, 30*time.Second, hostNames(6000, "n%d.bad.test"), func(h crawl.Host) (k temperament) {
		if len(h) > 9 && h[len(h)-9:] == ".bad.test" {
			k = temperament{name: 1800 * time.Millisecond, nameless: true}
		}
		return k
	})
}

// TestShareOfFetchers is F39: 3,000 hosts of one domain, or of 100, that drip for a minute.
func TestShareOfFetchers(t *testing.T) {
	t.Parallel()
	for _, domains := range []int{1, 100, 3000} {
		t.Run(fmt.Sprint(domains, " domains"), func(t *testing.T) {
			var attackers []crawl.Host
			for i := range 3000 {
				attackers = append(attackers, crawl.Host(fmt.Sprintf("n%d.drip%d.test", i, i%domains)))
			}
			within := 30 * time.Second
			if domains == 3000 {
				within = 2 * time.Minute // nothing tells these from the new ones before each has had its try
			}
			besiege(t, within, attackers, func(h crawl.Host) (k temperament) {
				if h[0] == 'n' && h[1] != 'e' {
					var i int
					_, _ = fmt.Sscanf(string(h), "n%d", &i) // it is one of ours
					k = temperament{
						name:   10 * time.Millisecond,
						answer: time.Minute,
						bytes:  24_000,
						addr:   netip.AddrFrom4([4]byte{198, byte(i / 250), byte(i % 250), 1}),
					}
				}
				return k
			})
		})
	}
}

// TestShareOfBlock: as before, 3,000 domains with one host each, all in one block.
func TestShareOfBlock(t *testing.T) {
	t.Parallel()
	r := newRush(t, Config{}, func(h crawl.Host) temperament {
		if h[0] == 'd' {
			return temperament{
				name:   10 * time.Millisecond,
				answer: time.Minute,
				addr:   netip.MustParseAddr("198.51.100.7"),
			}
		}
		return quick(h)
	})
	r.add("good.test")
	r.pass(5 * time.Second)
	r.add(hostNames(3000, "drip%d.test")...)
	r.pass(5 * time.Second)
	if free := r.fetchers; free < 256-33 {
		t.Errorf("one block holds %d of 256 fetchers, want an eighth", 256-free)
	}
}

// TestOneDomainLosesNothing: 5,000 hosts of one domain, alone, have all fetchers.
func TestOneDomainLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRush(t, Config{}, func(h crawl.Host) temperament {
		k := quick(h)
		k.answer = 2 * time.Second // so that all fetchers are needed
		return k
	})
	r.add(hostNames(5000, "h%d.one.test")...)
	r.pass(5 * time.Second)
	if r.fetchers > 2 {
		t.Errorf("%d fetchers are idle beside 5,000 hosts of one domain", r.fetchers)
	}
}

// TestIdleGoesToWhoAsks: attackers have what they had beside others once those are gone.
func TestIdleGoesToWhoAsks(t *testing.T) {
	t.Parallel()
	r := newRush(t, Config{Fetchers: 64}, func(h crawl.Host) temperament {
		k := quick(h)
		if h != "good.other.test" {
			k.answer, k.bytes = 20*time.Second, 100
		}
		return k
	})
	r.add("good.other.test")
	r.add(hostNames(500, "h%d.slow.test")...)
	r.pass(2 * time.Minute)
	if busy := 64 - r.fetchers; busy > 16 {
		t.Errorf("a domain that drips holds %d of 64 fetchers beside another", busy)
	}
	r.core.Freeze(r.now, 0)
	r.core.Unfreeze(r.now, 0)
	r.core.leave(r.now, r.core.hosts["good.other.test"])
	r.pass(10 * time.Second)
	if r.fetchers > 0 {
		t.Errorf("%d of 64 fetchers are idle although nobody else is about", r.fetchers)
	}
}

// TestLongURLs: a domain whose few hosts have long URLs has its share of the bytes, not only of
// the hosts.
func TestLongURLs(t *testing.T) {
	t.Parallel()
	r := newRush(t, Config{MaxActive: 1000, MaxBytes: 1 << 20}, quick)
	r.add(hostNames(10, "good%d.test")...)
	small := r.core.bytes
	n := 0
	for ; n < 1000 && r.core.Fits("next.long.test"); n++ {
		name := crawl.Host(fmt.Sprintf("h%d.long.test", n))
		q := Queue{Host: name, Items: r.items(name, 4)}
		for i := range q.Items {
			u, err := urlnorm.Parse(fmt.Sprintf("http://%s/%s%d", name, strings.Repeat("x", 2000), i))
			if err != nil {
				t.Fatal(err)
			}
			q.Items[i].URL = u
		}
		r.core.Activate(r.now, q, time.Time{})
	}
	if used := r.core.bytes - small; used > 9<<16 || used < 7<<16 {
		t.Errorf("a domain took %d bytes beside others, want half of %d and no more", used, 1<<20)
	}
	if !r.core.Fits("another.test") {
		t.Error("no host of another domain comes into memory")
	}
}
