package frontier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
	"crawlnode/importance/opic"
)

// cashWorld is a small web whose pages are done, folded, and done again, on one node with three
// partitions, whose credits for each other are lost and repeated.
type cashWorld struct {
	t       *testing.T
	rng     *rand.Rand
	r       *running
	reopen  func() storage.KV
	limits  cash.Limits
	pages   []crawl.Routed
	links   [][]int // of the pages, as they were at the last visit
	visited []bool
	known   map[string]bool
	sent    [][]cash.CreditEntry // that may arrive again
	epoch   map[crawl.Partition]crawl.Epoch
}

func newCashWorld(
	t *testing.T,
	rng *rand.Rand,
	pages int,
	limits cash.Limits,
	kv storage.KV,
	reopen func() storage.KV,
) *cashWorld {
	w := &cashWorld{
		t:       t,
		rng:     rng,
		r:       startHolding(t, kv, 3, commit.Options{}),
		reopen:  reopen,
		limits:  limits,
		links:   make([][]int, pages),
		visited: make([]bool, pages),
		known:   map[string]bool{},
		epoch:   map[crawl.Partition]crawl.Epoch{0: 1, 1: 1, 2: 1},
	}
	w.r.Limits = limits
	for i := range pages {
		w.pages = append(w.pages, link(fmt.Sprintf("http://h%d.p%d.test/%d", i%5, rng.IntN(3), i)))
	}
	return w
}

// cites makes what the links of a page are to importance.
func (w *cashWorld) cites(page int) []byte {
	var targets []opic.Target
	for _, i := range w.links[page] {
		targets = append(targets, cash.CiteOf(&w.pages[i]))
	}
	return cash.CitesOf(w.pages[page].Target.URL, layoutHost(&w.pages[page]), targets)
}

func layoutHost(l *crawl.Routed) string { return l.Target.URL.Host() }

// visit completes a page, for the first time or again, sometimes with other links.
func (w *cashWorld) visit(page int) {
	w.t.Helper()
	l := w.pages[page]
	if !w.visited[page] || w.rng.IntN(3) == 0 {
		w.links[page] = nil
		for range w.rng.IntN(12) {
			if to := w.rng.IntN(1 + w.rng.IntN(len(w.pages))); to != page {
				w.links[page] = append(w.links[page], to)
			}
		}
	}
	l.Target.Again = w.known[l.Target.URL.String()]
	w.known[l.Target.URL.String()] = true
	if got := w.r.add(l)[0]; got != Added {
		w.t.Fatalf("%s is %v", l.Target.URL, got)
	}
	it := w.r.record(l.Target.URL.String()).Item
	w.r.must(w.r.Complete(w.t.Context(), Completion{
		Lease: crawl.Lease{
			Partition: l.Partition,
			Epoch:     w.epoch[l.Partition],
			Host:      layout.HostOf(it.URL),
			Item:      it,
		},
		Outcome: fetched,
		Cites:   w.cites(page),
	}))
	w.visited[page] = true
}

// carry sends what waits in one partition's outbox; the answer may be lost.
func (w *cashWorld) carry(p crawl.Partition, n int, faulty bool) {
	w.t.Helper()
	entries, err := w.r.Credits(p, layout.OutboxKey{}, n, 1<<20)
	w.r.must(err)
	if len(entries) == 0 {
		return
	}
	w.sent = append(w.sent, entries)
	marks, err := w.r.ApplyCredits(w.t.Context(), entries)
	w.r.must(err)
	for i := range marks {
		if marks[i] < entries[i].Key.Seq {
			w.t.Fatalf("entry %d was answered with %d", entries[i].Key.Seq, marks[i])
		}
	}
	if faulty && w.rng.IntN(3) == 0 {
		return // the answer is lost
	}
	w.r.must(w.r.AckCredits(w.t.Context(), entries, marks))
}

