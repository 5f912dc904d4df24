package guests

import (
	"context"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/web/urlnorm"
)

// MaxCrawls bounds the crawls of which a partition has guests.
const MaxCrawls = 1000

const (
	piece      = 500
	pieceBytes = 256 << 10
	// entries is what one guest changes at most: itself, its place and the one before, its queue,
	// the queue's place and the one before, the sums.
	entries = 8
)

// Table has the guests of one writer's partitions. Its methods may be called from many goroutines.
type Table struct{ w *commit.Writer }

// New makes a Table.
func New(w *commit.Writer) *Table { return &Table{w: w} }

// Put is a guest that a client puts.
type Put struct {
	Partition crawl.Partition
	Crawl     string // valid (layout.ValidCrawl)
	URL       urlnorm.URL
	Metadata  crawl.Metadata
	// Known: it is a result, which takes the place of what was known. Otherwise a guest that is
	// known stays as it is.
	Known   bool
	Refetch int64 // with Known: when it is wanted again, in seconds since 1970; 0: never
}

// PutGuests stores guests, durably, and says of each whether it is refused: the crawl would be one
// too many, or the guest cannot be told from another. It fails with commit.ErrNotHolder when one of
// the partitions is not held here; then some may be stored, and putting all again is harmless.
func (t *Table) PutGuests(ctx context.Context, puts []Put) (refused []error, err error) {
	refused = make([]error, len(puts))
	for from := 0; from < len(puts); {
		to, size := from, 0
		for to < len(puts) && to-from < piece && (to == from || size < pieceBytes) {
			size += puts[to].Metadata.Size() + len(
				puts[to].URL.String(),
			) + 4*len(
				puts[to].Crawl,
			) + 500
			to++
		}
		some, out := puts[from:to], refused[from:to]
		err := t.change(ctx, entries*len(some), size, func(g *commit.Group) error {
			for i := range some {
				if !g.Part(some[i].Partition).State.Serves() {
					return notHolder(some[i].Partition)
				}
			}
			for i := range some {
				out[i] = put(g.Part(some[i].Partition), &some[i])
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("frontier: storing %d URLs of other crawls: %w", len(some), err)
		}
		from = to
	}
	return refused, nil
}

func notHolder(p crawl.Partition) error {
	return fmt.Errorf("%w: partition %d", commit.ErrNotHolder, p)
}

func (t *Table) change(
	ctx context.Context,
	entries, size int,
	apply func(*commit.Group) error,
) error {
	return t.w.Do(ctx, &commit.Request{Patient: true, Entries: entries, Bytes: size, Apply: apply})
}

func put(pg *commit.Part, p *Put) error {
	host, fp := layout.HostOf(p.URL), layout.FingerprintOf(p.URL.String())
	q := open(pg, p.Crawl, host)
	key := layout.AppendGuestKey(nil, p.Crawl, host, fp)
	old, size, known := guest(pg, key)
	https, rest := layout.SplitURL(p.URL)
	now := pg.Group.Now
	switch {
	case known && !layout.SameURL(p.URL, old.HTTPS, old.Rest):
		return fmt.Errorf(
			"%s has the fingerprint of another URL",
			p.URL,
		) // once in 2^64 URLs of a host
	case known && !p.Known:
		return nil
	case !q.hasCrawl && crawls(pg) >= MaxCrawls:
		return crawl.ErrManyCrawls
	}
	e := layout.GuestEntry{
		HTTPS:    https,
		Rest:     rest,
		Metadata: p.Metadata,
		Known:    p.Known,
		Created:  now.Wall.Unix(),
		Active:   !p.Known || p.Refetch != 0,
	}
	if known {
		e.Created = old.Created
		q.leave(fp, &old)
	} else {
		q.entry.URLs++
		pg.State.Counters.Guests++
	}
	if e.Active {
		at := now.Now
		if e.Refetch = p.Refetch; e.Refetch != 0 {
			at = at.Add(time.Unix(e.Refetch, 0).Sub(now.Wall))
		}
		q.wait(fp, &e, layout.MillisOf(pg.State.Line.Write(at)))
	}
	set(pg, key, size, &e)
	q.close()
	return nil
}

// set writes a guest whose value had a size until now.
func set(pg *commit.Part, key []byte, size int, e *layout.GuestEntry) {
	v := layout.EncodeGuest(e)
	pg.State.Counters.NoteBytes += int64(len(v) - size)
	pg.Set(key, v)
}

// guest reads a guest within a group.
func guest(pg *commit.Part, key []byte) (e layout.GuestEntry, size int, ok bool) {
	v, ok := pg.Get(key)
	if !ok {
		return e, 0, false
	}
	e, err := layout.DecodeGuest(v)
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w in partition %d", err, pg.State.Partition))
		return e, 0, false
	}
	e.Rest = append([]byte(nil), e.Rest...) // the next read overwrites it
	return e, len(v), true
}

// crawls counts the crawls of a partition in the store, up to MaxCrawls. It is called for a crawl's
// first guest only.
func crawls(pg *commit.Part) (n int) {
	snap, ok := pg.Group.Snapshot()
	if !ok {
		return 0
	}
	prefix := layout.AppendSumsKey(
		layout.AppendPrefix(nil, pg.State.Partition, pg.State.Generation),
		"",
	)
	it := snap.Iterate(prefix)
	defer it.Close()
	for it.Seek(prefix); it.Valid() && n < MaxCrawls; it.Next() {
		n++
	}
	return n
}

// queue is a queue within a group, with the sums of its crawl.
type queue struct {
	pg       *commit.Part
	crawl    string
	host     crawl.Host
	entry    layout.GuestQueueEntry
	was      layout.GuestQueueEntry
	hasCrawl bool // there are sums of it
	sums     layout.GuestSumsEntry
}

func open(pg *commit.Part, id string, host crawl.Host) *queue {
	q := &queue{pg: pg, crawl: id, host: host}
	var err error
	if v, ok := pg.Get(layout.AppendGuestQueueKey(pg.Scratch(), id, host)); ok {
		q.entry, err = layout.DecodeGuestQueue(v)
	}
	if v, ok := pg.Get(layout.AppendSumsKey(pg.Scratch(), id)); ok && err == nil {
		q.hasCrawl = true
		q.sums, err = layout.DecodeGuestSums(v)
	}
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w: %q of host %s", err, id, host))
	}
	q.was = q.entry
	return q
}

