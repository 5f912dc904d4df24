package cash

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/order"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/importance/opic"
)

// Plan is what a fold writes.
type Plan struct {
	Generation layout.Generation
	// Sets have relative keys; one without a value is deleted.
	Sets  []storage.Entry
	Posts []Post
	Again [][]byte // log entries to be appended
	// Change is what is added to the ledger. Accounts and Pages are new ones.
	Change          opic.Ledger
	Accounts, Pages int64
	// how many folds there were before, and the number up to which the log is folded from now on
	Folds, Upto     uint64
	Least           opic.Cash // the threshold from now on
	Folded, Settled int       // log entries taken, pages settled
	More            bool      // the log had more
	posted          int       // Posts that went into the outbox
	// With an order: URLs of queues of which links say more than before, and what links say of URLs.
	Rises  []order.Rise
	Scores []order.Change
}

// Post is credits for another partition.
type Post struct {
	To      crawl.Partition
	Credits []opic.Entry
}

// bytes is the most that the credits take as EncodeCashCredits writes them.
func (p *Post) bytes() int {
	n := 16
	for i := range p.Credits {
		n += 8 + 28*len(p.Credits[i].Credits)
	}
	return n
}

// Bytes is about what the plan puts into a transaction.
func (p *Plan) Bytes() (n int) {
	for i := range p.Sets {
		n += layout.PrefixLen + len(p.Sets[i].Key) + len(p.Sets[i].Value)
	}
	for i := range p.Posts {
		n += layout.PrefixLen + 11 + p.Posts[i].bytes()
	}
	for _, b := range p.Again {
		n += layout.PrefixLen + 10 + len(b)
	}
	return n
}

// Entries is the most entries that the plan puts into a transaction. Credits for another partition
// are an entry in the outbox, or a log entry, the sums and the books of their target.
func (p *Plan) Entries() int { return len(p.Sets) + 3*len(p.Posts) + len(p.Again) + 2 }

// New plans a fold; nil: the log is empty. With an order, it says which queued URLs may be moved.
func New(v *reader.Partition, limits Limits, o *order.Policy) (*Plan, error) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	totals, err := Totals(v)
	if err != nil {
		return nil, err
	}
	l, err := readLog(v, totals.Folded, &limits, s)
	if err != nil || l.last == 0 {
		return nil, err
	}
	plan := &Plan{
		Generation: v.Generation,
		Folds:      totals.Folds,
		Least:      max(totals.Least, limits.Least),
		More:       l.more,
	}
	f := &fold{v: v, limits: limits, order: o, log: l, blocks: map[uint64]*group{}, plan: plan}
	f.borrow(s)
	defer f.giveBack()
	if err := f.readRanks(); err != nil {
		return nil, err
	}
	f.it = v.Iterate(accountsPrefix)
	defer f.it.Close()
	if err := f.visits(); err != nil {
		return nil, err
	}
	if err := f.credits(); err != nil {
		return nil, err
	}
	f.write()
	return f.plan, f.err
}

// fold is a plan that is being made.
type fold struct {
	v      *reader.Partition
	it     storage.Iterator // over the blocks
	limits Limits
	order  *order.Policy // nil: queues are not ordered by what links say
	log    *logPiece
	plan   *Plan
	ranks  opic.Histogram
	blocks map[uint64]*group // by their bound in the store
	dirty  int
	linked map[uint64]*linked // hosts, by their number
	own    []opic.Entry       // of visits, to own URLs
	later  []opic.Entry       // of settled pages, to own URLs
	away   []away
	due    []opic.Delta // pages that are due and beyond the budget: nothing is added to them
	wanted int          // pages that were due
	passed int          // links along which visits pass on
	spread int          // links along which settled pages pass on
	err    error
	// In memory that is used again by later folds; nothing of it is in the plan.
	scratch  *scratch
	credited []opic.Credit // what own and later point into
	targets  []opic.Target // of the page whose links were read last
}

// scratch is memory of a fold that has ended.
type scratch struct {
	away     []away
	credited []opic.Credit
	targets  []opic.Target
	visited  []opic.Target // what the visits of the log point into
	summer   opic.Summer
}

// scratches keeps the memory of some folds: what they need has the same size again and again.
var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (f *fold) borrow(s *scratch) {
	f.scratch = s
	f.away, f.credited, f.targets = s.away[:0], s.credited[:0], s.targets[:0]
}

func (f *fold) giveBack() {
	f.scratch.away, f.scratch.credited, f.scratch.targets = f.away, f.credited, f.targets
}

func (f *fold) readRanks() error {
	b, ok, err := f.v.Get([]byte(layout.CashRanks))
	if err != nil || !ok {
		return err
	}
	if err := f.ranks.Decode(b); err != nil {
		return fmt.Errorf("%w: %w", layout.ErrCorrupt, err)
	}
	return nil
}

