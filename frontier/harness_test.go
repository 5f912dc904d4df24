package frontier

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/web/urlnorm"
)

// running is a frontier with its writer.
type running struct {
	*Frontier
	t    testing.TB
	stop func() error // ends Run and returns its error
}

func start(t testing.TB, kv storage.KV, o commit.Options) *running {
	t.Helper()
	return startWith(t, kv, o, nil)
}

// startWith starts a frontier with a judge; nil: without.
func startWith(t testing.TB, kv storage.KV, o commit.Options, j Planner) *running {
	t.Helper()
	f, err := New(kv, o)
	if err != nil {
		t.Fatal(err)
	}
	if j != nil {
		f.SetPlanner(j)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- f.Run(ctx) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-over
	})
	t.Cleanup(func() { _ = stop() })
	return &running{Frontier: f, t: t, stop: stop}
}

// startHolding starts a frontier that holds partitions 0 to n-1 in epoch 1.
func startHolding(t testing.TB, kv storage.KV, n int, o commit.Options) *running {
	t.Helper()
	r := start(t, kv, o)
	var ps []crawl.Partition
	for p := range n {
		ps = append(ps, crawl.Partition(p))
	}
	r.must(r.Found(t.Context(), ps, 1))
	return r
}

func (r *running) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// crash ends the frontier as kill -9 would and starts it again.
func (r *running) crash(reopen func() storage.KV, o commit.Options) *running {
	r.t.Helper()
	_ = r.stop()
	return start(r.t, reopen(), o)
}

// promote makes the holder of a copy.
func (r *running) promote(p crawl.Partition, epoch crawl.Epoch) error {
	return r.Transition(r.t.Context(), p, func(m *layout.Meta) error {
		m.State, m.Epoch, m.View = layout.Holder, epoch, epoch
		return nil
	})
}

// become moves a partition to another state.
func (r *running) become(p crawl.Partition, s layout.State) {
	r.t.Helper()
	r.must(r.Transition(r.t.Context(), p, func(m *layout.Meta) error { m.State = s; return nil }))
}

// caught collects what a sink is handed.
type caught struct {
	mu sync.Mutex
	ms []CopyMutation
}

func (c *caught) sink(p crawl.Partition, m Mutation) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ms = append(c.ms, CopyMutation{Partition: p, Mutation: m})
	return true
}

func (c *caught) take() []CopyMutation {
	c.mu.Lock()
	defer c.mu.Unlock()
	ms := c.ms
	c.ms = nil
	return ms
}

// sameHost compares states of which one was read by another process than wrote it: the
// time between the two counts for nothing, and is far less than a minute.
func sameHost(a, b crawl.HostState) bool {
	for _, t := range [...]*time.Time{&a.NotBefore, &a.FrozenUntil, &a.HoldUntil, &b.NotBefore,
		&b.FrozenUntil, &b.HoldUntil} {
		*t = t.Round(time.Minute)
	}
	return a == b
}

func mustURL(raw string) urlnorm.URL {
	u, err := urlnorm.Parse(raw)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return u
}

// link routes a URL by a partition that stands in its host name: "h3.p2.test"
// is of partition 2.
func link(raw string) crawl.Routed {
	u := mustURL(raw)
	return crawl.Routed{Partition: partitionOf(u), Target: crawl.Target{URL: u, Depth: 1, Band: 1}}
}

func partitionOf(u urlnorm.URL) crawl.Partition {
	var host, p int
	if _, err := fmt.Sscanf(u.Host(), "h%d.p%d.test", &host, &p); err != nil {
		panic("BUG: host without a partition: " + u.Host())
	}
	return crawl.Partition(p)
}

func (r *running) add(links ...crawl.Routed) []Admission {
	r.t.Helper()
	as, err := r.Add(r.t.Context(), links)
	r.must(err)
	return as
}

func (r *running) load(p crawl.Partition, host string, n int) reader.HostQueue {
	r.t.Helper()
	q, err := r.Load(p, crawl.Host(host), reader.Cursor{}, n)
	r.must(err)
	return q
}

// lease makes the lease of a host's first queued URL.
func (r *running) lease(p crawl.Partition, host string) crawl.Lease {
	r.t.Helper()
	q := r.load(p, host, 1)
	if len(q.Items) == 0 {
		r.t.Fatalf("nothing is queued for %s", host)
	}
	m, _ := r.Meta(p)
	return crawl.Lease{Partition: p, Epoch: m.Epoch, Host: crawl.Host(host), Item: q.Items[0]}
}

func (r *running) record(raw string) crawl.Record {
	r.t.Helper()
	u := mustURL(raw)
	rec, ok, err := r.Record(partitionOf(u), u)
	r.must(err)
	if !ok {
		r.t.Fatalf("no record of %s", raw)
	}
	return rec
}

