package recrawl

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/layout"
	"crawlnode/recrawl/policy/estimate"
	"crawlnode/settings/sites"
)

// start is when the tests begin.
var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// page is a known page of a fakePages.
type page struct {
	p      crawl.Partition
	host   crawl.Host
	number uint64
	at     time.Time
	visit  bool // at its time; else it is planned anew
	queued bool
	known  bool // it has a plan
	rate   float64
}

// fakePages is a frontier of pages in memory: those that are planned anew become due an hour later.
type fakePages struct {
	t      *testing.T
	now    time.Time
	held   map[crawl.Partition]crawl.Epoch
	pages  []*page
	fresh  map[crawl.Host]int64     // new URLs that are queued
	later  map[crawl.Host]time.Time // when those may be tried again
	moves  int
	again  int // replanned
	first  int // planned for the first time
	stamps int
	calls  int // of MoveDue and Replan
	reads  int // of Due
	asked  int // of Host
	gone   crawl.Partition
	frozen crawl.Partition // is read, but not written
	told   func(p crawl.Partition, before, after *frontier.Estimate, at time.Time)
}

func newPages(t *testing.T, partitions int) *fakePages {
	f := &fakePages{
		t:      t,
		now:    start,
		held:   map[crawl.Partition]crawl.Epoch{},
		fresh:  map[crawl.Host]int64{},
		gone:   layout.MaxPartition,
		frozen: layout.MaxPartition,
	}
	for p := range partitions {
		f.held[crawl.Partition(p)] = 1
	}
	return f
}

// add adds planned pages of a host that are due after a time, one after the other.
func (f *fakePages) add(p crawl.Partition, host crawl.Host, n int, after time.Duration) {
	for range n {
		f.pages = append(f.pages, &page{
			p:      p,
			host:   host,
			number: uint64(len(f.pages)),
			at:     start.Add(after + time.Duration(len(f.pages))),
			visit:  true,
			known:  true,
			rate:   1e-3,
		})
	}
}

func (x *page) place() layout.DueSlot {
	var fp layout.Fingerprint
	binary.BigEndian.PutUint64(fp[:], x.number)
	return layout.DueAt(x.at, x.host, fp)
}

func (x *page) estimate() frontier.Estimate {
	e := frontier.Estimate{Belief: [4]byte(estimate.Known(x.rate).Append(nil)), Flags: layout.DueKnown}
	if x.visit {
		e.Flags |= layout.DueVisit
	}
	return e
}

func (f *fakePages) holder(p crawl.Partition) error {
	if f.held[p] == 0 || f.gone == p {
		return fmt.Errorf("%w: partition %d", frontier.ErrNotHolder, p)
	}
	return nil
}

// planned are the pages of a partition by their times.
func (f *fakePages) planned(p crawl.Partition) (xs []*page) {
	for _, x := range f.pages {
		if x.p == p && x.known && !x.queued {
			xs = append(xs, x)
		}
	}
	slices.SortFunc(xs, func(a, b *page) int { return a.at.Compare(b.at) })
	return xs
}

func (f *fakePages) Totals() (c crawl.Counters) {
	for _, x := range f.pages {
		if x.queued {
			c.Queued[0]++
			c.QueuedRevisits++
		}
	}
	for _, n := range f.fresh {
		c.Queued[1] += n
	}
	return c
}

func (f *fakePages) Walk(visit func(*frontier.Meta) bool) {
	for p, epoch := range f.held {
		if !visit(&frontier.Meta{Partition: p, State: frontier.Holder, Epoch: epoch}) {
			return
		}
	}
	visit(&frontier.Meta{Partition: 999, State: frontier.Copy, Epoch: 1})
}

func (f *fakePages) DueHead(p crawl.Partition) (at time.Time, ok bool, err error) {
	if err := f.holder(p); err != nil {
		return at, false, err
	}
	if xs := f.planned(p); len(xs) > 0 {
		return xs[0].at, true, nil
	}
	return at, false, nil
}