// Totals reads the sums of a partition's cash.
func Totals(v *reader.Partition) (layout.CashTotalsEntry, error) {
	b, ok, err := v.Get([]byte(layout.CashTotals))
	if err != nil || !ok {
		return layout.CashTotalsEntry{}, err
	}
	return layout.DecodeCashTotals(b)
}

// visits is the first pass: pages that were fetched.
func (f *fold) visits() error {
	for visits := f.log.visits; len(visits) > 0; {
		if f.dirty > f.limits.DirtyBytes {
			f.plan.More = true
			return nil // the rest stays in the log
		}
		g, err := f.group(visits[0].URL)
		if err != nil {
			return err
		}
		n, err := f.admit(g, visits)
		if err != nil {
			return err
		}
		if n == 0 {
			f.plan.More = true
			return nil
		}
		var deltas []opic.Delta
		for i := range n {
			deltas = append(deltas, f.log.take(visits[i].URL))
		}
		at := 0 // changes come in the order of the deltas
		err = f.change(g, deltas, func(u opic.URL, before opic.Account, now *opic.Account) {
			f.visit(&visits[at], now)
			visits[at].done, visits[at].keep = true, now.At
			f.count(u, before, now)
			at++
		})
		if err != nil || f.err != nil {
			return errors.Join(err, f.err)
		}
		visits = visits[len(deltas):]
	}
	return nil
}

// admit returns how many of the visits in front, which belong to the group, may pass on, and counts
// their links: the new ones, and those from which cash is taken back. The first of a fold always
// may.
func (f *fold) admit(g *group, visits []visited) (int, error) {
	n := 0
	for n < len(visits) && uint64(visits[n].URL) <= g.bound {
		n++
	}
	type page struct {
		links int
		at    uint64
	}
	pages := make([]page, n)
	at := 0
	for i := range g.parts {
		err := g.parts[i].Accounts(func(u opic.URL, a opic.Account) {
			for at < n && visits[at].URL < u {
				at++
			}
			if at < n && visits[at].URL == u {
				pages[at] = page{a.Links, a.At}
			}
		})
		if err != nil {
			return 0, fmt.Errorf("%w: %w", layout.ErrCorrupt, err)
		}
	}
	for i := range pages {
		if visits[i].before = pages[i].at == visits[i].at(); visits[i].before {
			continue // it passes on nothing
		}
		links := pages[i].links + len(visits[i].Links)
		if f.passed > 0 && f.passed+links > f.limits.Links {
			return i, nil
		}
		f.passed += links
	}
	return n, nil
}

// visit passes on what a fetched page has. Its log entry is where its links are from now on, if
// they are others than before.
func (f *fold) visit(s *visited, now *opic.Account) {
	if s.before {
		return
	}
	var links []opic.Target
	if now.Fetched {
		var err error
		if _, links, err = f.storedLinks(s.URL, now); err != nil {
			f.err = errors.Join(f.err, err)
			return
		}
		if slices.Equal(links, s.Links) {
			return
		}
		if len(links) > 0 && !slices.Contains(s.numbers, now.At) { // else the log's end is looked after
			f.set(linksKey(s.URL, now), nil)
		}
	} else {
		f.plan.Pages++
	}
	flow := now.Visit(len(s.Links))
	f.plan.Change.Minted += flow.Minted
	f.plan.Change.Evaporated += flow.Evaporated
	f.own = f.pass(f.own, s.Site, links, flow.Back, -1)
	f.own = f.pass(f.own, s.Site, s.Links, flow.Each, 1)
	if now.At = s.at(); len(s.Links) == 0 {
		now.At = 0
	}
}

// count keeps the histogram, and what links say of queued URLs.
func (f *fold) count(u opic.URL, before opic.Account, now *opic.Account) {
	if before == (opic.Account{}) {
		f.plan.Accounts++
		f.ranks.Add(now.Total(), 1)
	} else {
		f.ranks.Move(before.Total(), now.Total())
	}
	if f.order != nil {
		f.rank(u, before, now)
	}
}

// credits is the second pass: all that the partition's own URLs get.
func (f *fold) credits() error {
	deltas := opic.MergeDeltas(f.log.rest(), f.scratch.summer.SumCredits(f.own))
	for len(deltas) > 0 && f.err == nil {
		if f.dirty > 2*f.limits.DirtyBytes {
			f.plan.Again, f.plan.More = append(f.plan.Again, cutDeltas(deltas)...), true
			break
		}
		g, err := f.group(deltas[0].URL)
		if err != nil {
			return err
		}
		n := 1
		for n < len(deltas) && uint64(deltas[n].URL) <= g.bound {
			n++
		}
		err = f.change(g, deltas[:n], func(u opic.URL, before opic.Account, now *opic.Account) {
			f.settle(u, now)
			f.count(u, before, now)
		})
		if err != nil {
			return err
		}
		deltas = deltas[n:]
	}
	return f.err
}

