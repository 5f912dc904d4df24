package recrawl

import (
	"fmt"
	"math"
	"testing"
	"time"

	"crawlnode/crawl"
)

// crawled is a node of so many fetchers that visits what is queued, a second of virtual time after
// the other.
type crawled struct{ revisits, others int }

// run makes so many visits a second at most, revisits first as their band says. fresh is how many
// new URLs wait at the start of each second; spare says that the fetchers are not kept busy.
func (b *bench) run(seconds, speed, fresh int, spare bool) (c crawled) {
	for s := range seconds {
		b.pages.fresh["new"] = int64(fresh)
		for tenth := range 10 {
			b.busy = b.fetchers
			if spare {
				b.busy = 0
			}
			b.turnAt(time.Duration(s)*time.Second + time.Duration(tenth)*100*time.Millisecond)
			known := min(b.queued(), speed/10)
			others := min(speed/10-known, fresh)
			fresh = max(fresh, fresh-others)
			b.visit(known, others)
			c.revisits, c.others = c.revisits+known, c.others+others
		}
	}
	return c
}

// TestShare checks that due pages get their share while new URLs wait, and everything while none
// do; and that new URLs get everything while nothing is due.
func TestShare(t *testing.T) {
	t.Parallel()
	const seconds, speed = 20, 50
	for _, c := range []struct {
		name       string
		due, fresh int
		share      float64
		want       float64 // of the visits, revisits
	}{
		{"both wait, half", 1 << 10, 1 << 20, 0.5, 0.5},
		{"both wait, a fifth", 1 << 10, 1 << 20, 0.2, 0.2},
		{"both wait, all", 1 << 10, 1 << 20, 1, 1},
		{"no new URLs", 1 << 10, 0, 0.1, 1},
		{"nothing due", 0, 1 << 20, 0.9, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 1, crawl.RecrawlFixed)
			b.settings.RecrawlShare = c.share
			for i := range c.due / 8 { // hosts of 8 pages
				b.pages.add(0, crawl.Host(fmt.Sprint("h", i)), 8, 0)
			}
			got := b.run(seconds, speed, c.fresh, false)
			all := got.revisits + got.others
			if all < seconds*speed*9/10 {
				t.Errorf("%d visits of %d possible ones: %+v", all, seconds*speed, got)
			}
			if part := float64(got.revisits) / float64(all); math.Abs(part-c.want) > 0.05 {
				t.Errorf("%.2f of the visits are revisits, want %.2f: %+v", part, c.want, got)
			}
		})
	}
}

// TestSpareFetchers checks that due pages need no pay while fetchers are idle, unless new URLs of
// their own host wait.
func TestSpareFetchers(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, crawl.RecrawlFixed)
	b.pages.add(0, "busy", 10, 0)
	b.pages.add(0, "free", 3, 0)
	b.pages.fresh["busy"] = 1000
	b.turnAt(time.Second)
	for _, x := range b.pages.pages {
		if x.queued != (x.host == "free") {
			t.Errorf("a page of %s: queued %v", x.host, x.queued)
		}
	}
	b.busy = b.fetchers
	b.pages.add(0, "late", 3, 0)
	if b.turnAt(2 * time.Second); b.pages.moves != 3 {
		t.Errorf("%d moved while all fetchers are busy with new URLs", b.pages.moves)
	}
	b.visit(0, 8)
	if b.turnAt(2200 * time.Millisecond); b.pages.moves != 7 {
		t.Errorf("%d moved after 8 visits at a share of a half", b.pages.moves)
	}
}

// TestBucket checks that it holds one turn, and counts nothing twice.
func TestBucket(t *testing.T) {
	t.Parallel()
	var b bucket
	b.fill(100, 0.5, 16)
	if b.tokens != 16 {
		t.Errorf("%v tokens, want one turn", b.tokens)
	}
	for range 16 {
		if !b.take() {
			t.Fatal("it is empty too early")
		}
	}
	b.fill(100, 0.5, 16)
	b.fill(101, 0.5, 16)
	if b.take() {
		t.Error("half a page was paid for")
	}
	b.fill(102, 0.5, 16)
	if !b.take() {
		t.Error("two visits do not pay for one at a share of a half")
	}
}

