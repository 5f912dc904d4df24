package frontier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"crawlnode/crawl"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/importance"
	"crawlnode/web/urlnorm"
)

// This file keeps importance (package importance, decision 0211). A page that is done appends itself
// with its links to the log of its partition, in its own transaction; Fold turns the log into
// accounts and credits (frontier/cash). Credits of other partitions wait in the table x until these
// have them. While no Completion has Cites nothing of it is written.

// maxCites bounds the links of a page along which it passes cash on.
const maxCites = 10_000

// CitesOf makes Completion.Cites: the page's distinct links in any order, without those to itself.
// It may change the slice.
func CitesOf(page urlnorm.URL, domain string, links []importance.Target) []byte {
	links = importance.SortTargets(links)
	return layout.EncodeCashVisit(&layout.CashVisit{URL: layout.NumberOf(page), Site: layout.SiteOf(domain), Links: links[:min(len(links), maxCites)]})
}

// CiteOf is a link as CitesOf takes it.
func CiteOf(l *crawl.Routed) importance.Target {
	return importance.Target{Partition: l.Partition, URL: layout.NumberOf(l.Target.URL)}
}

// cite appends a page that is done to the log.
func (pg part) cite(c *Completion) {
	if c.Cites != nil && verdictOf(c) == verdict(crawl.Done) {
		pg.appendLog(c.Cites)
	}
}

func (pg part) appendLog(value []byte) {
	pg.State.OutboxNext++
	pg.Set(layout.AppendCashKey(nil, layout.CashLog, pg.State.OutboxNext), value)
	pg.f.unfolded.add(pg.State.Partition, 1)
}

// unfolded counts log entries by partition, about, since they were folded.
type unfolded struct {
	mu      sync.Mutex // guards entries
	entries map[crawl.Partition]int
}

func (u *unfolded) add(p crawl.Partition, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.entries == nil {
		u.entries = map[crawl.Partition]int{}
	}
	u.entries[p] += n
}

func (u *unfolded) take(p crawl.Partition) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.entries[p]
	delete(u.entries, p)
	return n
}

// Unfolded calls f with the partitions whose log has grown since New or their last Fold, and by how
// much, about. What was in the log before is not known: whoever begins to hold a partition folds it
// once.
func (f *Frontier) Unfolded(visit func(p crawl.Partition, entries int)) {
	f.unfolded.mu.Lock()
	defer f.unfolded.mu.Unlock()
	for p, n := range f.unfolded.entries {
		visit(p, n)
	}
}

// Folded says what a fold has done.
type Folded struct {
	Entries, Settled, Posts int   // log entries, pages that passed on again, entries for other partitions
	Accounts                int64 // of the partition; with those of this fold
	More                    bool  // the log has more
}

// errFolded says that another fold was faster.
var errFolded = errors.New("the log was folded meanwhile")

// Fold folds a piece of a partition's log into its accounts. It plans in the caller's goroutine and
// asks the writer for one transaction. It fails with ErrNotHolder when the partition is not served
// here.
func (f *Frontier) Fold(ctx context.Context, p crawl.Partition) (Folded, error) {
	var d Folded
	waiting := f.unfolded.take(p)
	plan, err := f.plan(p)
	if err == nil && plan != nil {
		d = Folded{Entries: plan.Folded, Settled: plan.Settled, Posts: len(plan.Posts), More: plan.More || len(plan.Again) > 0}
		err = f.do(ctx, &commit.Request{Patient: true, Entries: plan.Entries(), Bytes: plan.Bytes(), Apply: f.in(func(g group) (err error) {
			d.Accounts, err = g.fold(plan)
			return err
		})})
	}
	if err != nil {
		f.unfolded.add(p, waiting)
		return Folded{}, fmt.Errorf("frontier: folding the credits of partition %d: %w", p, err)
	}
	if d.More {
		f.unfolded.add(p, max(waiting-d.Entries, 1))
	}
	return d, nil
}

func (f *Frontier) plan(p crawl.Partition) (*cash.Plan, error) {
	v, err := f.w.Read(p)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	return cash.New(v, f.folding)
}