func (f *fakePages) Due(p crawl.Partition, until time.Time, n int) (ds []frontier.Due, err error) {
	f.reads++
	for _, x := range f.planned(p) {
		if x.at.After(until) || len(ds) == n {
			break
		}
		ds = append(ds, frontier.Due{
			Partition: p,
			Epoch:     f.held[p],
			DueSlot:   x.place(),
			At:        x.at,
			Estimate:  x.estimate(),
		})
	}
	return ds, f.holder(p)
}

// Planned goes through the pages by their numbers, as the frontier goes through its records.
func (f *fakePages) Planned(
	p crawl.Partition,
	after frontier.DueCursor,
	n int,
) (all []frontier.Due, next frontier.DueCursor, done bool, err error) {
	for _, x := range f.pages {
		place := fmt.Sprintf("%020d", x.number)
		if x.p != p || place <= string(after) {
			continue
		}
		if n == 0 {
			return all, after, false, f.holder(p)
		}
		if n--; x.known && !x.queued {
			all = append(all, frontier.Due{Partition: p, Epoch: f.held[p], DueSlot: x.place(), At: x.at})
		}
		after = frontier.DueCursor(place)
	}
	return all, after, true, f.holder(p)
}

func (f *fakePages) EachPlanned(p crawl.Partition, visit func(frontier.Estimate) bool) error {
	for _, x := range f.planned(p) {
		if !visit(x.estimate()) {
			break
		}
	}
	return f.holder(p)
}

// each finds the pages of some entries; it fails as the frontier does.
func (f *fakePages) each(ds []frontier.Due, do func(*page)) error {
	f.calls++
	for _, d := range ds {
		if err := f.holder(d.Partition); err != nil || f.frozen == d.Partition {
			return fmt.Errorf("%w: partition %d is frozen", frontier.ErrNotHolder, d.Partition)
		}
	}
	for _, d := range ds {
		for _, x := range f.pages {
			if !x.queued && x.place() == d.DueSlot {
				do(x)
			}
		}
	}
	return nil
}

func (f *fakePages) MoveDue(_ context.Context, ds []frontier.Due) (n int, err error) {
	err = f.each(ds, func(x *page) {
		if x.at.After(f.now) {
			f.t.Errorf("a page of %s is moved %v before its time", x.host, x.at.Sub(f.now))
		}
		x.queued = true
		n++
		e := x.estimate()
		f.told(x.p, &e, nil, time.Time{})
	})
	f.moves += n
	return n, err
}

func (f *fakePages) Replan(_ context.Context, ds []frontier.Due) (n int, err error) {
	err = f.each(ds, func(x *page) {
		n++
		before := x.estimate()
		x.at, x.visit = f.now.Add(time.Hour+time.Duration(x.number)), true
		f.again++
		after := x.estimate()
		f.told(x.p, &before, &after, x.at)
	})
	return n, err
}

func (f *fakePages) Unplanned(
	p crawl.Partition,
	_ frontier.DueCursor,
	n int,
) (us []frontier.Unplanned, next frontier.DueCursor, done bool, err error) {
	for _, x := range f.pages {
		if x.p == p && !x.known && len(us) < n {
			us = append(us, frontier.Unplanned{Partition: p, Fingerprint: x.place().Fingerprint})
		}
	}
	return us, "next", len(us) < n, f.holder(p)
}

func (f *fakePages) PlanFirst(_ context.Context, us []frontier.Unplanned) (n int, err error) {
	for _, u := range us {
		if err := f.holder(u.Partition); err != nil || f.frozen == u.Partition {
			return n, fmt.Errorf("%w: partition %d is frozen", frontier.ErrNotHolder, u.Partition)
		}
		for _, x := range f.pages {
			if x.place().Fingerprint == u.Fingerprint {
				x.known = true
				f.first++
				e := x.estimate()
				f.told(x.p, nil, &e, x.at)
				n++
			}
		}
	}
	return n, nil
}

func (f *fakePages) Stamp(_ context.Context, ps []crawl.Partition) error {
	f.stamps += len(ps)
	return nil
}

