package frontier

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

const blocksHost = "h1.p0.test"

func blocksURL(i int) string { return fmt.Sprintf("http://%s/%d", blocksHost, i) }

// links makes links of one host, as from one page.
func linksOf(band crawl.Band, from, to int) (out []crawl.Routed) {
	for i := from; i < to; i++ {
		l := link(blocksURL(i))
		l.Target.Band = band
		out = append(out, l)
	}
	return out
}

// queueKeys counts the keys in the table of queues, and the blocks among them.
func (r *running) queueKeys() (keys, blocks int) {
	r.t.Helper()
	v, err := r.w.Read(0)
	r.must(err)
	defer v.Close()
	r.must(v.Each(r.t.Context(), layout.TableQueue, func(it storage.Iterator) error {
		value, err := it.Value()
		keys++
		if layout.IsBlock(value) {
			blocks++
		}
		return err
	}))
	return keys, blocks
}

// all loads a host's queue, n entries at a time.
func (r *running) all(n int) (items []crawl.Item) {
	r.t.Helper()
	var from reader.Cursor
	for {
		q, err := r.Load(0, blocksHost, from, n)
		r.must(err)
		items, from = append(items, q.Items...), q.Next
		if !q.More {
			return items
		}
	}
}

// URLs of a host that come together share keys, are loaded in their order, and leave no key behind.
func TestBlocks(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		list := linksOf(1, 0, 100)
		r.add(append(list, list...)...)
		if keys, blocks := r.queueKeys(); keys != 4 || blocks != 4 {
			t.Errorf("%d keys, %d blocks for 100 URLs, want 4 (30, 31, 31 and 8 URLs)", keys, blocks)
		}
		r.check()
		r = r.crash(reopen, commit.Options{})
		for _, n := range []int{1, 7, 31, 200} {
			items := r.all(n)
			if len(items) != 100 {
				t.Fatalf("%d items, %d at a time", len(items), n)
			}
			for i := range items {
				if items[i].URL.String() != blocksURL(i) {
					t.Fatalf("%d at a time: item %d is %s", n, i, items[i].URL)
				}
			}
		}
		for i := range 100 {
			lease := r.lease(0, blocksHost)
			if lease.Item.URL.String() != blocksURL(i) {
				t.Fatalf("the first of the queue is %s, want %d", lease.Item.URL, i)
			}
			r.must(r.Complete(t.Context(), Completion{Lease: lease, Outcome: fetched}))
		}
		r.check()
		if keys, _ := r.queueKeys(); keys != 0 {
			t.Errorf("%d keys of an empty queue", keys)
		}
	})
}

// TestBlocksInAnyOrder has the URLs of blocks leave them in any order, be tried again and come
// nearer to a seed, and compares with lists: so more blocks are open than a host's entry may have,
// and URLs with keys of their own go back.
func TestBlocksInAnyOrder(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			kv, reopen := storagetest.OpenMemory(t)
			b := blocksWorld{
				running:  startHolding(t, kv, 1, commit.Options{CacheEntries: 64}),
				rng:      rand.New(rand.NewPCG(seed, 15)),
				attempts: map[string]int{},
			}
			for range 60 {
				b.step()
				b.check()
				b.compare()
				if b.rng.IntN(15) == 0 {
					b.running = b.crash(reopen, commit.Options{CacheEntries: 64})
				}
			}
			if b.settled == 0 {
				t.Error("no host had more open blocks than it may")
			}
			for len(b.attempts) > 0 {
				b.complete(b.all(10))
			}
			b.check()
			if keys, _ := b.queueKeys(); keys != 0 {
				t.Errorf("%d keys of an empty queue", keys)
			}
		})
	}
}

type blocksWorld struct {
	*running
	rng      *rand.Rand
	attempts map[string]int // of what is queued
	next     int
	settled  int // steps after which a host had as many open blocks as it may
}

func (b *blocksWorld) step() {
	items := b.all(40)
	b.rng.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	items = items[:min(len(items), 1+b.rng.IntN(20))]
	switch b.rng.IntN(4) {
	case 0:
		n := 1 + b.rng.IntN(90)
		for i := b.next; i < b.next+n; i++ {
			b.attempts[blocksURL(i)] = 0
		}
		b.add(linksOf(crawl.Band(b.rng.IntN(2)), b.next, b.next+n)...)
		b.next += n
	case 1:
		b.complete(items)
	case 2:
		for i := range items {
			b.must(b.Complete(b.t.Context(), Completion{
				Lease:   crawl.Lease{Partition: 0, Epoch: 1, Host: blocksHost, Item: items[i]},
				RetryAt: time.Now().Add(time.Minute),
				Outcome: crawl.Outcome{Kind: crawl.URLFailed, Category: crawl.ErrTimeout, Reason: "timeout"},
			}))
			b.attempts[items[i].URL.String()]++
		}
	default:
		for i := range items {
			l := link(items[i].URL.String())
			l.Target.Depth, l.Target.Via = 0, crawl.ViaSeed
			b.add(l)
		}
	}
}

func (b *blocksWorld) complete(items []crawl.Item) {
	for i := range items {
		b.must(b.Complete(b.t.Context(), Completion{
			Lease:   crawl.Lease{Partition: 0, Epoch: 1, Host: blocksHost, Item: items[i]},
			Outcome: fetched,
		}))
		delete(b.attempts, items[i].URL.String())
		err := b.Complete(b.t.Context(), Completion{
			Lease:   crawl.Lease{Partition: 0, Epoch: 1, Host: blocksHost, Item: items[i]},
			Outcome: fetched,
		})
		if err == nil {
			b.t.Fatalf("%s was completed twice", items[i].URL)
		}
	}
}

// compare compares what is loaded, and a recount, with what should be there.
func (b *blocksWorld) compare() {
	b.t.Helper()
	items := b.all(1 + b.rng.IntN(50))
	got := map[string]int{}
	for i := range items {
		got[items[i].URL.String()] = items[i].Attempts
		if rec := b.record(items[i].URL.String()); rec.State != crawl.Queued ||
			rec.Attempts != items[i].Attempts || rec.Band != items[i].Band || rec.Seq != items[i].Seq {
			b.t.Fatalf("the record of %+v is %+v", items[i], rec)
		}
	}
	if len(items) != len(got) || !maps.Equal(got, b.attempts) {
		b.t.Fatalf("%d items of %d URLs are loaded, want %d", len(items), len(got), len(b.attempts))
	}
	if !slices.IsSortedFunc(items, func(x, y crawl.Item) int {
		return int(x.Band)<<32 + int(x.Seq) - int(y.Band)<<32 - int(y.Seq)
	}) {
		b.t.Fatal("items are not loaded in the order of their numbers")
	}
	v, err := b.w.Read(0)
	b.must(err)
	defer v.Close()
	e, err := v.Host(blocksHost)
	b.must(err)
	if e != nil && len(e.Blocks) == layout.MaxOpenBlocks {
		b.settled++
	}
	m, err := v.Recount()
	b.must(err)
	if total := b.Totals(); m.Counters.Queued != total.Queued || m.Counters.Seen != total.Seen {
		b.t.Fatalf("recounted %+v, want %+v", m.Counters, total)
	}
}