func (w *cashWorld) step() {
	w.t.Helper()
	p := crawl.Partition(w.rng.IntN(3))
	switch k := w.rng.IntN(100); {
	case k < 50:
		w.visit(w.rng.IntN(len(w.pages)))
	case k < 65:
		_, err := w.r.Fold(w.t.Context(), p)
		w.r.must(err)
	case k < 70: // credits for the others go into their logs at once
		_, errs, err := w.r.FoldAll(w.t.Context(), []crawl.Partition{0, 1, 3, 2, p}, true)
		w.r.must(err)
		for i, err := range errs { // nobody has the fourth, and the last one comes too late
			if errors.Is(err, commit.ErrNotHolder) != (i == 2) && i < 4 {
				w.t.Fatalf("fold %d: %v", i, err)
			}
		}
	case k < 85:
		w.carry(p, 1+w.rng.IntN(20), true)
	case k < 92: // a late repeat
		if len(w.sent) > 0 {
			_, err := w.r.ApplyCredits(w.t.Context(), w.sent[w.rng.IntN(len(w.sent))])
			w.r.must(err)
		}
	case k < 95:
		w.move(p)
	case k < 96:
		w.older(p)
	case k < 98:
		w.r = w.r.crash(w.reopen, commit.Options{})
		w.r.Limits = w.limits
	default:
		w.conserved()
	}
}

// move exports a partition and imports it in a higher epoch.
func (w *cashWorld) move(p crawl.Partition) {
	w.t.Helper()
	m := &model{t: w.t, rng: w.rng, r: w.r, current: w.epoch}
	for range 20 { // it draws the partition
		before := w.epoch[p]
		if m.moveOntoItself(); w.epoch[p] != before {
			return
		}
	}
}

// cashCount is what the keys of a partition say of its cash.
type cashCount struct {
	pending, logged opic.Cash
	accounts, pages int64
	ranks, said     opic.Histogram
	totals          layout.CashTotalsEntry
	inbox           map[crawl.Partition]uint64
	outbox          []cash.CreditEntry
	log             int
	in              map[opic.URL]opic.Account
	links           map[opic.URL]int
}

func countCash(f *Frontier, p crawl.Partition) (c cashCount, err error) {
	c.inbox, c.in, c.links = map[crawl.Partition]uint64{}, map[opic.URL]opic.Account{},
		map[opic.URL]int{}
	v, err := f.w.Read(p)
	if err != nil {
		return c, err
	}
	defer v.Close()
	if c.totals, err = cash.Totals(v); err != nil {
		return c, err
	}
	it := v.Iterate([]byte{layout.TableCash})
	var last opic.URL
	for it.Seek(v.Abs([]byte{layout.TableCash})); it.Valid(); it.Next() {
		rel := slices.Clone(it.Key()[layout.PrefixLen:])
		value, err := it.Value()
		if err != nil {
			return c, err
		}
		switch rel[1] {
		case layout.CashAccounts:
			bound, _ := layout.ParseCashKey(rel, layout.CashAccounts)
			block := opic.Block{Bytes: value}
			err = block.Accounts(func(u opic.URL, a opic.Account) {
				if c.accounts > 0 && u <= last || uint64(u) > bound {
					err = fmt.Errorf("account %x stands behind %x in the block up to %x", u, last, bound)
				}
				last = u
				c.accounts++
				c.pending += a.Pending
				if a.Fetched {
					c.pages++
				}
				c.ranks.Add(a.Total(), 1)
				c.in[u] = a
			})
		case layout.CashLog:
			number, _ := layout.ParseCashKey(rel, layout.CashLog)
			var e layout.CashLogEntry
			e, err = layout.DecodeCashLog(value)
			if v := e.Visit; v != nil && c.in[v.URL].At == number {
				c.links[v.URL] = len(v.Links)
				break
			}
			if c.log++; number <= c.totals.Folded {
				err = errors.Join(err, fmt.Errorf("entry %d of the log stays behind", number))
			}
			c.logged += sumOf(e.Credits)
			for _, d := range e.Deltas {
				c.logged += d.Amount
			}
		case layout.CashInbox:
			c.inbox[crawl.Partition(rel[2])<<8|crawl.Partition(rel[3])], err = layout.DecodeMark(value)
		case layout.CashLinks:
			var links []opic.Target
			_, links, err = layout.DecodeCashLinks(nil, value)
			if number, _ := layout.ParseCashKey(rel, layout.CashLinks); c.in[opic.URL(number)].At == 0 {
				c.links[opic.URL(number)] = len(links)
			} else if len(links) > 0 {
				err = errors.Join(err, fmt.Errorf("links of %x in two places", number))
			}
		case layout.CashRanks[1]:
			var h *opic.Histogram
			if h, err = opic.DecodeHistogram(value); err == nil {
				c.said = *h
			}
		}
		if err != nil {
			return c, err
		}
	}
	it.Close()
	for u, a := range c.in {
		if n := c.links[u]; n != a.Links {
			return c, fmt.Errorf("%x has %d links, of which %d are stored", u, a.Links, n)
		}
	}
	c.outbox, err = f.Credits(p, layout.OutboxKey{}, 1<<20, 1<<30)
	return c, err
}