// fold writes a plan.
func (g group) fold(plan *cash.Plan) (accounts int64, err error) {
	pg := g.part(plan.Generation.Partition)
	if !pg.State.Serves() || pg.Gen() != plan.Generation {
		return 0, commit.ErrNotHolder
	}
	for i := range plan.Sets {
		if e := &plan.Sets[i]; len(e.Value) == 0 {
			if _, ok := pg.Get(e.Key); !ok {
				return 0, errFolded
			}
			break // one of the log's entries stands for all
		}
	}
	totals, ok := pg.totals()
	if !ok {
		return 0, nil // the store has failed
	}
	for i := range plan.Sets {
		if e := &plan.Sets[i]; len(e.Value) == 0 {
			pg.Del(e.Key)
		} else {
			pg.Set(e.Key, e.Value)
		}
	}
	for _, post := range plan.Posts {
		pg.State.OutboxNext++
		pg.Set(layout.AppendCreditsKey(nil, layout.OutboxKey{Target: post.To, Seq: pg.State.OutboxNext}), post.Bytes)
	}
	for _, value := range plan.Again {
		pg.State.OutboxNext++
		pg.Set(layout.AppendCashKey(nil, layout.CashLog, pg.State.OutboxNext), value)
	}
	totals.Ledger.Plus(plan.Change)
	totals.Accounts += plan.Accounts
	totals.Pages += plan.Pages
	totals.Least = plan.Least
	pg.setTotals(&totals)
	return totals.Accounts, nil
}

// totals reads the sums of the partition's cash.
func (pg part) totals() (layout.CashTotalsEntry, bool) {
	b, ok := pg.Get([]byte(layout.CashTotals))
	if !ok {
		return layout.CashTotalsEntry{}, true
	}
	t, err := layout.DecodeCashTotals(b)
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w: partition %d", err, pg.State.Partition))
	}
	return t, err == nil
}

func (pg part) setTotals(t *layout.CashTotalsEntry) {
	t.Next = pg.State.OutboxNext
	pg.Set([]byte(layout.CashTotals), layout.EncodeCashTotals(t))
}

// CreditEntry is credits of pages of one partition for another, which wait in the sender's outbox.
type CreditEntry struct {
	From  crawl.Partition
	Key   layout.OutboxKey // the target, and the number
	Bytes []byte
}

// Credits lists credits that wait in partition p, behind the key after, up to n entries and about
// so many bytes; the zero key is the start. For one target they are in the order of their numbers.
func (f *Frontier) Credits(p crawl.Partition, after layout.OutboxKey, n, size int) ([]CreditEntry, error) {
	v, err := f.w.Read(p)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	it := v.Iterate([]byte{layout.TableCredits})
	defer it.Close()
	var out []CreditEntry
	after.Seq++
	for it.Seek(v.Abs(layout.AppendCreditsKey(nil, after))); it.Valid() && len(out) < n && size > 0; it.Next() {
		key, ok := layout.ParseCreditsKey(it.Key()[layout.PrefixLen:])
		if !ok {
			return nil, fmt.Errorf("%w: outbox of credits of partition %d", layout.ErrCorrupt, p)
		}
		value, err := it.Value()
		if err != nil {
			return nil, err
		}
		out = append(out, CreditEntry{From: p, Key: key, Bytes: bytes.Clone(value)})
		size -= len(value)
	}
	return out, nil
}

