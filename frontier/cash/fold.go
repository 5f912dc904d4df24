package cash

import (
	"context"
	"errors"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/order"
	"crawlnode/importance/opic"
)

// Folded says what a fold has done.
type Folded struct {
	// log entries, pages that passed on again, entries for other partitions
	Entries, Settled, Posts int
	Accounts                int64 // of the partition; with those of this fold
	// the log has more, beside what the fold itself has put into it
	More  bool
	Rises []order.Rise // URLs that may be queued, of which links say more than before
}

// errFolded says that another fold was faster.
var errFolded = fmt.Errorf("%w as it was: the log was folded meanwhile", commit.ErrNotHolder)

// Fold folds a piece of a partition's log into its accounts. It fails with ErrNotHolder when the
// partition is not served here.
func (k *Accounts) Fold(ctx context.Context, p crawl.Partition) (Folded, error) {
	d, errs, err := k.FoldAll(ctx, []crawl.Partition{p}, false)
	if err = errors.Join(err, errs[0]); err != nil {
		return Folded{}, err
	}
	return d[0], nil
}

// FoldAll folds a piece of the log of each of the partitions into its accounts. It plans in the
// caller's goroutine and asks the writer for as few transactions as hold the plans. errs has
// ErrNotHolder for each partition that is not served here; err ends it.
//
// alone says that no other node may ever be asked for what is written now but from a later copy:
// this node is the only member. Then credits of a partition for another one that is here are put
// into that one's log at once, in the same transaction, unless somebody copies either. Else they
// wait in an outbox: a replica that has one half of the transaction and not the other would lose
// credits or give them twice. Most of what folds cost is small entries of outboxes, so one log
// entry for all plans of a transaction is worth it.
func (k *Accounts) FoldAll(
	ctx context.Context,
	ps []crawl.Partition,
	alone bool,
) (done []Folded, errs []error, err error) {
	done, errs = make([]Folded, len(ps)), make([]error, len(ps))
	b := batch{keeper: k, by: k.Order(), alone: alone}
	defer b.giveUp()
	for i, p := range ps {
		f := &planned{p: p, waiting: k.unfolded.take(p), done: &done[i], err: &errs[i]}
		f.Plan, err = k.plan(p, b.by)
		switch {
		case errors.Is(err, commit.ErrNotHolder):
			k.unfolded.add(p, f.waiting)
			errs[i] = foldFailed(p, err)
			continue
		case err != nil:
			k.unfolded.add(p, f.waiting)
			return done, errs, foldFailed(p, err)
		case f.Plan == nil:
			continue // the log is empty
		}
		if err := b.add(ctx, f); err != nil {
			return done, errs, err
		}
	}
	return done, errs, b.write(ctx)
}

func foldFailed(p crawl.Partition, err error) error {
	return fmt.Errorf("frontier: folding the credits of partition %d: %w", p, err)
}

func (k *Accounts) plan(p crawl.Partition, by *order.Policy) (*Plan, error) {
	v, err := k.w.Read(p)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	return Within(v, k.Limits, k.w.KV.Limits(), by)
}

// planned is a fold that waits for its transaction.
type planned struct {
	*Plan
	p       crawl.Partition
	waiting int // log entries that were not folded before, about
	done    *Folded
	err     *error
}

// batch is folds that go into one transaction. Its owner is the goroutine that plans.
type batch struct {
	keeper         *Accounts
	by             *order.Policy
	alone          bool
	folds          []*planned
	entries, bytes int
}

// A batch is written when it may have so much; most have a third of it. It holds up the writer for
// some milliseconds.
const (
	batchEntries = 32_000
	batchBytes   = 4 << 20
)

// add takes a fold up, and writes what was taken up before where both are too much.
func (b *batch) add(ctx context.Context, f *planned) error {
	entries, bytes := f.Entries(), f.Bytes()
	limits := b.keeper.w.KV.Limits()
	if len(b.folds) > 0 && (b.entries+entries > min(batchEntries, limits.Entries/2) ||
		b.bytes+bytes > min(batchBytes, limits.Bytes/2)) {
		if err := b.write(ctx); err != nil {
			b.folds = append(b.folds, f) // to be given up
			return err
		}
	}
	b.folds, b.entries, b.bytes = append(b.folds, f), b.entries+entries, b.bytes+bytes
	return nil
}

// write writes what was taken up.
func (b *batch) write(ctx context.Context) error {
	if len(b.folds) == 0 {
		return nil
	}
	k := b.keeper
	err := k.w.Do(ctx, &commit.Request{
		Patient: true,
		Entries: b.entries,
		Bytes:   b.bytes,
		Apply: func(g *commit.Group) error {
			b.apply(g)
			return nil
		},
	})
	if err != nil {
		return fmt.Errorf("frontier: folding the credits of %d partitions: %w", len(b.folds), err)
	}
	for _, f := range b.folds {
		b.settle(f)
	}
	b.folds, b.entries, b.bytes = b.folds[:0], 0, 0
	return nil
}

