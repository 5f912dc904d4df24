package cash

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/order"
	"crawlnode/importance"
	"crawlnode/web/urlnorm"
)

// maxCites bounds the links of a page along which it passes cash on.
const maxCites = 10_000

// CitesOf makes what Cite takes: the page's distinct links in any order, without those to itself.
// It may change the slice.
func CitesOf(page urlnorm.URL, domain string, links []importance.Target) []byte {
	links = importance.SortTargets(links)
	return layout.EncodeCashVisit(&layout.CashVisit{URL: layout.NumberOf(page), Site: layout.SiteOf(domain), Links: links[:min(len(links), maxCites)]})
}

// CiteOf is a link as CitesOf takes it.
func CiteOf(l *crawl.Routed) importance.Target {
	return importance.Target{Partition: l.Partition, URL: layout.NumberOf(l.Target.URL)}
}

// Keeper keeps the cash of the partitions of one writer. Its methods may be called from many
// goroutines.
type Keeper struct {
	w        *commit.Writer
	Limits   Limits // of folds; set before the first one
	unfolded unfolded
	order    atomic.Pointer[order.Policy]
}

// NewKeeper makes a Keeper.
func NewKeeper(w *commit.Writer) *Keeper { return &Keeper{w: w, Limits: DefaultLimits} }

// SetOrder has queued URLs ordered by their scores from now on; nil: as their finders ask. What is queued stays where
// it is, until links say more of it.
func (k *Keeper) SetOrder(p *order.Policy) { k.order.Store(p) }

// Order is what SetOrder was given last.
func (k *Keeper) Order() *order.Policy { return k.order.Load() }

// Cite appends a page that is done to the log of its partition, as CitesOf made it; nil: importance is
// off. The writer calls it, in the group that completes the page.
func (k *Keeper) Cite(pg *commit.Part, done bool, cites []byte) {
	if done && cites != nil {
		k.appendLog(pg, cites)
	}
}

func (k *Keeper) appendLog(pg *commit.Part, value []byte) {
	pg.State.OutboxNext++
	pg.Set(layout.AppendCashKey(nil, layout.CashLog, pg.State.OutboxNext), value)
	k.unfolded.add(pg.State.Partition, 1)
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
func (k *Keeper) Unfolded(visit func(p crawl.Partition, entries int)) {
	k.unfolded.mu.Lock()
	defer k.unfolded.mu.Unlock()
	for p, n := range k.unfolded.entries {
		visit(p, n)
	}
}

// Folded says what a fold has done.
type Folded struct {
	Entries, Settled, Posts int          // log entries, pages that passed on again, entries for other partitions
	Accounts                int64        // of the partition; with those of this fold
	More                    bool         // the log has more, beside what the fold itself has put into it
	Rises                   []order.Rise // URLs that may be queued, of which links say more than before
}

// errFolded says that another fold was faster.
var errFolded = fmt.Errorf("%w as it was: the log was folded meanwhile", commit.ErrNotHolder)

// Fold folds a piece of a partition's log into its accounts. It plans in the caller's goroutine and
// asks the writer for one transaction. It fails with ErrNotHolder when the partition is not served
// here.
func (k *Keeper) Fold(ctx context.Context, p crawl.Partition) (Folded, error) {
	var d Folded
	waiting := k.unfolded.take(p)
	by := k.Order()
	plan, err := k.plan(p, by)
	if err == nil && plan != nil {
		d = Folded{Entries: plan.Folded, Settled: plan.Settled, Posts: len(plan.Posts), More: plan.More}
		err = k.w.Do(ctx, &commit.Request{Patient: true, Entries: plan.Entries(), Bytes: plan.Bytes(), Apply: func(g *commit.Group) (err error) {
			d.Accounts, err = k.fold(g, plan)
			return err
		}})
	}
	if err != nil {
		k.unfolded.add(p, waiting)
		return Folded{}, fmt.Errorf("frontier: folding the credits of partition %d: %w", p, err)
	}
	if plan != nil && by != nil {
		d.Rises = plan.Rises
		by.Scores.Linked(by.Typical, plan.Scores)
	}
	if plan != nil && (d.More || len(plan.Again) > 0) {
		k.unfolded.add(p, max(waiting-d.Entries, 1))
	}
	return d, nil
}

func (k *Keeper) plan(p crawl.Partition, by *order.Policy) (*Plan, error) {
	v, err := k.w.Read(p)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	return Within(v, k.Limits, k.w.KV.Limits(), by)
}

// fold writes a plan.
func (k *Keeper) fold(g *commit.Group, plan *Plan) (accounts int64, err error) {
	pg := g.Part(plan.Generation.Partition)
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
	totals, ok := totalsOf(pg)
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
	setTotals(pg, &totals)
	return totals.Accounts, nil
}

// totals reads the sums of the partition's cash.
func totalsOf(pg *commit.Part) (layout.CashTotalsEntry, bool) {
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

func setTotals(pg *commit.Part, t *layout.CashTotalsEntry) {
	t.Next = pg.State.OutboxNext
	pg.Set([]byte(layout.CashTotals), layout.EncodeCashTotals(t))
}

// Standing reads what links say of a URL, as far as it was folded; ok is false when they say
// nothing.
func (k *Keeper) Standing(p crawl.Partition, u urlnorm.URL) (a importance.Account, ok bool, err error) {
	v, err := k.w.Read(p)
	if err != nil {
		return a, false, err
	}
	defer v.Close()
	return Account(v, layout.NumberOf(u))
}

// Ranks reads the histogram of the importance of a partition's URLs.
func (k *Keeper) Ranks(p crawl.Partition) (*importance.Histogram, error) {
	v, err := k.w.Read(p)
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

// Ledger reads the sums of a partition's cash.
func (k *Keeper) Ledger(p crawl.Partition) (importance.Ledger, error) {
	v, err := k.w.Read(p)
	if err != nil {
		return importance.Ledger{}, err
	}
	defer v.Close()
	t, err := Totals(v)
	return t.Ledger, err
}