func (f *fakePages) Host(
	p crawl.Partition,
	host crawl.Host,
) (s crawl.HostState, queued [crawl.Bands]int64, ok bool, err error) {
	f.asked++
	queued[1] = f.fresh[host]
	for _, x := range f.pages {
		if x.host == host && x.queued {
			queued[0]++
		}
	}
	return s, queued, true, f.holder(p)
}

// Load reads the new URLs of a host. Queued pages may be fetched at once.
func (f *fakePages) Load(
	p crawl.Partition,
	host crawl.Host,
	_ frontier.Cursor,
	n int,
) (q frontier.HostQueue, err error) {
	_, queued, _, err := f.Host(p, host)
	f.asked--
	for b, k := range queued {
		for range k {
			item := crawl.Item{}
			if b == 1 {
				item.NotBefore = f.later[host]
			}
			q.Items = append(q.Items, item)
		}
	}
	q.More = len(q.Items) > n
	q.Items = q.Items[:min(n, len(q.Items))]
	return q, err
}

// bench is a Keeper over fakePages whose loop the test turns.
type bench struct {
	*Keeper
	t        *testing.T
	pages    *fakePages
	settings crawl.Settings
	now      *crawl.Settings // &settings, or those that came later
	sites    *sites.Table
	paused   bool
	busy     int
	fetchers int
	members  []crawl.NodeID
}

func newBench(t *testing.T, partitions int, mode string) *bench {
	b := &bench{t: t, pages: newPages(t, partitions), fetchers: 16, members: []crawl.NodeID{"a"}}
	b.settings = crawl.Settings{
		Recrawl:         mode,
		RecrawlInterval: time.Hour,
		RecrawlMin:      time.Minute,
		RecrawlMax:      24 * time.Hour,
		RecrawlShare:    0.5,
	}
	b.Keeper = New(Options{
		Self:   "a",
		Boot:   7,
		Pages:  b.pages,
		Node:   b,
		Logger: slog.New(slog.DiscardHandler),
	})
	b.now = &b.settings
	b.pages.told = b.Replanned
	return b
}

// A bench is its Keeper's Node, and the rules of its crawl.

func (b *bench) Settings() *crawl.Settings     { return b.now }
func (b *bench) Sites() *sites.Table           { return b.sites }
func (b *bench) Weighted(*crawl.Settings) bool { return false }
func (b *bench) Excluded(*crawl.Item) bool     { return false }
func (b *bench) May() bool                     { return !b.paused }
func (b *bench) Fetchers() (busy, all int)     { return b.busy, b.fetchers }
func (b *bench) Members() []crawl.NodeID       { return b.members }

// turnAt turns the loop so long after the start, with all counts made before.
func (b *bench) turnAt(after time.Duration) (next time.Duration) {
	b.t.Helper()
	now := start.Add(after)
	b.pages.now = now
	for b.adaptive() {
		found, _, err := b.countNext(b.t.Context(), now)
		if err != nil {
			b.t.Fatal(err)
		}
		if !found {
			break
		}
	}
	at, err := b.turn(b.t.Context(), now)
	if err != nil {
		b.t.Fatal(err)
	}
	return at.Sub(now)
}

// visit ends visits of queued pages and of new URLs.
func (b *bench) visit(revisits, others int) {
	for _, x := range b.pages.pages {
		if revisits > 0 && x.queued {
			x.queued, x.at, x.visit = false, b.pages.now.Add(time.Hour+time.Duration(x.number)), true
			revisits--
			e := x.estimate()
			b.pages.told(x.p, nil, &e, x.at)
			b.Completed(&crawl.Visit{Lease: crawl.Lease{Item: crawl.Item{Revisit: true}}})
		}
	}
	for range others {
		b.Completed(&crawl.Visit{})
	}
}

// queued counts the pages in the queue.
func (b *bench) queued() (n int) {
	for _, x := range b.pages.pages {
		if x.queued {
			n++
		}
	}
	return n
}
