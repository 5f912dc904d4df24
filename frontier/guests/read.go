package guests

import (
	"bytes"
	"context"
	"errors"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/web/urlnorm"
)

// held reads a held partition, for others may have newer guests of a copy; nil: it has none.
func (t *Table) held(p crawl.Partition) (*reader.Partition, error) {
	m, _, err := t.w.Held(p)
	if err != nil || m.Counters.Guests <= 0 {
		return nil, err
	}
	return t.w.Read(p)
}

// GuestSums adds the figures of a partition's crawls to sums, by crawl. It fails with
// commit.ErrNotHolder when the partition is not held here.
func (t *Table) GuestSums(p crawl.Partition, sums map[string]crawl.GuestSums) error {
	v, err := t.held(p)
	if err != nil || v == nil {
		return err
	}
	defer v.Close()
	prefix := layout.AppendSumsKey(nil, "")
	it := v.Iterate(prefix)
	defer it.Close()
	for it.Seek(v.Abs(prefix)); it.Valid(); it.Next() {
		value, err := it.Value()
		if err != nil {
			return err
		}
		e, err := layout.DecodeGuestSums(value)
		if err != nil {
			return err
		}
		id := layout.CrawlOfSumsKey(it.Key()[layout.PrefixLen:])
		s := sums[id]
		s.Add(
			crawl.GuestSums{
				Queues:       e.Queues,
				ActiveQueues: e.ActiveQueues,
				URLs:         e.URLs,
				Active:       e.Active,
			},
		)
		sums[id] = s
	}
	return nil
}

// GuestQueue reads a queue; false: it has no guest.
func (t *Table) GuestQueue(
	p crawl.Partition,
	id string,
	host crawl.Host,
) (q crawl.GuestQueue, ok bool, err error) {
	v, err := t.held(p)
	if err != nil || v == nil {
		return q, false, err
	}
	defer v.Close()
	e, ok, err := queueOf(v, id, host)
	return shown(v, host, &e), ok, err
}

func shown(v *reader.Partition, host crawl.Host, e *layout.GuestQueueEntry) crawl.GuestQueue {
	q := crawl.GuestQueue{Host: host, URLs: e.URLs, Active: e.Active}
	if !e.Blocked.IsZero() {
		q.Blocked = max(time.Until(v.Line.Read(e.Blocked)), 0)
	}
	return q
}

// GuestQueues reads up to n queues of a crawl behind a host, in the order of the hosts.
func (t *Table) GuestQueues(
	p crawl.Partition,
	id string,
	after crawl.Host,
	n int,
) (qs []crawl.GuestQueue, err error) {
	v, err := t.held(p)
	if err != nil || v == nil {
		return nil, err
	}
	defer v.Close()
	prefix := layout.AppendGuestQueueKey(nil, id, "")
	it := v.Iterate(prefix)
	defer it.Close()
	from := prefix
	if after != "" {
		from = append(layout.AppendGuestQueueKey(nil, id, after), 0)
	}
	for it.Seek(v.Abs(from)); it.Valid() && len(qs) < n; it.Next() {
		value, err := it.Value()
		if err != nil {
			return nil, err
		}
		e, err := layout.DecodeGuestQueue(value)
		if err != nil {
			return nil, err
		}
		qs = append(qs, shown(v, layout.HostOfGuestQueueKey(it.Key()[layout.PrefixLen:], id), &e))
	}
	return qs, nil
}

// Guest reads a guest; false: it is not known.
func (t *Table) Guest(
	p crawl.Partition,
	id string,
	u urlnorm.URL,
) (g crawl.GuestURL, ok bool, err error) {
	v, err := t.held(p)
	if err != nil || v == nil {
		return g, false, err
	}
	defer v.Close()
	host := layout.HostOf(u)
	b, ok, err := v.Get(layout.AppendGuestKey(nil, id, host, layout.FingerprintOf(u.String())))
	if err != nil || !ok {
		return g, false, err
	}
	e, err := layout.DecodeGuest(b)
	if err != nil || !layout.SameURL(u, e.HTTPS, e.Rest) {
		return g, false, err
	}
	return shownGuest(id, host, &e), true, nil
}