// settle notes what a fold has done.
func (b *batch) settle(f *planned) {
	k, d := b.keeper, f.done
	if *f.err != nil {
		k.unfolded.add(f.p, f.waiting)
		*d, *f.err = Folded{}, foldFailed(f.p, *f.err)
		return
	}
	d.Entries, d.Settled, d.Posts, d.More = f.Folded, f.Settled, f.posted, f.More
	if b.by != nil {
		d.Rises = f.Rises
		b.by.Scores.Linked(b.by.Typical, f.Scores)
	}
	if d.More || len(f.Again) > 0 {
		k.unfolded.add(f.p, max(f.waiting-d.Entries, 1))
	}
}

// giveUp leaves the logs of folds that were not written as they are.
func (b *batch) giveUp() {
	for _, f := range b.folds {
		b.keeper.unfolded.add(f.p, f.waiting)
	}
}

// apply writes the plans.
func (b *batch) apply(g *commit.Group) {
	var here received
	for _, f := range b.folds {
		f.done.Accounts, *f.err = b.fold(g, f.Plan, &here)
	}
	b.keeper.receive(g, &here, 0) // else the folds of a round would call for others
}

// fold writes a plan. Credits that go into another log at once are added to here.
func (b *batch) fold(g *commit.Group, plan *Plan, here *received) (accounts int64, err error) {
	pg := g.Part(plan.Generation.Partition)
	if !pg.State.Serves() || pg.Gen() != plan.Generation {
		return 0, commit.ErrNotHolder
	}
	totals, ok := totalsOf(pg)
	if !ok {
		return 0, nil // the store has failed
	}
	if totals.Folds != plan.Folds {
		return 0, errFolded
	}
	for i := range plan.Sets {
		if e := &plan.Sets[i]; len(e.Value) == 0 {
			pg.Del(e.Key)
		} else {
			pg.Set(e.Key, e.Value)
		}
	}
	b.post(g, pg, plan, here)
	for _, value := range plan.Again {
		pg.State.OutboxNext++
		pg.Set(layout.AppendCashKey(nil, layout.CashLog, pg.State.OutboxNext), value)
	}
	totals.Ledger.Plus(plan.Change)
	totals.Accounts += plan.Accounts
	totals.Pages += plan.Pages
	totals.Least = plan.Least
	totals.Folds, totals.Folded = totals.Folds+1, plan.Upto
	setTotals(pg, &totals)
	return totals.Accounts, nil
}

// post puts the credits of a plan for other partitions where they are taken up.
func (b *batch) post(g *commit.Group, pg *commit.Part, plan *Plan, here *received) {
	plan.posted = 0
	direct := b.alone && single(pg)
	for i := range plan.Posts {
		post := &plan.Posts[i]
		if direct && single(g.Part(post.To)) {
			here.add(post.To, post.Credits)
			continue
		}
		plan.posted++
		pg.State.OutboxNext++
		pg.Set(layout.AppendCreditsKey(nil, layout.OutboxKey{Target: post.To, Seq: pg.State.OutboxNext}),
			layout.EncodeCashCredits(post.Credits))
	}
}

// single reports whether this node serves a partition and nobody follows it.
func single(pg *commit.Part) bool { return pg.State.Serves() && len(pg.Live.Sinks) == 0 }

// received are credits for partitions that are held here.
type received struct {
	to []crawl.Partition // in the order of their first credits
	by map[crawl.Partition][]opic.Entry
}

func (r *received) add(to crawl.Partition, credits []opic.Entry) {
	if r.by == nil {
		r.by = map[crawl.Partition][]opic.Entry{}
	}
	before, known := r.by[to]
	if !known {
		r.to = append(r.to, to)
	}
	r.by[to] = append(before, credits...)
}

// receive puts credits into the logs of their partitions, by entries that count for so many.
func (k *Accounts) receive(g *commit.Group, r *received, counts int) {
	for _, p := range r.to {
		pg := g.Part(p)
		totals, ok := totalsOf(pg)
		if !ok {
			return // the store has failed
		}
		for i := range r.by[p] {
			for _, c := range r.by[p][i].Credits {
				totals.Ledger.Received += c.Amount
			}
		}
		for _, value := range cutCredits(r.by[p]) {
			k.appendLog(pg, value, counts)
		}
		setTotals(pg, &totals)
	}
}
