package frontier

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// model is what a frontier should know, kept in maps.
type model struct {
	t       *testing.T
	rng     *rand.Rand
	r       *running
	urls    map[string]*modelURL
	outbox  map[crawl.Partition]int64
	dups    int64
	pages   int64
	failed  int64
	clock   int64 // admissions, for the order of queues
	current map[crawl.Partition]crawl.Epoch
	noted   []Content
	judge   *testJudge // nil: no page is visited again
	old     []oldItem  // that were loaded, as a scheduler has them in memory
	raised  int
}

type modelURL struct {
	state    crawl.RecordState
	band     crawl.Band
	order    int64 // of the admission, or of its last move
	life     int64 // when it was queued last
	attempts int
	refetch  bool
	planned  bool // it is planned, or was when it was queued
	missing  bool // the last answer was 404
	scored   bool // its band may become better
	raised   int
}

func newModel(t *testing.T, rng *rand.Rand, r *running) *model {
	return &model{
		t:       t,
		rng:     rng,
		r:       r,
		urls:    map[string]*modelURL{},
		outbox:  map[crawl.Partition]int64{},
		current: map[crawl.Partition]crawl.Epoch{0: 1, 1: 1, 2: 1},
	}
}

// someLinks draws links from a small world, so that most are known.
func (m *model) someLinks(n int) []crawl.Routed {
	var out []crawl.Routed
	host, p, band := m.rng.IntN(4), m.rng.IntN(4), m.rng.IntN(3)
	alike := m.rng.IntN(3) // 0: most are of one host and band, as on a page, and new
	if alike == 0 {
		n *= 5
	}
	for range n {
		l := link(fmt.Sprintf("http://h%d.p%d.test/%d", m.rng.IntN(4), m.rng.IntN(4), m.rng.IntN(60)))
		l.Target.Band = crawl.Band(m.rng.IntN(3))
		if alike == 0 && m.rng.IntN(12) > 0 {
			l = link(fmt.Sprintf("http://h%d.p%d.test/%d", host, p, m.rng.IntN(2000)))
			l.Target.Band = crawl.Band(band)
		}
		l.Target.Again = m.rng.IntN(20) == 0
		out = append(out, l)
	}
	return out
}

// expect is what Add should say of a link, and takes it over.
func (m *model) expect(l *crawl.Routed) Admission {
	if m.current[l.Partition] == 0 {
		return NotHolder
	}
	u := m.urls[l.Target.URL.String()]
	m.clock++
	switch {
	case u == nil && l.Target.OnlyKnown():
		return Refused
	case u == nil:
		u = &modelURL{state: crawl.Queued, band: l.Target.Band, order: m.clock, life: m.clock}
		m.urls[l.Target.URL.String()] = u
		if o := m.r.Order(); o != nil {
			_, u.band, u.scored = o.Admit(&l.Target, day)
		}
		return Added
	case l.Target.Again && u.state != crawl.Queued:
		*u = modelURL{
			state:   crawl.Queued,
			band:    l.Target.Band,
			order:   m.clock,
			life:    m.clock,
			refetch: true,
			planned: u.planned,
			missing: u.missing,
		}
		return Added
	}
	m.dups++
	return Known
}

func (m *model) step(reopen func() storage.KV) {
	m.t.Helper()
	if m.judge != nil && m.rng.IntN(4) == 0 {
		m.plan()
		return
	}
	if m.r.Order() != nil && m.rng.IntN(6) == 0 {
		m.raise()
		return
	}
	switch k := m.rng.IntN(100); {
	case k < 35:
		links := m.someLinks(m.rng.IntN(12))
		got, err := m.r.Add(m.t.Context(), links)
		m.r.must(err)
		for i := range links {
			if want := m.expect(&links[i]); got[i] != want {
				m.t.Fatalf("%s is %v, want %v", links[i].Target.URL, got[i], want)
			}
		}
	case k < 85:
		m.visit()
	case k < 90:
		p, host := m.someHost()
		m.r.must(m.r.Park(m.t.Context(),
			[]Parked{{
				Partition: p,
				Host:      host,
				State:     crawl.HostState{NotBefore: day.Add(-1 * 3600e9 * 24)},
			}}))
	case k < 92:
		m.failHost()
	case k < 94:
		p, _ := m.someHost()
		out, err := m.r.Outbox(p, layout.OutboxKey{}, 3)
		m.r.must(err)
		m.r.must(m.r.AckOutbox(m.t.Context(), out))
		m.outbox[p] -= int64(len(out))
	case k < 95:
		m.note()
	case k < 96:
		m.compare()
	case k < 98:
		m.moveOntoItself()
	default:
		_ = m.r.stop()
		var j Planner
		if m.judge != nil {
			m.judge = m.judge.next()
			j = m.judge
		}
		by := m.r.Order()
		m.r = startWith(m.t, reopen(), commit.Options{CacheEntries: 64}, j)
		m.r.SetOrder(by)
	}
}

