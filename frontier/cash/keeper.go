package cash

import (
	"fmt"
	"sync"
	"sync/atomic"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/order"
	"crawlnode/importance/opic"
	"crawlnode/web/urlnorm"
)

// maxCites bounds the links of a page along which it passes cash on.
const maxCites = 10_000

// CitesOf makes what Cite takes: the page's distinct links in any order, without those to itself.
// It may change the slice.
func CitesOf(page urlnorm.URL, domain string, links []opic.Target) []byte {
	links = opic.SortTargets(links)
	return layout.EncodeCashVisit(&layout.CashVisit{
		URL:   layout.NumberOf(page),
		Site:  layout.SiteOf(domain),
		Links: links[:min(len(links), maxCites)],
	})
}

// CiteOf is a link as CitesOf takes it.
func CiteOf(l *crawl.Routed) opic.Target {
	return opic.Target{Partition: l.Partition, URL: layout.NumberOf(l.Target.URL)}
}

// Accounts has the cash of the partitions of one writer. Its methods may be called from many
// goroutines.
type Accounts struct {
	w        *commit.Writer
	Limits   Limits // of folds; set before the first one
	unfolded unfolded
	order    atomic.Pointer[order.Policy]
}

// NewAccounts makes the Accounts of a writer.
func NewAccounts(w *commit.Writer) *Accounts { return &Accounts{w: w, Limits: DefaultLimits} }

// SetOrder has queued URLs ordered by their scores from now on; nil: as their finders ask. What is
// queued stays where it is, until links say more of it.
func (k *Accounts) SetOrder(p *order.Policy) { k.order.Store(p) }

// Order is what SetOrder was given last.
func (k *Accounts) Order() *order.Policy { return k.order.Load() }

// Cite appends a page that is done to the log of its partition, as CitesOf made it; nil: importance
// is off. The writer calls it, in the group that completes the page.
func (k *Accounts) Cite(pg *commit.Part, done bool, cites []byte) {
	if done && cites != nil {
		k.appendLog(pg, cites, 1)
	}
}

// appendLog appends an entry that counts for so many.
func (k *Accounts) appendLog(pg *commit.Part, value []byte, counts int) {
	pg.State.OutboxNext++
	pg.Set(layout.AppendCashKey(nil, layout.CashLog, pg.State.OutboxNext), value)
	k.unfolded.add(pg.State.Partition, counts)
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
// much, about; 0: it waits for no other entries, but shall be folded some day. What was in the log
// before is not known: whoever begins to hold a partition folds it once.
func (k *Accounts) Unfolded(visit func(p crawl.Partition, entries int)) {
	k.unfolded.mu.Lock()
	defer k.unfolded.mu.Unlock()
	for p, n := range k.unfolded.entries {
		visit(p, n)
	}
}

// totalsOf reads the sums of the partition's cash.
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

// Account reads what links say of a URL, as far as it was folded; ok is false when they say
// nothing.
func (k *Accounts) Account(p crawl.Partition, u urlnorm.URL) (a opic.Account, ok bool, err error) {
	v, err := k.w.Read(p)
	if err != nil {
		return a, false, err
	}
	defer v.Close()
	return Account(v, layout.NumberOf(u))
}

// AddRanks adds the histogram of the importance of a partition's URLs to h.
func (k *Accounts) AddRanks(h *opic.Histogram, p crawl.Partition) error {
	v, err := k.w.Read(p)
	if err != nil {
		return err
	}
	defer v.Close()
	b, ok, err := v.Get([]byte(layout.CashRanks))
	if err != nil || !ok {
		return err
	}
	if err := h.Decode(b); err != nil {
		return fmt.Errorf("%w: histogram of partition %d: %w", layout.ErrCorrupt, p, err)
	}
	return nil
}

// Ledger reads the sums of a partition's cash.
func (k *Accounts) Ledger(p crawl.Partition) (opic.Ledger, error) {
	v, err := k.w.Read(p)
	if err != nil {
		return opic.Ledger{}, err
	}
	defer v.Close()
	t, err := Totals(v)
	return t.Ledger, err
}
