package guests

import (
	"context"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/web/urlnorm"
)

// Due is a guest whose time has come, the first of its queue.
type Due struct {
	Partition crawl.Partition
	Crawl     string
	Host      crawl.Host
	URL       urlnorm.URL
	Metadata  crawl.Metadata
	fp        layout.Fingerprint
	due       uint64
	next      *uint64 // where the queue's second guest waits; nil: it has none
	changes   uint64  // of the queue
}

// Wait is a queue that stands too early in the index of those that wait: where it belongs.
type Wait struct {
	partition crawl.Partition
	crawl     string
	host      crawl.Host
	changes   uint64
	at        *uint64 // nil: it has no guest that waits
}

// Found is what a search has found.
type Found struct {
	Guests []Due
	Early  []Wait // for Settle
}

// limitLook is how often it is looked whether the limit of a queue is still reached.
const limitLook = time.Minute

// maxLooked bounds the queues that one search looks at in a partition.
const maxLooked = 4096

// DueGuests finds up to n queues of a held partition with a guest whose time has come: of a crawl,
// or with "" of all; of one host, or with "" of any; and not those that skip names. Queues that are
// blocked, that must be left alone for their delay or that are over their limit have none. With a
// host a limit does not count.
func (t *Table) DueGuests(
	p crawl.Partition,
	id string,
	host crawl.Host,
	now time.Time,
	n int,
	skip func(crawl.Host) bool,
) (f Found, err error) {
	m, line, err := t.w.Held(p)
	if err != nil || m.Counters.GuestsActive <= 0 {
		return f, err
	}
	v, err := t.w.Read(p)
	if err != nil {
		return f, err
	}
	defer v.Close()
	s := search{
		v:    v,
		p:    p,
		now:  layout.MillisOf(line.Write(now)),
		at:   line.Write(now),
		most: n,
		skip: skip,
		out:  &f,
	}
	ids := []string{id}
	if id == "" {
		if ids, err = crawlsOf(v); err != nil {
			return f, err
		}
	}
	for _, id := range ids {
		if s.sums, err = sumsOf(v, id); err != nil {
			return f, err
		}
		if s.sums.Active <= 0 || len(f.Guests) >= n {
			continue
		}
		if host != "" {
			s.named = true
			err = s.look(id, host)
		} else {
			err = s.crawl(id)
		}
		if err != nil {
			return f, fmt.Errorf(
				"frontier: URLs of %q that are due in partition %d: %w",
				id,
				p,
				err,
			)
		}
	}
	return f, nil
}

// crawlsOf are the crawls of a partition.
func crawlsOf(v *reader.Partition) (ids []string, err error) {
	prefix := layout.AppendSumsKey(nil, "")
	it := v.Iterate(prefix)
	defer it.Close()
	for it.Seek(v.Abs(prefix)); it.Valid(); it.Next() {
		ids = append(ids, layout.CrawlOfSumsKey(it.Key()[layout.PrefixLen:]))
	}
	return ids, nil
}

func sumsOf(v *reader.Partition, id string) (s layout.GuestSumsEntry, err error) {
	b, ok, err := v.Get(layout.AppendSumsKey(nil, id))
	if err != nil || !ok {
		return s, err
	}
	return layout.DecodeGuestSums(b)
}

func queueOf(
	v *reader.Partition,
	id string,
	host crawl.Host,
) (q layout.GuestQueueEntry, ok bool, err error) {
	b, ok, err := v.Get(layout.AppendGuestQueueKey(nil, id, host))
	if err != nil || !ok {
		return q, false, err
	}
	q, err = layout.DecodeGuestQueue(b)
	return q, err == nil, err
}

// search looks for guests.
type search struct {
	v     *reader.Partition
	p     crawl.Partition
	now   uint64
	at    time.Time // now on the timeline
	most  int
	skip  func(crawl.Host) bool
	named bool // one queue is asked for by its name
	sums  layout.GuestSumsEntry
	out   *Found
}

// crawl looks at the queues of a crawl, those that wait for the longest first.
func (s *search) crawl(id string) error {
	prefix := layout.AppendGuestWakePrefix(nil, id)
	it := s.v.Iterate(prefix)
	defer it.Close()
	looked := 0
	for it.Seek(s.v.Abs(prefix)); it.Valid() && len(s.out.Guests) < s.most &&
		looked < maxLooked; it.Next() {
		ms, host, ok := layout.ParseGuestWakeKey(it.Key()[layout.PrefixLen:], id)
		if !ok {
			return fmt.Errorf("%w: place of a queue", layout.ErrCorrupt)
		}
		if ms > s.now {
			return nil
		}
		looked++
		if s.skip != nil && s.skip(host) {
			continue
		}
		if err := s.look(id, host); err != nil {
			return err
		}
	}
	return nil
}