func (m *model) someHost() (crawl.Partition, crawl.Host) {
	p := crawl.Partition(m.rng.IntN(3))
	return p, crawl.Host(fmt.Sprintf("h%d.p%d.test", m.rng.IntN(4), p))
}

// visit completes the first queued URL of a host, which must be the oldest of
// the best band.
func (m *model) visit() {
	m.t.Helper()
	p, host := m.someHost()
	q := m.r.load(p, string(host), 1+m.rng.IntN(3))
	if len(q.Items) == 0 {
		if n := m.queuedOf(host); n > 0 {
			m.t.Fatalf("%s: nothing was loaded of %d", host, n)
		}
		return
	}
	it := q.Items[0]
	for _, it := range q.Items {
		m.old = append(m.old, oldItem{it, m.urls[it.URL.String()].life})
	}
	u := m.urls[it.URL.String()]
	for raw, other := range m.urls {
		if other.state == crawl.Queued && layout.HostOf(mustURL(raw)) == host &&
			(other.band < u.band || other.band == u.band && other.order < u.order) {
			m.t.Fatalf("%s came before %s", it.URL, raw)
		}
	}
	if u.state != crawl.Queued || u.attempts != it.Attempts {
		m.t.Fatalf("item %+v, want %+v", it, u)
	}
	m.complete(p, host, it, u)
}

// complete ends a visit of an item, whose place may be an old one.
func (m *model) complete(p crawl.Partition, host crawl.Host, it crawl.Item, u *modelURL) {
	m.t.Helper()
	c := Completion{
		Lease:  crawl.Lease{Partition: p, Epoch: m.current[p], Host: host, Item: it},
		Host:   crawl.HostState{NotBefore: day},
		Own:    m.someLinks(m.rng.IntN(6)),
		Outbox: m.someLinks(m.rng.IntN(2)),
	}
	switch m.rng.IntN(5) {
	case 0:
		c.Outcome = crawl.Outcome{Kind: crawl.URLFailed}
		c.RetryAt = day
		u.attempts++
	case 1:
		c.Outcome = crawl.Outcome{Kind: crawl.URLFailed}
		m.giveUp(u)
	case 2:
		c.Outcome = crawl.Outcome{Kind: crawl.HostFailed}
	default:
		c.Outcome = fetched
		m.pages++
		if m.judge != nil && m.rng.IntN(3) == 0 {
			c.Outcome = crawl.Outcome{Kind: crawl.Fetched, Status: 404}
		}
		m.done(u, c.Outcome.Status == 404)
	}
	m.r.must(m.r.Complete(m.t.Context(), c))
	if u.state == crawl.Queued {
		m.old = append(m.old, oldItem{it, u.life}) // it was put back
	}
	for i := range c.Own {
		if m.expect(&c.Own[i]) == NotHolder {
			m.outbox[p]++
		}
	}
	m.outbox[p] += int64(len(c.Outbox))
}

func (m *model) queuedOf(host crawl.Host) (n int) {
	for raw, u := range m.urls {
		if u.state == crawl.Queued && layout.HostOf(mustURL(raw)) == host {
			n++
		}
	}
	return n
}

func (m *model) failHost() {
	m.t.Helper()
	p, host := m.someHost()
	n, err := m.r.FailHost(m.t.Context(), p, host, "dead")
	m.r.must(err)
	if want := m.queuedOf(host); n != want {
		m.t.Fatalf("%s: %d failed, want %d", host, n, want)
	}
	for raw, u := range m.urls {
		if u.state == crawl.Queued && layout.HostOf(mustURL(raw)) == host {
			m.giveUp(u)
		}
	}
}