// check verifies the invariants of every held partition against its keys.
func (r *running) check() {
	r.t.Helper()
	if err := invariants(r.Frontier); err != nil {
		r.t.Fatal(err)
	}
}

// invariants compares what a store says of its partitions with what is in them.
func invariants(f *Frontier) error {
	var errs []error
	copies := 0
	for _, m := range f.Metas() {
		if m.State == layout.Copy {
			copies++
		}
		if m.State == layout.Absent {
			continue
		}
		if err := partitionInvariants(f, m); err != nil {
			errs = append(errs, fmt.Errorf("partition %d: %w", m.Partition, err))
		}
	}
	if n := f.Copies(); n != copies {
		errs = append(errs, fmt.Errorf("%d copies are counted of %d", n, copies))
	}
	return errors.Join(errs...)
}

// census is what a walk over a partition's keys finds.
type census struct {
	hosts    map[crawl.Host]*layout.HostEntry
	queue    map[crawl.Host]*[crawl.Bands]int64
	wakes    map[crawl.Host][]layout.WakeSlot
	robots   map[string]bool // host 00 tag
	queued   map[string]bool // host, band and number of queued records
	places   map[string]bool // the same of the queue entries
	blocks   map[string]bool // host, band and number of blocks
	due      map[layout.DueSlot]bool
	planned  map[layout.DueSlot]bool // what the records say of due
	counted  map[crawl.Host]int      // pages that are planned, or were when they were queued
	revisits int64                   // queue entries
	outbox   int64
	seen     int64
	content  int64
	outLast  uint64
	meta     layout.MetaEntry
}

func partitionInvariants(f *Frontier, m layout.Meta) error {
	v, err := f.w.Read(m.Partition)
	if err != nil {
		return err
	}
	defer v.Close()
	c := census{
		hosts: map[crawl.Host]*layout.HostEntry{}, queue: map[crawl.Host]*[crawl.Bands]int64{},
		wakes:  map[crawl.Host][]layout.WakeSlot{},
		robots: map[string]bool{}, queued: map[string]bool{}, places: map[string]bool{},
		due: map[layout.DueSlot]bool{}, planned: map[layout.DueSlot]bool{}, counted: map[crawl.Host]int{},
	}
	it := v.Iterate(nil)
	for it.Seek(v.Abs(nil)); it.Valid(); it.Next() {
		value, err := it.Value()
		if err == nil {
			err = c.note(bytes.Clone(it.Key()[layout.PrefixLen:]), value)
		}
		if err != nil {
			it.Close()
			return err
		}
	}
	it.Close()
	books, err := reader.ReadBooks(v.Snapshot)
	if err != nil {
		return err
	}
	entry, _, err := books.Of(v)
	if err != nil {
		return err
	}
	if c.meta, err = layout.DecodeMeta(entry); err != nil {
		return err
	}
	return c.judge(m)
}

func (c *census) note(rel, value []byte) error {
	host, rest, _ := bytes.Cut(rel[1:], []byte{0})
	h := crawl.Host(host)
	switch rel[0] {
	case layout.TableRecords:
		rec, err := layout.DecodeRecord(value)
		if err != nil {
			return err
		}
		u, err := layout.JoinURL(h, rec.HTTPS, rec.Rest)
		if err != nil {
			return err
		}
		if fp, _ := layout.FingerprintOfKey(append(make([]byte, layout.PrefixLen), rel...)); fp !=
			layout.FingerprintOf(u.String()) {
			return fmt.Errorf("record of %s under a foreign fingerprint", u)
		}
		c.seen++
		if rec.State == crawl.Queued {
			c.queued[fmt.Sprint(h, rec.Band, rec.Seq)] = true
		}
		return c.notePlan(h, layout.FingerprintOf(u.String()), &rec.Record)
	case layout.TableQueue:
		seq, _ := layout.SeqOfQueueKey(rel)
		return c.noteQueued(h, crawl.Band(rest[0]), seq, value)
	case layout.TableHosts:
		e, err := layout.DecodeHost(value)
		h := crawl.Host(rel[1:])
		c.hosts[h] = e
		if err != nil || e.Inline == nil {
			return err
		}
		return c.noteInline(h, e)
	case layout.TableRobots:
		c.robots[string(rel[1:])] = true
		_, err := layout.DecodeRobots(h, string(rest), value)
		return err
	case layout.TableWake:
		w, h, ok := layout.ParseWakeKey(rel)
		if !ok {
			return errors.New("bad wake key")
		}
		c.wakes[h] = append(c.wakes[h], w)
	case layout.TableOutbox:
		k, ok := layout.ParseOutboxKey(rel)
		if !ok {
			return errors.New("bad outbox key")
		}
		c.outbox++
		c.outLast = max(c.outLast, k.Seq)
		_, err := layout.DecodeLink(value)
		return err
	case layout.TableContents:
		c.content++
		if len(rel) != 1+len(crawl.Digest{}) {
			return fmt.Errorf("a payload under a key of %d bytes", len(rel))
		}
		_, err := layout.DecodeContent(value)
		return err
	case layout.TableDue:
		d, ok := layout.ParseDueKey(rel)
		if !ok {
			return errors.New("bad key of a due page")
		}
		c.due[d] = true
		_, err := layout.DecodeDue(value)
		return err
	case layout.TableMeta:
		_, err := layout.DecodeMeta(value)
		return err
	case layout.TableCash, layout.TableCredits, layout.TableTexts, layout.TableTextPlaces,
		layout.TableAnchors:
		if seq, ok := layout.ParseCashKey(rel, layout.CashLog); ok {
			c.outLast = max(c.outLast, seq)
		}
		if k, ok := layout.ParseCreditsKey(rel); ok {
			c.outLast = max(c.outLast, k.Seq)
		}
	case layout.TableGuests:
	default:
		return fmt.Errorf("unknown table %q", rel[0])
	}
	return nil
}