// look reads the first guest of a queue.
func (s *search) look(id string, host crawl.Host) error {
	q, ok, err := queueOf(s.v, id, host)
	if err != nil || !ok {
		return err
	}
	early := func(at *uint64) {
		if q.Awake && (at == nil || *at > q.Wake) {
			s.out.Early = append(s.out.Early, Wait{s.p, id, host, q.Changes, at})
		}
	}
	wait := q.Blocked
	if d := delayOf(&q, &s.sums); d > 0 && !q.Last.IsZero() {
		wait = crawl.Latest(wait, q.Last.Add(d))
	}
	if wait.After(s.at) {
		ms := layout.MillisOf(wait)
		early(&ms)
		return nil
	}
	if limit := limitOf(&q, &s.sums); limit > 0 && q.URLs-q.Active >= limit && !s.named {
		ms := s.now + uint64(limitLook.Milliseconds()) // the limit may be raised
		early(&ms)
		return nil
	}
	first, second, err := s.heads(id, host)
	switch {
	case err != nil:
		return err
	case first == nil || first.ms > s.now:
		if first == nil {
			early(nil)
		} else {
			early(&first.ms)
		}
		return nil
	}
	b, ok, err := s.v.Get(layout.AppendGuestKey(nil, id, host, first.fp))
	if err != nil || !ok {
		return err
	}
	e, err := layout.DecodeGuest(b)
	if err != nil {
		return err
	}
	u, err := layout.JoinURL(host, e.HTTPS, e.Rest)
	if err != nil {
		return err
	}
	d := Due{
		Partition: s.p,
		Crawl:     id,
		Host:      host,
		URL:       u,
		Metadata:  e.Metadata,
		fp:        first.fp,
		due:       first.ms,
		changes:   q.Changes,
	}
	if second != nil {
		d.next = &second.ms
	}
	s.out.Guests = append(s.out.Guests, d)
	return nil
}

func delayOf(q *layout.GuestQueueEntry, s *layout.GuestSumsEntry) time.Duration {
	if q.Delayed {
		return q.Delay
	}
	return s.Delay
}

func limitOf(q *layout.GuestQueueEntry, s *layout.GuestSumsEntry) int64 {
	if q.Limit > 0 {
		return q.Limit
	}
	return s.Limit
}

// place is where a guest waits.
type place struct {
	ms uint64
	fp layout.Fingerprint
}

// heads reads the places of the first two guests of a queue; nil: there is none.
func (s *search) heads(id string, host crawl.Host) (first, second *place, err error) {
	prefix := layout.AppendGuestDuePrefix(nil, id, host)
	it := s.v.Iterate(prefix)
	defer it.Close()
	for it.Seek(s.v.Abs(prefix)); it.Valid() && second == nil; it.Next() {
		ms, fp, ok := layout.ParseGuestDueKey(it.Key()[layout.PrefixLen:])
		if !ok {
			return nil, nil, fmt.Errorf("%w: place of a URL", layout.ErrCorrupt)
		}
		if first == nil {
			first = &place{ms, fp}
		} else {
			second = &place{ms, fp}
		}
	}
	return first, second, nil
}

// Settle moves queues that stand too early to where they belong, unless they have changed since.
// Nobody must wait for it.
func (t *Table) Settle(ctx context.Context, early []Wait) error {
	for len(early) > 0 {
		some := early[:min(len(early), piece)]
		early = early[len(some):]
		err := t.change(ctx, entries*len(some), 300*len(some), func(g *commit.Group) error {
			for i := range some {
				w := &some[i]
				pg := g.Part(w.partition)
				if !pg.State.Serves() {
					continue
				}
				q := open(pg, w.crawl, w.host)
				if q.entry.Changes != w.changes || !q.entry.Awake {
					continue
				}
				if w.at == nil {
					q.sleep()
				} else {
					q.wake(*w.at)
				}
				q.close()
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("frontier: moving queues of other crawls: %w", err)
		}
	}
	return nil
}

// Take has guests stay away for as long as hold says, because they are given out, and reports of
// each whether it was still to be. It is durable on return.
func (t *Table) Take(ctx context.Context, due []Due, hold time.Duration) (taken []bool, err error) {
	taken = make([]bool, len(due))
	for from := 0; from < len(due); from += piece {
		some, out := due[from:min(from+piece, len(due))], taken[from:]
		err := t.change(ctx, entries*len(some), (4<<10+800)*len(some), func(g *commit.Group) error {
			for i := range some {
				out[i] = take(g.Part(some[i].Partition), &some[i], hold)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("frontier: giving out URLs of other crawls: %w", err)
		}
	}
	return taken, nil
}

func take(pg *commit.Part, d *Due, hold time.Duration) bool {
	if !pg.State.Serves() {
		return false
	}
	key := layout.AppendGuestKey(nil, d.Crawl, d.Host, d.fp)
	e, size, ok := guest(pg, key)
	if !ok || !e.Active || e.Due != d.due || !layout.SameURL(d.URL, e.HTTPS, e.Rest) {
		return false
	}
	q := open(pg, d.Crawl, d.Host)
	unchanged := q.entry.Changes == d.changes
	q.leave(d.fp, &e)
	now := pg.State.Line.Write(pg.Group.Now.Now)
	until := layout.MillisOf(now.Add(hold))
	e.Leased = true
	q.wait(d.fp, &e, until)
	q.entry.Last = now // also without a delay: one that is set later counts from here
	if unchanged {
		next := until
		if d.next != nil {
			next = min(next, *d.next)
		}
		q.wake(next)
	}
	set(pg, key, size, &e)
	q.close()
	return true
}

// Return has a guest that was given out, and that nobody will report on, be given out again after
// wait.
func (t *Table) Return(ctx context.Context, d *Due, wait time.Duration) error {
	return t.change(ctx, entries, 4<<10, func(g *commit.Group) error {
		pg := g.Part(d.Partition)
		key := layout.AppendGuestKey(nil, d.Crawl, d.Host, d.fp)
		if !pg.State.Serves() {
			return nil // it comes back when its time is over, wherever it is
		}
		e, size, ok := guest(pg, key)
		if !ok || !e.Active || !e.Leased || !layout.SameURL(d.URL, e.HTTPS, e.Rest) {
			return nil
		}
		q := open(pg, d.Crawl, d.Host)
		q.leave(d.fp, &e)
		e.Leased = false
		q.wait(d.fp, &e, layout.MillisOf(pg.State.Line.Write(pg.Group.Now.Now.Add(wait))))
		set(pg, key, size, &e)
		q.close()
		return nil
	})
}
