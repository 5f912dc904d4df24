package frontier

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/result"
	"crawlnode/frontier/texts"
	"crawlnode/web/urlnorm"
)

// Admission says what Add did with a URL.
type Admission uint8

// The admissions.
const (
	// Added: it waits in its host's queue, durably.
	Added Admission = iota + 1
	// Known: there is a record already. Counted as a duplicate.
	Known
	// NotHolder: the partition is not held here, or is frozen. Nothing was
	// changed; send the URL to the holder.
	NotHolder
	// Refused: it is not known, and was asked for once more; or it looks like a trap, and its host has
	// used up its budget of such URLs. Counted as skipped; no record is made.
	Refused
)

var admissionNames = [...]string{"none", "added", "known", "not_holder", "refused"}

func (a Admission) String() string { return admissionNames[min(int(a), len(admissionNames)-1)] }

// Add admits URLs to the queues of their hosts, in their order, and returns
// what became of each. It is durable on return. A Target with Again puts a URL
// that was fetched, failed or refused back into the queue, with its
// validators. A queued URL that comes with a smaller depth takes that depth; only
// for a seed is that sure, since other URLs that were seen a moment ago are not
// looked up. A long list is cut into several atomic pieces: after an error,
// some URLs may have been added; adding them again is harmless.
func (f *Frontier) Add(ctx context.Context, urls []crawl.Routed) ([]Admission, error) {
	admissions := make([]Admission, len(urls))
	for from := 0; from < len(urls); {
		to := from + f.w.Budget.Cut(urls[from:])
		piece, out := urls[from:to], admissions[from:to]
		err := f.change(ctx, func(g group) error {
			g.admit(part{}, piece, out)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("frontier: adding %d URLs: %w", len(urls), err)
		}
		from = to
	}
	return admissions, nil
}

// candidate is a URL whose admission is being decided.
type candidate struct {
	i     int // in the list
	pg    part
	key   xxh3.Uint128 // in the cache
	fp    layout.Fingerprint
	rel   []byte  // key of its record, where a look-up is needed
	found *lookup // what that found; nil: there was none
	more  bool    // the next one is new and of the same host, but for repeats
}

// missing is what a look-up finds of a URL that the filters do not know.
var missing lookup

// admit decides on each URL and writes what follows. It sets out[i]. URLs that are known
// are counted in home: a partition that only knows a link is not written for it. Without
// a home the first of the URLs' own partitions that serves counts them.
func (g group) admit(home part, urls []crawl.Routed, out []Admission) {
	keys := g.cacheKeys(urls, out)
	// The cache is far larger than the processor's, and these reads wait for memory; one
	// behind the other, with nothing between them, they wait together.
	fresh, known := 0, 0
	for i := range keys {
		t := &urls[i].Target
		// What a person names is rare, and has to be looked at: see lowerDepth.
		if out[i] != NotHolder && (t.Again || t.CookieCheck || t.Via.Named() || !t.Claimed.IsZero() ||
			!g.f.w.Cache.Has(keys[i]) || t.Anchor != "" && !g.f.w.Cache.Has(texts.Vote(keys[i], t))) {
			out[i] = Added // or what is found out below
			fresh++
		}
	}
	cs := slices.Grow(g.f.candidates[:0], fresh)
	for i := range out {
		t := &urls[i].Target
		switch out[i] {
		case NotHolder:
			continue
		case Added:
			cs = append(cs, candidate{
				i:     i,
				pg:    g.part(urls[i].Partition),
				key:   keys[i],
				fp:    layout.FingerprintOf(t.URL.String()),
				found: &missing,
			})
		default:
			out[i] = Known
			known++
		}
		if home.Part == nil {
			home = g.part(urls[i].Partition)
		}
	}
	g.confirm(urls, cs)
	for i := range cs {
		c := &cs[i]
		c.more = c.found == &missing && i+1 < len(cs) && cs[i+1].found == &missing &&
			urls[cs[i+1].i].Target.URL.Host() == urls[c.i].Target.URL.Host()
		if out[c.i] = c.pg.admitOne(&urls[c.i].Target, c); out[c.i] == Known {
			known++
		}
	}
	g.f.flushBlocks()
	clear(cs) // they point at records and at the group
	g.f.candidates = cs[:0]
	if known > 0 {
		home.State.Counters.Duplicates += int64(known)
		home.Mutated = true
	}
}

// cacheKeys returns the URLs' keys in the cache, good until the next call. It sets
// out[i] to NotHolder, or to 0.
func (g group) cacheKeys(urls []crawl.Routed, out []Admission) []xxh3.Uint128 {
	keys := slices.Grow(g.f.keys[:0], len(urls))[:len(urls)]
	g.f.keys = keys
	var s *layout.PartState
	for i := range urls {
		// Most links are to the page's own host: one look into the map is enough.
		if p := urls[i].Partition; s == nil || s.Partition != p {
			s = g.StateOf(p)
		}
		if s == nil || !s.Serves() {
			out[i] = NotHolder
			continue
		}
		out[i] = 0
		keys[i] = g.f.w.Cache.Key(layout.Generation{Partition: s.Partition, Number: s.Generation},
			urls[i].Target.URL.String())
	}
	return keys
}

// confirm looks up, in the order of the keys, those URLs of which the filters
// say maybe.
func (g group) confirm(urls []crawl.Routed, cs []candidate) {
	var maybes []*candidate
	for i := range cs {
		c := &cs[i]
		if c.pg.Live.Filter == nil || c.pg.Live.Filter.Maybe(c.fp) {
			c.rel = layout.AppendRecordKey(nil, layout.HostOf(urls[c.i].Target.URL), c.fp)
			maybes = append(maybes, c)
		}
	}
	slices.SortFunc(maybes, func(a, b *candidate) int {
		if a.pg != b.pg {
			return int(a.pg.State.Partition) - int(b.pg.State.Partition)
		}
		return bytes.Compare(a.rel, b.rel)
	})
	for _, c := range maybes {
		c.found = new(c.pg.lookup(urls[c.i].Target.URL, c.fp))
	}
}

// lookup is the place of a URL's record.
type lookup struct {
	probe uint64              // the fingerprint's: of the record, or the first that is free
	ok    bool                // there is a record
	rec   layout.StoredRecord // with ok
}

// lookup finds the record of a URL. The records of one host that share a
// fingerprint stand under it and those that follow it; none is ever deleted.
func (pg part) lookup(u urlnorm.URL, fp layout.Fingerprint) lookup {
	h := layout.HostOf(u)
	for n := uint64(0); n < layout.MaxProbes; n++ {
		v, ok := pg.Get(layout.AppendRecordKey(pg.Scratch(), h, fp.Probe(n)))
		if !ok && n == 0 {
			return pg.lookupInline(u, h)
		}
		if !ok {
			return lookup{probe: n}
		}
		rec, err := layout.DecodeRecord(v)
		if err != nil {
			pg.Group.Fail(fmt.Errorf("%w of %s", err, u))
			return lookup{}
		}
		if rec.Is(u) {
			return lookup{probe: n, ok: true, rec: rec}
		}
	}
	pg.Group.Fail(fmt.Errorf("%w: %d URLs share the fingerprint of %s", layout.ErrCorrupt,
		layout.MaxProbes, u))
	return lookup{}
}

// lookupInline finds the URL if it is the only one of its host, which has no record.
func (pg part) lookupInline(u urlnorm.URL, h crawl.Host) lookup {
	rec, ok, err := pg.Host(h).Inline.Record(u)
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w of %s", err, u))
	}
	return lookup{ok: ok, rec: rec}
}

