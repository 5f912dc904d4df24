package frontier

import (
	"fmt"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
	"crawlnode/importance/opic"
)

// measured checks the size of each transaction, and of each log entry that a fold makes. Only the
// writer uses it.
type measured struct {
	storage.KV
	t       *testing.T
	limits  storage.Limits
	largest int
}

func (m *measured) Limits() storage.Limits { return m.limits }

func (m *measured) Write(entries []storage.Entry) error {
	size := 0
	for i := range entries {
		key, value := entries[i].Key, entries[i].Value
		size += len(key) + len(value)
		if len(key) < layout.PrefixLen {
			continue
		}
		if _, ok := layout.ParseCashKey(key[layout.PrefixLen:], layout.CashLog); !ok ||
			len(value) <= 64<<10 {
			continue
		}
		if e, err := layout.DecodeCashLog(value); err != nil || e.Visit == nil {
			m.t.Errorf("a log entry of %d bytes is no visit: %v", len(value), err)
		}
	}
	m.largest = max(m.largest, size)
	if size > m.limits.Bytes || len(entries) > m.limits.Entries {
		m.t.Errorf("a transaction of %d bytes and %d entries, of %+v", size, len(entries), m.limits)
	}
	return m.KV.Write(entries)
}

// foldAll folds a partition until its log is empty.
func (r *running) foldAll(p crawl.Partition) (settled int) {
	r.t.Helper()
	for range 2_000 {
		d, err := r.Fold(r.t.Context(), p)
		r.must(err)
		if settled += d.Settled; d.Entries == 0 {
			return settled
		}
	}
	r.t.Fatal("the log does not become empty")
	return 0
}

// A site whose pages all have as many links as count is folded in transactions that a small store
// takes: when they are fetched, when all have to settle at once, and when all lose their links.
func TestFoldsOfPagesWithManyLinks(t *testing.T) {
	t.Parallel()
	pages, links := 30, 10_000
	if testing.Short() {
		pages, links = 8, 5_000 // still more than a transaction takes
	}
	kv, _ := storagetest.OpenBadger(t) // half of what the smallest node has
	m := &measured{KV: kv, t: t, limits: kv.Limits()}
	r := startHolding(t, m, 1, commit.Options{})
	r.Limits.Least = 1 << 10
	targets := make([]opic.Target, links)
	for i := range targets {
		targets[i].URL = opic.URLOf(1<<40, uint64(i+1)<<24)
	}
	visit := func(l crawl.Routed, again bool, targets []opic.Target) {
		t.Helper()
		l.Target.Again = again
		r.add(l)
		it := r.record(l.Target.URL.String()).Item
		r.must(r.Complete(t.Context(), Completion{
			Lease:   crawl.Lease{Partition: 0, Epoch: 1, Host: layout.HostOf(it.URL), Item: it},
			Outcome: fetched, Cites: cash.CitesOf(l.Target.URL, "p0.test", targets),
		}))
	}
	conserved := func(in int) {
		t.Helper()
		r.must(cashInvariants(r.Frontier, 1))
		c, err := countCash(r.Frontier, 0)
		r.must(err)
		for i := range targets {
			if a := c.in[targets[i].URL]; a.In != in {
				t.Fatalf("URL %d has %d links, want %d", i, a.In, in)
			}
		}
	}
	var all []crawl.Routed
	var menu []opic.Target
	for i := range pages {
		all = append(all, link(fmt.Sprintf("http://h1.p0.test/%d", i)))
		menu = append(menu, cash.CiteOf(&all[i]))
		visit(all[i], false, append([]opic.Target(nil), targets...))
	}
	r.foldAll(0)
	conserved(pages)
	visit(link("http://h1.p0.test/menu"), false, menu)
	if n := r.foldAll(0); n == 0 {
		t.Error("no page has settled")
	}
	conserved(pages)
	for _, l := range all {
		visit(l, true, nil)
	}
	r.foldAll(0)
	conserved(0)
	if m.largest < 64<<10 {
		t.Errorf("the largest transaction has %d bytes", m.largest)
	}
}

// Links that lead to a partition each cost an entry each: the fold is cut when that is seen.
func TestFoldsOfManyPartitions(t *testing.T) {
	t.Parallel()
	const pages, links = 12, 1_000
	m := &measured{
		KV:     storage.NewMemory(),
		t:      t,
		limits: storage.Limits{Entries: 3_000, Bytes: 1 << 20},
	}
	r := startHolding(t, m, 1, commit.Options{})
	for i := range pages {
		var targets []opic.Target
		for k := range links {
			targets = append(targets, opic.Target{Partition: crawl.Partition(1 + i*links + k), URL: 1})
		}
		l := link(fmt.Sprintf("http://h1.p0.test/%d", i))
		r.add(l)
		r.must(r.Complete(t.Context(), Completion{
			Lease:   r.lease(0, "h1.p0.test"),
			Outcome: fetched,
			Cites:   cash.CitesOf(l.Target.URL, "p0.test", targets),
		}))
	}
	r.foldAll(0)
	c, err := countCash(r.Frontier, 0)
	r.must(err)
	sent := opic.Cash(0)
	for _, e := range c.outbox {
		entries, err := layout.DecodeCashCredits(e.Bytes)
		r.must(err)
		sent += sumOf(entries)
	}
	if len(c.outbox) != pages*links || sent != c.totals.Ledger.Sent || sent == 0 ||
		c.totals.Ledger.Held() != c.pending {
		t.Errorf("%d entries with %d wait, accounts have %d: %+v", len(c.outbox), sent, c.pending,
			c.totals.Ledger)
	}
}

// A page that is fetched again with the same links passes on, in the fold of that visit, what came
// for it meanwhile.
func TestAnEqualRevisitSettles(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	page := link("http://h1.p0.test/")
	visit := func() {
		t.Helper()
		r.add(page)
		page.Target.Again = true
		it := r.record(page.Target.URL.String()).Item
		r.must(r.Complete(t.Context(), Completion{
			Lease:   crawl.Lease{Partition: 0, Epoch: 1, Host: layout.HostOf(it.URL), Item: it},
			Outcome: fetched, Cites: cash.CitesOf(page.Target.URL, "p0.test", []opic.Target{{URL: 1}}),
		}))
	}
	visit()
	r.foldAll(0)
	credit := []opic.Entry{{Credits: []opic.Credit{{URL: cash.CiteOf(&page).URL, Amount: opic.Unit}}}}
	_, err := r.ApplyCredits(t.Context(),
		[]cash.CreditEntry{{From: 1, Key: OutboxKey{Seq: 1}, Bytes: layout.EncodeCashCredits(credit)}})
	r.must(err)
	visit()
	d, err := r.Fold(t.Context(), 0)
	r.must(err)
	a, _, err := r.Account(0, page.Target.URL)
	r.must(err)
	if d.Entries != 2 || d.Settled != 1 || a.Pending != 0 || a.Settled != 2*opic.Unit {
		t.Errorf("%+v, %+v", d, a)
	}
}
