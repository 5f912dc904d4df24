package search

import (
	"context"
	"errors"
	"slices"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/texts"
	"crawlnode/importance/opic"
	"crawlnode/search/index"
	"crawlnode/web/urlnorm"
)

// round brings the next changes into the index. more says that others wait.
func (x *Indexer) round(ctx context.Context, rules *Rules) (more bool, err error) {
	metas := x.metas()
	if err := x.forget(ctx, metas, rules); err != nil {
		return false, err
	}
	r := gathering{rules: rules, moved: map[crawl.Partition]cursor{}}
	for i := range metas {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		more, err = x.gather(&r, &metas[i])
		if err != nil {
			return false, err
		}
		if more {
			break
		}
	}
	if len(r.moved) == 0 {
		x.note(false)
		return false, nil
	}
	if err := x.index.Apply(ctx, r.batch); err != nil {
		return false, err
	}
	x.mu.Lock()
	for p, c := range r.moved {
		x.cursors.Partitions[p] = &c
	}
	x.mu.Unlock()
	x.note(more)
	return more, x.cursors.write(x.o.Dir)
}

// metas are the partitions that this node has whole, held or copied.
func (x *Indexer) metas() (metas []frontier.Meta) {
	x.o.Store.Walk(func(m *frontier.Meta) bool {
		if readable(m) {
			metas = append(metas, *m)
		}
		return true
	})
	slices.SortFunc(metas, func(a, b frontier.Meta) int { return int(a.Partition) - int(b.Partition) })
	return metas
}

// readable reports whether a partition is here, and nothing known is missing in it.
func readable(m *frontier.Meta) bool { return m.State != frontier.Absent && !m.Suspect }

// note keeps since when something waits.
func (x *Indexer) note(waits bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case !waits:
		x.behind = x.o.Now()
	case x.behind.IsZero():
		x.behind = x.o.Now()
	}
}

// forget takes out the partitions that are gone from this node, or are here as another copy than
// the one that was read, or that have lost their end. Under other rules all are read again.
func (x *Indexer) forget(ctx context.Context, metas []frontier.Meta, rules *Rules) error {
	here := map[crawl.Partition]*frontier.Meta{}
	for i := range metas {
		here[metas[i].Partition] = &metas[i]
	}
	var gone []uint32
	for p := range x.index.Partitions() {
		if c := x.cursors.Partitions[crawl.Partition(p)]; c == nil ||
			!follows(c, here[crawl.Partition(p)]) {
			gone = append(gone, p)
		}
	}
	if len(gone) > 0 {
		if err := x.index.RemovePartition(ctx, gone...); err != nil {
			return err
		}
	}
	x.mu.Lock()
	changed := false
	for p, c := range x.cursors.Partitions {
		if !follows(c, here[p]) {
			delete(x.cursors.Partitions, p)
			changed = true
		}
	}
	if x.cursors.Rules != rules.Version {
		for _, c := range x.cursors.Partitions {
			c.Again, c.Position.Key = true, texts.Position{}.Key
		}
		x.cursors.Rules, changed = rules.Version, true
	}
	x.mu.Unlock()
	if !changed {
		return nil
	}
	return x.cursors.write(x.o.Dir)
}

// follows reports whether a cursor is of what the node has of the partition.
func follows(c *cursor, m *frontier.Meta) bool {
	return m != nil && c.Position.Generation == m.Generation && c.Position.Seq() <= uint64(m.Seq)
}

// gathering is what one round has read.
type gathering struct {
	rules *Rules
	batch index.Batch
	bytes int
	moved map[crawl.Partition]cursor
	// changed: it has changes, and not only what is read again for its importance.
	changed bool
}

func (r *gathering) full() bool {
	return len(r.batch.Remove) >= roundDocuments || r.bytes >= roundBytes
}

// gather reads on in a partition. more says that the round is full and the partition has more.
func (x *Indexer) gather(r *gathering, m *frontier.Meta) (more bool, err error) {
	c := cursor{Position: texts.Position{Generation: m.Generation}}
	if known := x.cursors.Partitions[m.Partition]; known != nil {
		c = *known
	}
	if c.Changes >= m.Counters.TextChanges && !c.Again {
		if r.changed || !r.rules.Ranked || !c.outgrown(m.Counters.Texts) {
			return false, nil
		}
		// nothing else waits, as far as this round has looked
		c.Again, c.Position.Key = true, texts.Position{}.Key
	} else if !c.Again {
		r.changed = true
	}
	if r.full() {
		return true, nil
	}
	to, whole, err := x.o.Store.TextChanges(m.Partition, c.Position, func(t texts.Change) bool {
		x.take(r, m.Partition, &t)
		return !r.full()
	})
	switch {
	case errors.Is(err, texts.ErrOtherCopy), errors.Is(err, frontier.ErrNotHolder):
		return false, nil // it has changed since: the next round sees what it is
	case err != nil:
		return false, err
	}
	c.Position = to
	switch {
	case !whole:
	case c.Again, c.Changes == 0: // all of them have their present importance
		c.Changes, c.Again, c.Scored = m.Counters.TextChanges, false, m.Counters.Texts
	default:
		c.Changes = m.Counters.TextChanges
	}
	r.moved[m.Partition] = c
	return !whole, nil
}

// take adds a change to the batch. What the index has of the URL goes out in any case, so that the
// newest change wins whatever clock the page was fetched by.
func (x *Indexer) take(r *gathering, p crawl.Partition, t *texts.Change) {
	r.batch.Remove = append(r.batch.Remove, index.Removal{URL: t.URL})
	if len(t.Document) == 0 || r.rules.Excludes != nil && r.rules.Excludes(t.URL) {
		return
	}
	d, err := x.unpack.document(t.Document)
	if err != nil {
		x.o.Log.Error("a document cannot be read and is not in the index", "url", t.URL, "error", err)
		return
	}
	d.URL, d.Partition, d.Anchors = t.URL, uint32(p), t.Anchors
	if r.rules.Ranked {
		d.Importance = x.importance(p, t.URL)
	}
	r.batch.Put = append(r.batch.Put, d)
	r.bytes += len(d.Text) + len(d.Headings)
}

// importance is that of a page, in units of the mean page, as far as it was computed; 0: nothing is
// known.
func (x *Indexer) importance(p crawl.Partition, raw string) float64 {
	u, err := urlnorm.ParseStored(raw)
	if err != nil {
		return 0 // a URL that an older release took
	}
	a, ok, err := x.o.Store.Account(p, u)
	if err != nil || !ok { // the partition has gone since: the next round sees it
		return 0
	}
	return float64(max(a.Total(), 0)) / float64(opic.Unit)
}

// rescoreAfter is by what factor the documents of a partition grow until they are read again for
// their importance. What a page is worth counts by its logarithm, so it need not be newer; and all
// together read no more than a third more.
const rescoreAfter = 4

// leastRescored is the number of documents of a partition below which importance says little.
const leastRescored = 8

// outgrown reports whether the documents of a partition that was read to its end are to be read
// again for their importance.
func (c *cursor) outgrown(documents int64) bool {
	return !c.Again && documents >= leastRescored && documents >= rescoreAfter*max(c.Scored, 1)
}