func shownGuest(id string, host crawl.Host, e *layout.GuestEntry) crawl.GuestURL {
	g := crawl.GuestURL{
		Crawl:    id,
		URL:      layout.JoinText(host, e.HTTPS, e.Rest),
		Host:     host,
		Known:    e.Known,
		Active:   e.Active,
		Refetch:  e.Refetch,
		Created:  e.Created,
		Metadata: e.Metadata,
	}
	if e.Active && g.Refetch == 0 { // it was never given a date: it was due when it was stored
		g.Refetch = e.Created
	}
	return g
}

// Position is a place in the list of a partition's guests; empty: the start.
type Position []byte

// ListGuests reads guests of a crawl behind a position, those of one host or, for "", of all, up to
// n that want takes and as many others as budget allows. next is nil behind the last.
func (t *Table) ListGuests(
	p crawl.Partition,
	id string,
	host crawl.Host,
	after Position,
	n, budget int,
	want func(url string) bool,
) (gs []crawl.GuestURL, next Position, err error) {
	v, err := t.held(p)
	if err != nil || v == nil {
		return nil, nil, err
	}
	defer v.Close()
	prefix := layout.AppendGuestsPrefix(nil, id, host)
	if len(after) > 0 && !bytes.HasPrefix(after, prefix) {
		return nil, nil, errors.New("the place in the list is of another list")
	}
	err = v.EachBehind(prefix, after, func(key []byte, it storage.Iterator) (more bool, err error) {
		h, _, ok := layout.ParseGuestKey(key, id)
		value, err := it.Value()
		if err != nil {
			return false, err
		}
		e, err := layout.DecodeGuest(value)
		if err == nil && !ok {
			err = layout.ErrCorrupt
		}
		if err != nil {
			return false, err
		}
		if g := shownGuest(id, h, &e); want(g.URL) {
			gs = append(gs, g)
		}
		if budget--; len(gs) >= n || budget <= 0 {
			next = bytes.Clone(key)
		}
		return next == nil, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return gs, next, nil
}

// Rule is what is set for a queue, or for all queues of a crawl. Nil: it stays.
type Rule struct {
	Block *time.Time // the zero time: it is not blocked
	Delay *time.Duration
	Limit *int64
}

// SetRule sets a rule of a queue, or, for the host "", of all queues of a crawl in this partition
// that have none of their own. It does nothing where there are no guests, and reports whether there
// were any. It is durable on return.
func (t *Table) SetRule(
	ctx context.Context,
	p crawl.Partition,
	id string,
	host crawl.Host,
	r Rule,
) (known bool, err error) {
	err = t.change(ctx, entries, 1000, func(g *commit.Group) error {
		pg := g.Part(p)
		if !pg.State.Serves() {
			return notHolder(p)
		}
		q := open(pg, id, host)
		if host == "" {
			known = q.hasCrawl
			if known {
				q.ruleAll(&r)
			}
			return nil
		}
		if known = q.entry.URLs > 0; known {
			q.rule(&r)
		}
		return nil
	})
	return known, err
}

// rule sets the rules of a queue, which may be given out at once by them.
func (q *queue) rule(r *Rule) {
	if r.Block != nil {
		q.entry.Blocked = q.pg.State.Line.Write(*r.Block)
	}
	if r.Delay != nil {
		q.entry.Delay, q.entry.Delayed = *r.Delay, true
	}
	if r.Limit != nil {
		q.entry.Limit = *r.Limit
	}
	q.entry.Changes++
	if q.entry.Active > 0 {
		q.wake(0)
	}
	q.close()
}

// ruleAll sets the rules of the crawl.
func (q *queue) ruleAll(r *Rule) {
	if r.Delay != nil {
		q.sums.Delay = *r.Delay
	}
	if r.Limit != nil {
		q.sums.Limit = *r.Limit
	}
	q.pg.Set(layout.AppendSumsKey(nil, q.crawl), layout.EncodeGuestSums(&q.sums))
}