// leastSettled is how many pages may settle in a fold without visits.
const leastSettled = 64

// budget is how many pages may settle: one for each that was fetched, and some where only credits
// arrive.
func (f *fold) budget() int { return max(len(f.log.visits), leastSettled) }

// settle lets a page pass on what is pending, if it is due.
func (f *fold) settle(u opic.URL, now *opic.Account) {
	if f.err != nil || !now.Due(f.plan.Least) {
		return
	}
	if f.wanted++; f.wanted > f.budget() || f.spread > 0 && f.spread+now.Links > f.limits.Links/2 {
		f.due = append(f.due, opic.Delta{URL: u})
		return
	}
	site, links, err := f.storedLinks(u, now)
	if err != nil {
		f.err = err
		return
	}
	f.spread += now.Links
	flow := now.Settle()
	f.plan.Change.Evaporated += flow.Evaporated
	f.later = f.pass(f.later, site, links, flow.Each, 0)
	f.plan.Settled++
}

// storedLinks are the links of a page that its account stands for, with its site. They are good
// until the next call.
func (f *fold) storedLinks(
	u opic.URL,
	a *opic.Account,
) (site opic.Site, links []opic.Target, err error) {
	if s := f.log.visitOf(u); s != nil && s.done {
		return s.Site, s.Links, nil
	}
	b, ok, err := f.v.Get(linksKey(u, a))
	switch {
	case err != nil:
		return 0, nil, err
	case ok && a.At == 0:
		site, links, err = layout.DecodeCashLinks(f.targets[:0], b)
	case ok:
		site, links, err = layout.DecodeCashVisitOf(f.targets[:0], u, b)
	}
	if err == nil && len(links) != a.Links {
		err = fmt.Errorf("%w: a page of %d links has %d", layout.ErrCorrupt, a.Links, len(links))
	}
	f.targets = links
	return site, links, err
}

// linksKey is the key of the links of a page: the log entry by which they came, or as the program
// wrote them before it left them there.
func linksKey(u opic.URL, a *opic.Account) []byte {
	if a.At != 0 {
		return layout.AppendCashKey(nil, layout.CashLog, a.At)
	}
	return layout.AppendCashKey(nil, layout.CashLinks, uint64(u))
}

// pass gives each of the links the same amount, and appends the credits to own URLs to list. fresh
// is 1 for links that are new, -1 for links that are gone.
func (f *fold) pass(
	list []opic.Entry,
	site opic.Site,
	links []opic.Target,
	each opic.Cash,
	fresh int32,
) []opic.Entry {
	from := len(f.credited)
	for _, t := range links {
		c := opic.Credit{URL: t.URL, Amount: each, Links: fresh}
		if t.Partition == f.v.Generation.Partition {
			f.credited = append(f.credited, c)
			continue
		}
		f.away = append(f.away, away{t.Partition, site, c})
		f.plan.Change.Sent += each
	}
	to := len(f.credited)
	if to == from {
		return list
	}
	return append(list, opic.Entry{Site: site, Credits: f.credited[from:to:to]})
}

func (f *fold) set(key, value []byte) {
	f.plan.Sets = append(f.plan.Sets, storage.Entry{Key: key, Value: value})
}

// write completes the plan.
func (f *fold) write() {
	for _, g := range f.blocks {
		for i := range g.parts {
			if p := &g.parts[i]; p.dirty {
				f.set(layout.AppendCashKey(nil, layout.CashAccounts, p.bound), p.Bytes)
			}
		}
	}
	f.plan.Folded, f.plan.Upto = f.log.finish(func(number uint64) {
		f.set(layout.AppendCashKey(nil, layout.CashLog, number), nil)
	})
	f.writeLinked()
	f.plan.Again = append(append(f.plan.Again, cutCredits(f.later)...), cutDeltas(f.due)...)
	f.plan.Posts = posts(f.away)
	f.set([]byte(layout.CashRanks), opic.AppendHistogram(nil, &f.ranks))
	// The threshold follows the number of those that are due, so the budget goes to those with the
	// most. So does that of those that are put off because of their links, which every fold reads
	// again.
	if f.wanted > f.budget() || len(f.due) > f.limits.Links/4 {
		f.plan.Least = min(2*f.plan.Least, math.MaxInt64/4)
	} else if f.wanted < f.budget()/2 {
		f.plan.Least = max(f.plan.Least/8*7, f.limits.Least)
	}
}