// noteQueued notes a key of a host's queue.
func (c *census) noteQueued(h crawl.Host, band crawl.Band, seq uint64, value []byte) error {
	e := c.hosts[h] // hosts come first in the order of keys
	if e == nil {
		return fmt.Errorf("queue entry of the unknown host %s", h)
	}
	if layout.IsBlock(value) {
		return c.noteBlock(h, e, band, seq, value)
	}
	if open := e.Open(band, seq); open != nil && open.Has(seq) {
		return fmt.Errorf("number %d of %s has a key and is left in its block", seq, h)
	}
	return c.notePlace(h, e, band, seq, value)
}

// noteBlock notes those of a block that are left.
func (c *census) noteBlock(
	h crawl.Host,
	e *layout.HostEntry,
	band crawl.Band,
	number uint64,
	value []byte,
) error {
	b, err := layout.DecodeBlock(value)
	if err != nil {
		return err
	}
	if number != layout.BlockNumber(number) {
		return fmt.Errorf("a block of %s at number %d", h, number)
	}
	open := e.Open(band, number)
	if open != nil && open.Left&^b.Left() != 0 {
		return fmt.Errorf("block %d of %s has %b, %b are left", number, h, b.Left(), open.Left)
	}
	if c.blocks == nil {
		c.blocks = map[string]bool{}
	}
	c.blocks[fmt.Sprint(h, band, number)] = true
	for i, entry := range b {
		seq := layout.FirstOfBlock(number) + uint64(i)
		if len(entry) == 0 || open != nil && !open.Has(seq) {
			continue
		}
		if c.places[fmt.Sprint(h, band, seq)] {
			return fmt.Errorf("number %d of %s has a key and is in a block", seq, h)
		}
		if err := c.notePlace(h, e, band, seq, entry); err != nil {
			return err
		}
	}
	return nil
}

// notePlace notes the entry of a place.
func (c *census) notePlace(
	h crawl.Host,
	e *layout.HostEntry,
	band crawl.Band,
	seq uint64,
	entry []byte,
) error {
	if c.queue[h] == nil {
		c.queue[h] = new([crawl.Bands]int64)
	}
	c.queue[h][band]++
	c.places[fmt.Sprint(h, band, seq)] = true
	if b := e.Bands[band]; seq < b.Head || seq >= b.Next {
		return fmt.Errorf("queue entry %d of %s outside of [%d, %d)", seq, h, b.Head, b.Next)
	}
	item, err := layout.DecodeItem(h, band, seq, entry)
	if item.Revisit {
		c.revisits++
	}
	return err
}

// notePlan notes what a record says of the due pages.
func (c *census) notePlan(h crawl.Host, fp layout.Fingerprint, rec *crawl.Record) error {
	if !planned(rec) {
		return nil
	}
	c.counted[h]++
	switch rec.State {
	case crawl.Done:
		c.planned[layout.DueAt(rec.CheckAt, h, fp)] = true
	case crawl.Queued:
	default:
		return fmt.Errorf("a page that is planned is %s", rec.State)
	}
	return nil
}

// noteInline counts a host's only URL as its record and its place in the queue.
func (c *census) noteInline(h crawl.Host, e *layout.HostEntry) error {
	it, err := e.Inline.Item(h)
	if err != nil {
		return err
	}
	if fp, err := e.Inline.Fingerprint(h); err != nil || fp != layout.FingerprintOf(it.URL.String()) {
		return fmt.Errorf("the fingerprint of the only URL of %s is %x, %v", h, fp, err)
	}
	if e.Bands[it.Band] != (layout.BandQueue{Queued: 1, Head: 1, Next: 2}) ||
		len(e.Inline.Entry) > layout.MaxInline || it.Attempts > 0 {
		return fmt.Errorf("the only URL of %s is not the first: %+v, %+v", h, it, e.Bands[it.Band])
	}
	c.seen++
	c.queue[h] = new([crawl.Bands]int64)
	c.queue[h][it.Band] = 1
	c.queued[fmt.Sprint(h, it.Band, it.Seq)] = true
	c.places[fmt.Sprint(h, it.Band, it.Seq)] = true
	return nil
}