// TestMeasured checks what is taken for possible: by the time that a visit keeps a fetcher, less
// what new URLs get.
func TestMeasured(t *testing.T) {
	t.Parallel()
	var m measured
	if got := m.capacity(64, 0.5); got != 64 {
		t.Errorf("%v before anything was measured", got)
	}
	l := load{fetchers: 64, busy: 8}
	for s := range 600 {
		l.visits = int64(s * 40) // 8 fetchers make 40 visits a second
		m.look(start.Add(time.Duration(s)*time.Second), &l)
	}
	if got := m.capacity(64, 0.5); math.Abs(got-320) > 5 || math.Abs(m.rate-40) > 1 || m.turn() != 80 {
		t.Errorf("capacity %v, rate %v, turn %d", got, m.rate, m.turn())
	}
	l.fresh = true
	for s := 600; s < 1200; s++ {
		l.visits = int64(s * 40)
		m.look(start.Add(time.Duration(s)*time.Second), &l)
	}
	if got := m.capacity(64, 0.25); math.Abs(got-80) > 3 {
		t.Errorf("capacity %v while new URLs wait, a quarter for revisits", got)
	}
}

// TestRecent checks which pages count as on their way.
func TestRecent(t *testing.T) {
	t.Parallel()
	var r recent
	r.note(start, 10)
	r.note(start.Add(time.Second), 5)
	for _, c := range []struct {
		after    time.Duration
		revisits int64
		want     int
	}{{time.Second, 0, 15}, {1100 * time.Millisecond, 4, 11}, {2100 * time.Millisecond, 4, 5},
		{2200 * time.Millisecond, 6, 3}, {5 * time.Second, 6, 0}} {
		if got := r.left(start.Add(c.after), c.revisits); got != c.want {
			t.Errorf("after %v and %d visits: %d, want %d", c.after, c.revisits, got, c.want)
		}
	}
}

// TestAnEmptyBucketIsCheap checks that a turn that cannot pay reads few partitions and looks up few
// hosts, however many are due, and that checks still get their turn in all of them.
func TestAnEmptyBucketIsCheap(t *testing.T) {
	t.Parallel()
	const partitions, hosts = 100, 8
	b := newBench(t, partitions, crawl.RecrawlFixed)
	for p := range crawl.Partition(partitions) {
		for i := range hosts {
			host := crawl.Host(fmt.Sprint("h", p, ".", i))
			b.pages.add(p, host, 1, 0)
			b.pages.fresh[host] = 1
		}
		b.pages.add(p, "check", 1, 0)
		b.pages.pages[len(b.pages.pages)-1].visit = false
	}
	const turns = partitions/furtherOf + 1
	for i := range turns {
		b.pages.reads, b.pages.asked = 0, 0
		b.mover.turnAt(t, start.Add(time.Duration(i+1)*againEvery), &load{fetchers: 16, fresh: true})
		if b.pages.reads > furtherOf+1 || b.pages.asked > askedOf {
			t.Fatalf("turn %d: %d partitions read, %d hosts looked up", i, b.pages.reads, b.pages.asked)
		}
	}
	if b.pages.moves != 0 || b.pages.again != partitions {
		t.Errorf("%d moved unpaid, %d of %d checks made", b.pages.moves, b.pages.again, partitions)
	}
	b.pages.asked = 0
	for i := range 2 * askedOf {
		host := crawl.Host(fmt.Sprint("many", i))
		b.pages.add(0, host, 1, 0)
		b.pages.fresh[host] = 1
	}
	h := haul{spare: map[crawl.Host]int{}}
	due, err := b.pages.Due(0, start.Add(time.Minute), 4*askedOf)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.mover.load(&h, due, 4*askedOf, &load{fetchers: 16, fresh: true}); err != nil ||
		b.pages.asked != askedOf {
		t.Errorf("%d hosts looked up in a turn, %v", b.pages.asked, err)
	}
}

// TestARetryDoesNotHoldUpItsHost checks that a host whose only queued URL waits for its next try
// counts as idle.
func TestARetryDoesNotHoldUpItsHost(t *testing.T) {
	t.Parallel()
	b := newBench(t, 3, crawl.RecrawlFixed)
	at := start.Add(againEvery)
	b.pages.later = map[crawl.Host]time.Time{"waits": at.Add(time.Minute), "tries": at}
	for p, host := range []crawl.Host{"waits", "tries", "idle"} {
		b.pages.add(crawl.Partition(p), host, 1, 0)
		if host != "idle" {
			b.pages.fresh[host] = 1
		}
	}
	b.mover.turnAt(t, at, &load{fetchers: 16, fresh: true})
	for _, x := range b.pages.pages {
		if x.queued != (x.host != "tries") {
			t.Errorf("%s: moved is %v", x.host, x.queued)
		}
	}
}

// turnAt turns the mover alone, with all heads known.
func (m *mover) turnAt(t *testing.T, now time.Time, l *load) {
	t.Helper()
	pages, ok := m.pages.(*fakePages)
	if !ok {
		t.Fatal("not a fake")
	}
	pages.now = now
	for p := range pages.held {
		if err := m.look(p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.turn(t.Context(), now, mostAtOnce, l); err != nil {
		t.Fatal(err)
	}
}