// ApplyCredits appends credits of other partitions to the logs of their targets, each once, however
// often it comes. It returns for each entry the number up to which the target has credits of the
// entry's partition; 0: the target is not served here. The entries of one pair of partitions are in
// the order of their numbers, and the caller passes no entry while an earlier one of its pair was not
// acknowledged. Entries that cannot be read are refused before anything is written.
func (f *Frontier) ApplyCredits(ctx context.Context, entries []CreditEntry) ([]uint64, error) {
	credits := make([][]importance.Entry, len(entries))
	for i := range entries {
		var err error
		if credits[i], err = layout.DecodeCashCredits(entries[i].Bytes); err != nil {
			return nil, fmt.Errorf("frontier: credits of partition %d for %d: %w", entries[i].From, entries[i].Key.Target, err)
		}
	}
	marks := make([]uint64, len(entries))
	err := f.change(ctx, func(g group) error {
		g.applyCredits(entries, credits, marks)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("frontier: taking %d entries of credits: %w", len(entries), err)
	}
	return marks, nil
}

func (g group) applyCredits(entries []CreditEntry, credits [][]importance.Entry, marks []uint64) {
	fresh := map[crawl.Partition][]importance.Entry{}
	var order []crawl.Partition
	for i := range entries {
		e := &entries[i]
		pg := g.part(e.Key.Target)
		if !pg.State.Serves() {
			continue
		}
		mark, ok := pg.inbox(e.From)
		if !ok {
			return
		}
		if marks[i] = max(mark, e.Key.Seq); mark >= e.Key.Seq {
			continue
		}
		pg.Set(layout.AppendInboxKey(nil, e.From), layout.EncodeMark(e.Key.Seq))
		if fresh[e.Key.Target] == nil {
			order = append(order, e.Key.Target)
		}
		fresh[e.Key.Target] = append(fresh[e.Key.Target], credits[i]...)
	}
	for _, p := range order {
		pg := g.part(p)
		totals, ok := pg.totals()
		if !ok {
			return
		}
		for i := range fresh[p] {
			for _, c := range fresh[p][i].Credits {
				totals.Ledger.Received += c.Amount
			}
		}
		pg.appendLog(layout.EncodeCashCredits(fresh[p]))
		pg.setTotals(&totals)
	}
}

// inbox is the number up to which credits of a partition were taken.
func (pg part) inbox(from crawl.Partition) (uint64, bool) {
	b, ok := pg.Get(layout.AppendInboxKey(nil, from))
	if !ok {
		return 0, true
	}
	mark, err := layout.DecodeMark(b)
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w: partition %d", err, pg.State.Partition))
	}
	return mark, err == nil
}

// AckCredits removes credits that their targets have; marks are what these have answered. Those of
// partitions that are not held here any more are left alone: the present holder sends them again.
func (f *Frontier) AckCredits(ctx context.Context, entries []CreditEntry, marks []uint64) error {
	err := f.change(ctx, func(g group) error {
		for i := range entries {
			g.ackCredits(&entries[i], marks[i])
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("frontier: acknowledging credits: %w", err)
	}
	return nil
}

func (g group) ackCredits(e *CreditEntry, mark uint64) {
	pg := g.part(e.From)
	if !pg.State.Serves() || mark < e.Key.Seq {
		return
	}
	key := layout.AppendCreditsKey(nil, e.Key)
	if _, ok := pg.Get(key); ok {
		pg.Del(key)
	}
	// The target knows of higher numbers than this partition: it has lost its end, as it may when all
	// its copies lose power. Its next credits must not have numbers that were used.
	pg.State.OutboxNext = max(pg.State.OutboxNext, mark)
}

// Standing reads what links say of a URL, as far as it was folded; ok is false when they say
// nothing.
func (f *Frontier) Standing(p crawl.Partition, u urlnorm.URL) (a importance.Account, ok bool, err error) {
	v, err := f.w.Read(p)
	if err != nil {
		return a, false, err
	}
	defer v.Close()
	return cash.Account(v, layout.NumberOf(u))
}

// Ranks reads the histogram of the importance of a partition's URLs.
func (f *Frontier) Ranks(p crawl.Partition) (*importance.Histogram, error) {
	v, err := f.w.Read(p)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	b, ok, err := v.Get([]byte(layout.CashRanks))
	if err != nil || !ok {
		return &importance.Histogram{}, err
	}
	h, err := importance.DecodeHistogram(b)
	if err != nil {
		return nil, fmt.Errorf("%w: histogram of partition %d: %w", layout.ErrCorrupt, p, err)
	}
	return h, nil
}