func sumOf(entries []opic.Entry) (sum opic.Cash) {
	for i := range entries {
		for _, c := range entries[i].Credits {
			sum += c.Amount
		}
	}
	return sum
}

// cashInvariants checks that the cash of all partitions is conserved.
func cashInvariants(f *Frontier, partitions int) error {
	counts := make([]cashCount, partitions)
	var ledger opic.Ledger
	var waiting opic.Cash
	for p := range counts {
		var err error
		if counts[p], err = countCash(f, crawl.Partition(p)); err != nil {
			return err
		}
	}
	for p := range counts {
		c := &counts[p]
		ledger.Plus(c.totals.Ledger)
		if held := c.totals.Ledger.Held(); held != c.pending+c.logged {
			return fmt.Errorf("partition %d: accounts have %d, the log %d, the ledger says %d: %+v", p,
				c.pending, c.logged, held, c.totals.Ledger)
		}
		if c.said != c.ranks || c.accounts != c.totals.Accounts || c.pages != c.totals.Pages {
			return fmt.Errorf(
				"partition %d: %d accounts of which %d pages; its sums are %+v, histogram equal: %v",
				p, c.accounts, c.pages, c.totals, c.said == c.ranks)
		}
		for _, e := range c.outbox {
			if counts[e.Key.Target].inbox[e.From] >= e.Key.Seq {
				continue // it was taken, and not acknowledged yet
			}
			entries, err := layout.DecodeCashCredits(e.Bytes)
			if err != nil {
				return err
			}
			waiting += sumOf(entries)
		}
	}
	if ledger.Sent != ledger.Received+waiting {
		return fmt.Errorf("%d was sent, %d received, %d waits", ledger.Sent, ledger.Received, waiting)
	}
	return nil
}

func (w *cashWorld) conserved() {
	w.t.Helper()
	w.r.check()
	w.r.must(cashInvariants(w.r.Frontier, 3))
}

// rest folds and carries until nothing is left to do.
func (w *cashWorld) rest() {
	w.t.Helper()
	for range 2_000 {
		quiet := true
		for p := range crawl.Partition(3) {
			d, err := w.r.Fold(w.t.Context(), p)
			w.r.must(err)
			w.carry(p, 1_000, false)
			quiet = quiet && d.Entries == 0 && d.Posts == 0
		}
		if quiet {
			return
		}
	}
	w.t.Fatal("it does not come to rest")
}

// compare holds the accounts against the solution of the linear system.
func (w *cashWorld) compare() {
	w.t.Helper()
	x, in := make([]float64, len(w.pages)), make([]int, len(w.pages))
	links := make([][]int, len(w.pages))
	for i := range links {
		links[i] = slices.Clone(w.links[i])
		slices.Sort(links[i])
		links[i] = slices.Compact(links[i])
		for _, l := range links[i] {
			in[l]++
		}
	}
	for range 200 {
		next := make([]float64, len(x))
		for i := range links {
			if w.visited[i] {
				next[i]++
			}
			for _, l := range links[i] {
				next[l] += 0.85 * x[i] / float64(len(links[i]))
			}
		}
		x = next
	}
	for i := range w.pages {
		a, ok, err := w.r.Account(w.pages[i].Partition, w.pages[i].Target.URL)
		w.r.must(err)
		got := float64(a.Total()) / float64(opic.Unit)
		// A URL that lost all links to it stays known.
		if !ok && x[i] > 0 || a.In != in[i] || a.Fetched != w.visited[i] ||
			a.Fetched && a.Links != len(links[i]) {
			w.t.Errorf("%s: %+v, known %v, want %d links to it, %d on it", w.pages[i].Target.URL, a, ok,
				in[i], len(links[i]))
		}
		// Less than 1/256 of what a page has passed on is not worth another write; that adds up along the
		// links.
		if d := got - x[i]; d > 0.03*x[i]+1e-3 || d < -0.03*x[i]-1e-3 {
			w.t.Errorf("%s has %v, want %v", w.pages[i].Target.URL, got, x[i])
		}
	}
}