func (c *census) judge(m layout.Meta) error {
	if c.meta.Seq != m.Seq || c.meta.Counters != m.Counters {
		return fmt.Errorf("the meta entry (seq %d) is not what is in memory (seq %d)", c.meta.Seq, m.Seq)
	}
	var bands [crawl.Bands]int64
	robots, admitted := 0, int64(0)
	for h, e := range c.hosts {
		if e.Admitted() {
			admitted++
		}
		for b := range e.Bands {
			n := int64(0)
			if c.queue[h] != nil {
				n = c.queue[h][b]
			}
			if n != e.Bands[b].Queued {
				return fmt.Errorf("host %s, band %d: %d queued, says %d", h, b, n, e.Bands[b].Queued)
			}
			bands[b] += n
		}
		if (e.Total() > 0) != e.Awake || e.Awake != (len(c.wakes[h]) == 1) || len(c.wakes[h]) > 1 {
			return fmt.Errorf("host %s: %d queued, awake %v, wake entries %v", h, e.Total(), e.Awake,
				c.wakes[h])
		}
		if n, _ := strconv.Atoi(e.Site); n != c.counted[h] { // see testJudge
			return fmt.Errorf("host %s: %d planned pages, its sums have %d", h, c.counted[h], n)
		}
		if e.Awake && c.wakes[h][0] != e.Wake {
			return fmt.Errorf("host %s: wake entry %v, says %v", h, c.wakes[h][0], e.Wake)
		}
		for _, o := range e.Blocks {
			if !c.blocks[fmt.Sprint(h, o.Band, o.Number)] {
				return fmt.Errorf("host %s: its open block %d is missing", h, o.Number)
			}
		}
		robots += len(e.Origins)
		for _, tag := range e.Origins {
			if !c.robots[string(h)+"\x00"+tag] {
				return fmt.Errorf("host %s: robots entry %q is missing", h, tag)
			}
		}
	}
	got := m.Counters
	switch {
	case got.Contents != c.content:
		return fmt.Errorf("%d payloads, says %d", c.content, got.Contents)
	case got.QueuedRevisits != c.revisits:
		return fmt.Errorf("%d revisits are queued, says %d", c.revisits, got.QueuedRevisits)
	case robots != len(c.robots):
		return fmt.Errorf("%d robots entries, hosts name %d", len(c.robots), robots)
	case len(c.wakes) > len(c.hosts):
		return errors.New("wake entries of unknown hosts")
	case got.Seen != c.seen || got.Queued != bands || got.Hosts != admitted || got.Outbox != c.outbox:
		return fmt.Errorf("counters say seen %d, queued %v, hosts %d, outbox %d; found %d, %v, %d, %d",
			got.Seen, got.Queued, got.Hosts, got.Outbox, c.seen, bands, admitted, c.outbox)
	case c.outLast > c.meta.OutboxNext:
		return fmt.Errorf("outbox entry %d above %d", c.outLast, c.meta.OutboxNext)
	case !maps.Equal(c.due, c.planned):
		return fmt.Errorf("%d due pages, %d planned records, or other ones", len(c.due), len(c.planned))
	case len(c.queued) != len(c.places):
		return fmt.Errorf("%d queued records, %d queue entries", len(c.queued), len(c.places))
	}
	for k := range c.queued {
		if !c.places[k] {
			return fmt.Errorf("queued record without its queue entry %s", k)
		}
	}
	return nil
}

// gated is a KV on which a walk over a partition's records, or another table, waits for
// the gate.
type gated struct {
	storage.KV
	table   byte          // 0: TableRecords
	arrived chan struct{} // gets a value when a walk is at the gate
	gate    chan struct{} // closed: walks pass
}

func (g *gated) Snapshot() (storage.Snapshot, error) {
	s, err := g.KV.Snapshot()
	return gatedSnapshot{s, g}, err
}

type gatedSnapshot struct {
	storage.Snapshot
	kv *gated
}

func (s gatedSnapshot) Iterate(prefix []byte) storage.Iterator {
	if len(prefix) == layout.PrefixLen+1 &&
		prefix[layout.PrefixLen] == cmp.Or(s.kv.table, layout.TableRecords) {
		select {
		case s.kv.arrived <- struct{}{}:
			<-s.kv.gate
		case <-s.kv.gate:
		}
	}
	return s.Snapshot.Iterate(prefix)
}