// Skip counts links that were refused before they came here, by partition. Of a
// partition that is not held here nothing is counted.
func (f *Frontier) Skip(ctx context.Context, skipped map[crawl.Partition]crawl.SkipCounts) error {
	if len(skipped) == 0 {
		return nil
	}
	err := f.change(ctx, func(g group) error {
		for p, counts := range skipped {
			pg := g.part(p)
			if !pg.State.Serves() {
				continue
			}
			for i, n := range counts {
				pg.State.Counters.Skipped[i] += n
			}
			pg.Mutated = true
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("frontier: counting refused links: %w", err)
	}
	return nil
}

// admitOne decides on a URL, knowing what the store said before the request.
func (pg part) admitOne(t *crawl.Target, c *candidate) Admission {
	found := *c.found
	host := layout.HostOf(t.URL)
	if !found.ok {
		// The group may have added the host's only URL, maybe the same one.
		if found = pg.lookupInline(t.URL, host); !found.ok {
			found.probe = c.found.probe
			pg.split(host, pg.Host(host))
		}
	}
	if pg.Written(layout.AppendRecordKey(pg.Scratch(), host, c.fp)) {
		// The group has written this record, maybe for the same URL.
		found = pg.lookup(t.URL, c.fp)
	}
	if found.ok {
		pg.Seen = append(pg.Seen, c.key)
		pg.anchor(t, c, found.probe)
		if found.rec.State == crawl.Queued && t.Depth < found.rec.Depth {
			pg.lowerDepth(t, c.fp, &found)
		}
		again := t.Again || t.CookieCheck && redirected(&found.rec.Record) ||
			t.Via.Named() && removedByHand(&found.rec.Record)
		if !again || found.rec.State == crawl.Queued {
			pg.claim(t, c.fp.Probe(found.probe), &found)
			return Known
		}
		pg.requeue(t, c.fp, &found)
		return Added
	}
	if t.OnlyKnown() {
		return Refused
	}
	e := pg.Host(host)
	if most := pg.f.o.SuspiciousPerHost(); t.Suspicious && most > 0 && e.Suspicious >= most {
		pg.State.Counters.Skipped[crawl.SkipHostBudget]++
		pg.Mutated = true
		return Refused
	}
	q := layout.QueueEntry{
		Probe:    found.probe,
		Item:     itemOf(t),
		Referrer: layout.ReferrerOf(t.From, host),
	}
	if o := pg.f.Order(); o != nil {
		pg.score(o, t, e, &q)
	}
	if entry := q.Encode(); e.Fresh && !c.more && len(entry) <= layout.MaxInline {
		q.Item.Seq = takeNumber(e, q.Item.Band)
		e.Inline = &layout.InlineURL{Band: q.Item.Band, Seq: q.Item.Seq, Entry: entry}
	} else {
		q.Item.Seq = pg.addEntry(host, e, q.Item.Band, entry, c.more)
		rec := crawl.Record{Item: q.Item, State: crawl.Queued}
		pg.Set(layout.AppendRecordKey(pg.Scratch(), host, c.fp.Probe(found.probe)),
			layout.EncodeRecord(&rec))
	}
	pg.countQueued(e, host, &q.Item)
	pg.State.Counters.Seen++
	if e.Fresh {
		e.Fresh = false
		pg.State.Counters.Hosts++
	}
	if t.Suspicious {
		e.Suspicious++
	}
	pg.Learn(c.fp)
	pg.Seen = append(pg.Seen, c.key)
	pg.anchor(t, c, found.probe)
	return Added
}

// redirected reports whether the last answer of a URL was a redirect.
func redirected(rec *crawl.Record) bool {
	return rec.State == crawl.Done && rec.Status/100 == 3 && rec.Status != result.NotModified
}

// anchor keeps the text of a link for the index.
func (pg part) anchor(t *crawl.Target, c *candidate, probe uint64) {
	if t.Anchor != "" {
		texts.NoteAnchor(pg.Part, c.fp.Probe(probe), t)
		pg.Seen = append(pg.Seen, texts.Vote(c.key, t))
	}
}

// take gives an item the next number in its host's queue.
func (pg part) take(e *commit.Host, host crawl.Host, it *crawl.Item) {
	pg.f.flushBlocks() // what comes later in the list is behind it
	it.Seq = takeNumber(e, it.Band)
	pg.countQueued(e, host, it)
}

// countQueued counts an item that has its number.
func (pg part) countQueued(e *commit.Host, host crawl.Host, it *crawl.Item) {
	e.Bands[it.Band].Queued++
	pg.Touch(e)
	pg.State.Counters.Queued[it.Band]++
	if it.Revisit {
		pg.State.Counters.QueuedRevisits++
	}
	pg.NoteQueued(host, it.Band)
}

// requeue puts a known URL back into its queue, with its validators. What the
// last fetch brought stays in the record until the next one is over.
func (pg part) requeue(t *crawl.Target, fp layout.Fingerprint, found *lookup) {
	host := layout.HostOf(t.URL)
	rec := found.rec.Record
	pg.withdraw(host, fp.Probe(found.probe), &rec)
	etag, modified := rec.ETag, rec.LastModified
	if rec.DepthCut && t.Depth < rec.Depth || t.CookieCheck {
		// an answer 304 would not bring the links, or the page, that are wanted now
		etag, modified = "", ""
	}
	rec.Item = itemOf(t)
	if t.OnlyKnown() {
		rec.Depth, rec.Hops, rec.Via = min(t.Depth, found.rec.Depth), found.rec.Hops, found.rec.Via
	}
	rec.ETag, rec.LastModified = etag, modified
	rec.State, rec.Reason = crawl.Queued, ""
	pg.take(pg.Host(host), host, &rec.Item)
	pg.Set(layout.AppendQueueKey(pg.Scratch(), host, rec.Band, rec.Seq),
		layout.EncodeQueued(&rec.Item, true, found.probe))
	pg.Set(layout.AppendRecordKey(pg.Scratch(), host, fp.Probe(found.probe)),
		layout.EncodeRecord(&rec))
}

func itemOf(t *crawl.Target) crawl.Item {
	return crawl.Item{
		URL:     t.URL,
		Band:    min(t.Band, crawl.Bands-1),
		Depth:   t.Depth,
		Hops:    t.Hops,
		Via:     t.Via,
		Cookies: t.Cookies,
	}
}