// done is a URL that was answered: planned, but for one that is missing again and forgotten.
func (m *model) done(u *modelURL, missing bool) {
	switch {
	case m.judge == nil:
		*u = modelURL{state: crawl.Done}
	case missing && u.missing:
		*u = modelURL{state: crawl.Failed, missing: true}
		m.failed++
	default:
		*u = modelURL{state: crawl.Done, planned: true, missing: missing}
	}
}

// giveUp is a URL that was not answered: one that was planned keeps what is known of it.
func (m *model) giveUp(u *modelURL) {
	if u.planned {
		*u = modelURL{state: crawl.Done, planned: true, missing: u.missing}
		return
	}
	*u = modelURL{state: crawl.Failed, missing: u.missing}
	m.failed++
}

// plan moves due pages into their queues, or has them planned anew; old lists as well.
func (m *model) plan() {
	m.t.Helper()
	p, _ := m.someHost()
	ds := m.r.dueAt(p, soon(), m.rng.IntN(8))
	if at, ok, err := m.r.DueHead(p); err != nil || len(ds) > 0 && (!ok || !at.Equal(ds[0].At)) {
		m.t.Fatalf("the head is %v, %v, %v; the first %v", at, ok, err, ds[0].At)
	}
	if m.rng.IntN(3) == 0 {
		_, err := m.r.Replan(m.t.Context(), ds)
		m.r.must(err)
		ds = ds[:m.rng.IntN(len(ds)+1)] // they have other times now
		if n := m.r.moveDue(ds); n != 0 {
			m.t.Fatalf("%d pages were moved that were planned anew", n)
		}
		return
	}
	if n := m.r.moveDue(append(ds, ds...)); n != len(ds) {
		m.t.Fatalf("%d of %d pages were moved", n, len(ds))
	}
	for _, d := range ds {
		u := m.urls[m.urlOf(d)]
		if u.state != crawl.Done || !u.planned {
			m.t.Fatalf("due: %+v", u)
		}
		m.clock++
		*u = modelURL{
			state:   crawl.Queued,
			order:   m.clock,
			life:    m.clock,
			refetch: true,
			planned: true,
			missing: u.missing,
		}
	}
}

// urlOf is the URL of a due page.
func (m *model) urlOf(d Due) string {
	for raw := range m.urls {
		if layout.FingerprintOf(raw) == d.Fingerprint {
			return raw
		}
	}
	m.t.Fatalf("due: no page has fingerprint %x", d.Fingerprint)
	return ""
}

// moveOntoItself exports a partition and imports it in a higher epoch.
func (m *model) moveOntoItself() {
	m.t.Helper()
	ctx := m.t.Context()
	p, _ := m.someHost()
	e, err := m.r.Export(ctx, p, nil)
	m.r.must(err)
	defer e.Close()
	m.r.must(m.r.Freeze(ctx, p))
	m.r.must(m.r.Transition(ctx, p,
		func(m *layout.Meta) error { m.State = layout.Released; return nil }))
	i, err := m.r.BeginImport(ctx, p)
	m.r.must(err)
	m.r.must(e.Snapshot(ctx, 500, func(es []storage.Entry) error { return i.Put(ctx, es) }))
	m.current[p]++
	m.r.must(i.CommitCopy(ctx, m.current[p]-1))
	m.r.must(m.r.promote(p, m.current[p]))
}

func (m *model) compare() {
	m.t.Helper()
	m.r.check()
	var queued, outbox int64
	for raw, u := range m.urls {
		rec := m.r.record(raw)
		if rec.State != u.state ||
			u.state == crawl.Queued && (rec.Attempts != u.attempts || rec.Band != u.band) {
			m.t.Fatalf("%s: %+v, want %+v", raw, rec, u)
		}
		if u.state == crawl.Queued {
			queued++
		}
	}
	for _, n := range m.outbox {
		outbox += n
	}
	c := m.r.Totals()
	if c.Seen != int64(len(m.urls)) || c.QueuedTotal() != queued || c.Duplicates != m.dups ||
		c.Pages != m.pages || c.Failed != m.failed || c.Outbox != outbox {
		m.t.Fatalf(
			"counters = %+v, want seen %d, queued %d, duplicates %d, pages %d, failed %d, outbox %d",
			c, len(m.urls), queued, m.dups, m.pages, m.failed, outbox)
	}
}