// tightFolds make folds that end in the middle of the log, of visits and of credits.
var tightFolds = cash.Limits{Entries: 9, LogBytes: 600, DirtyBytes: 200, Links: 100, Least: 1 << 8}

// The cash is conserved exactly, through losses, repeats, crashes and moves, and at rest every
// account has what the links give it.
func TestCashIsConserved(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 11))
			limits, pages := tightFolds, 60
			if seed%3 == 1 {
				limits, pages = cash.DefaultLimits, 700 // blocks are divided
				limits.Least = 1 << 10
			}
			kv, reopen := storagetest.OpenMemory(t)
			w := newCashWorld(t, rng, pages, limits, kv, reopen)
			for range 600 + pages {
				w.step()
			}
			w.conserved()
			w.rest()
			w.conserved()
			w.compare()
		})
	}
}

// cashStory is a run over all that writes cash.
func cashStory(ctx context.Context, f *Frontier) error {
	if err := f.Found(ctx, []crawl.Partition{0, 1}, 1); err != nil {
		return err
	}
	var pages []crawl.Routed
	for i := range 6 {
		pages = append(pages, link(fmt.Sprintf("http://h%d.p%d.test/%d", i%2, i%2, i)))
	}
	for round := range 3 {
		for i := range pages {
			pages[i].Target.Again = round > 0
		}
		if _, err := f.Add(ctx, pages); err != nil {
			return err
		}
		for i := range pages {
			rec, _, err := f.Record(pages[i].Partition, pages[i].Target.URL)
			if err != nil {
				return err
			}
			targets := []opic.Target{cash.CiteOf(&pages[(i+1+round)%6]), cash.CiteOf(&pages[(i+3)%6])}
			c := Completion{Lease: crawl.Lease{
				Partition: pages[i].Partition,
				Epoch:     1,
				Host:      layout.HostOf(rec.URL),
				Item:      rec.Item,
			}, Outcome: fetched,
				Cites: cash.CitesOf(rec.URL, rec.URL.Host(), targets)}
			if err := f.Complete(ctx, c); err != nil {
				return err
			}
		}
		if round == 2 {
			if _, _, err := f.FoldAll(ctx, []crawl.Partition{0, 1}, true); err != nil {
				return err
			}
		}
		for p := range crawl.Partition(2) {
			if _, err := f.Fold(ctx, p); err != nil {
				return err
			}
			entries, err := f.Credits(p, layout.OutboxKey{}, 100, 1<<20)
			if err != nil {
				return err
			}
			marks, err := f.ApplyCredits(ctx, entries)
			if err != nil {
				return err
			}
			if err := f.AckCredits(ctx, entries, marks); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestCashSurvivesACrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	for _, s := range storagetest.Stores {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			for at, ended := 0, false; !ended; at += 3*crashStep(s.Name) - 2 {
				for _, applied := range []bool{false, true} {
					if s.Name != "memory" && applied == (at%2 == 0) {
						continue // the disk store costs more, and takes turns
					}
					kv, reopen := s.Open(t)
					if err := kv.Write([]storage.Entry{
						{Key: layout.NodeKey(layout.NodeVersion), Value: []byte{layout.FormatVersion}}}); err != nil {
						t.Fatal(err)
					}
					f := start(t, &storagetest.Faulty{KV: kv, Left: at, Applied: applied}, commit.Options{})
					f.Limits.Entries = 2
					err := cashStory(t.Context(), f.Frontier)
					if runErr := f.stop(); err != nil && !errors.Is(runErr, storagetest.ErrInjected) {
						t.Fatalf("write %d: the story ended with %v, Run with %v", at, err, runErr)
					}
					next := start(t, reopen(), commit.Options{})
					if len(next.Metas()) == 2 {
						next.must(invariants(next.Frontier))
						if err := cashInvariants(next.Frontier, 2); err != nil {
							t.Fatalf("crash at write %d, applied %v: %v", at, applied, err)
						}
					}
					_ = next.stop()
					_ = next.w.KV.Close()
					ended = err == nil
				}
			}
		})
	}
}