// leave takes a guest out of those that wait.
func (q *queue) leave(fp layout.Fingerprint, e *layout.GuestEntry) {
	if e.Active {
		q.pg.Del(layout.AppendGuestDueKey(nil, q.crawl, q.host, e.Due, fp))
		q.entry.Active--
		q.pg.State.Counters.GuestsActive--
	}
}

// wait has a guest wait until a place on the timeline, and brings its queue forward.
func (q *queue) wait(fp layout.Fingerprint, e *layout.GuestEntry, ms uint64) {
	e.Due = ms
	q.pg.Set(layout.AppendGuestDueKey(nil, q.crawl, q.host, ms, fp), present)
	q.entry.Active++
	q.pg.State.Counters.GuestsActive++
	q.entry.Changes++
	if !q.entry.Awake || ms < q.entry.Wake {
		q.wake(ms)
	}
}

// present is the value of a key that says all.
var present = []byte{layout.FormatVersion}

// wake moves the queue in the index of those that wait.
func (q *queue) wake(ms uint64) {
	q.sleep()
	q.pg.Set(layout.AppendGuestWakeKey(nil, q.crawl, ms, q.host), present)
	q.entry.Awake, q.entry.Wake = true, ms
}

// sleep takes the queue out of that index.
func (q *queue) sleep() {
	if q.entry.Awake {
		q.pg.Del(layout.AppendGuestWakeKey(nil, q.crawl, q.entry.Wake, q.host))
		q.entry.Awake, q.entry.Wake = false, 0
	}
}

// close writes the queue and the sums. A queue without guests is forgotten, with what was set for
// it.
func (q *queue) close() {
	key := layout.AppendGuestQueueKey(nil, q.crawl, q.host)
	count := func(n *int64, was, is bool) {
		switch {
		case is && !was:
			*n++
		case was && !is:
			*n--
		}
	}
	count(&q.sums.Queues, q.was.URLs > 0, q.entry.URLs > 0)
	count(&q.sums.ActiveQueues, q.was.Active > 0, q.entry.Active > 0)
	q.sums.URLs += q.entry.URLs - q.was.URLs
	q.sums.Active += q.entry.Active - q.was.Active
	if q.entry.URLs <= 0 {
		q.sleep()
		q.pg.Del(key)
	} else {
		q.pg.Set(key, layout.EncodeGuestQueue(&q.entry))
	}
	if sums := layout.AppendSumsKey(nil, q.crawl); q.sums.URLs <= 0 {
		q.pg.Del(sums)
	} else {
		q.pg.Set(sums, layout.EncodeGuestSums(&q.sums))
	}
}