// Without Cites nothing of importance is written.
func TestImportanceOffWritesNothing(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	r.add(link("http://h1.p0.test/"))
	r.must(r.Complete(t.Context(), Completion{
		Lease:   r.lease(0, "h1.p0.test"),
		Outcome: fetched,
		Own:     []crawl.Routed{link("http://h1.p0.test/2")},
	}))
	d, err := r.Fold(t.Context(), 0)
	r.must(err)
	if d.Entries+d.Settled+d.Posts+int(d.Accounts) > 0 || d.More || d.Rises != nil {
		t.Errorf("folded: %+v", d)
	}
	v, err := r.w.Read(0)
	r.must(err)
	defer v.Close()
	for _, table := range []byte{layout.TableCash, layout.TableCredits} {
		r.must(v.Each(t.Context(), table,
			func(it storage.Iterator) error { return fmt.Errorf("key %q", it.Key()) }))
	}
}

// A partition that is not held takes no credits and folds nothing; a plan of before a move is
// refused.
func TestCreditsOfAForeignPartition(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	e := cash.CreditEntry{From: 0, Key: OutboxKey{Target: 5, Seq: 1}, Bytes: layout.EncodeCashCredits(
		[]opic.Entry{{Credits: []opic.Credit{{URL: 1, Amount: 1, Links: 1}}}})}
	marks, err := r.ApplyCredits(t.Context(), []cash.CreditEntry{e})
	r.must(err)
	if marks[0] != 0 {
		t.Errorf("a partition that is not here has taken credits up to %d", marks[0])
	}
	if _, err := r.Fold(t.Context(), 5); !errors.Is(err, commit.ErrNotHolder) {
		t.Errorf("folding a foreign partition: %v", err)
	}
	e.Key.Target, e.Bytes = 0, []byte{1, 2, 9}
	e.From = 3
	if marks, err = r.ApplyCredits(t.Context(), []cash.CreditEntry{e}); err != nil || marks[0] != 1 {
		t.Errorf("damaged credits: %v, %v", marks, err)
	}
	e.Key.Seq, e.Bytes = 2, layout.EncodeCashVisit(&layout.CashVisit{URL: 1})
	if marks, err = r.ApplyCredits(t.Context(), []cash.CreditEntry{e}); err != nil || marks[0] != 2 {
		t.Errorf("a visit from another partition: %v, %v", marks, err)
	}
	if c, err := countCash(r.Frontier, 0); err != nil || c.totals.Ledger != (opic.Ledger{}) {
		t.Errorf("what cannot be read has brought %+v, %v", c.totals.Ledger, err)
	}
	e.From, e.Key.Seq = 0, 1
	r.badEntries()
	r.must(r.Freeze(t.Context(), 0))
	e.Bytes = layout.EncodeCashCredits([]opic.Entry{{Credits: []opic.Credit{{URL: 1, Amount: 1}}}})
	if marks, err = r.ApplyCredits(t.Context(), []cash.CreditEntry{e}); err != nil || marks[0] != 0 {
		t.Errorf("a frozen partition has taken credits: %v, %v", marks, err)
	}
}

// badEntries checks that what cannot be read holds up nothing, and that an entry without credits
// does not count the others twice.
func (r *running) badEntries() {
	r.t.Helper()
	one := layout.EncodeCashCredits(
		[]opic.Entry{{Credits: []opic.Credit{{URL: 1, Amount: 1, Links: 1}}}})
	entry := func(from crawl.Partition, seq uint64, value []byte) cash.CreditEntry {
		return cash.CreditEntry{From: from, Key: OutboxKey{Target: 0, Seq: seq}, Bytes: value}
	}
	marks, err := r.ApplyCredits(r.t.Context(), []cash.CreditEntry{
		entry(8, 1, layout.EncodeCashCredits(nil)), entry(8, 2, one), entry(9, 3, []byte{1, 2, 9}),
		entry(9, 4, one), entry(7, 5, one), entry(9, 3, one),
	})
	r.must(err)
	if want := []uint64{1, 2, 3, 4, 5, 4}; !slices.Equal(marks, want) {
		r.t.Errorf("marks %v, want %v", marks, want)
	}
	c, err := countCash(r.Frontier, 0)
	r.must(err)
	if c.logged != 3 || c.totals.Ledger.Received != 3 || c.inbox[9] != 4 {
		r.t.Errorf("the log has %d, received were %d", c.logged, c.totals.Ledger.Received)
	}
}
