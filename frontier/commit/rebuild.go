package commit

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/frontier/filters"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// maxDelta bounds what is remembered of a partition while its filter is being
// rebuilt; a partition that grows faster begins again.
const maxDelta = 1 << 20

// rebuild is a filter to be made: of which table of which partition.
type rebuild struct {
	partition crawl.Partition
	table     byte // TableRecords or TableContents
}

// rebuildFilters makes the filters that are missing or full, one at a time,
// from the keys of their table.
func (w *Writer) rebuildFilters(ctx context.Context) {
	for {
		r, ok := w.rebuilds.next(ctx)
		if !ok {
			return
		}
		make, what := w.rebuildFilter, "URL"
		if r.table == layout.TableContents {
			make, what = w.rebuildPayloads, "payload"
		}
		if err := make(ctx, r.partition); err != nil && !isStop(err) {
			w.log.Error("a Bloom filter was not rebuilt; every "+what+
				" of its partition is looked up in the store", "partition", r.partition, "err", err)
		}
	}
}

// rebuildFilter makes one filter: it opens a snapshot between two groups, from
// which point on the writer remembers what it adds, reads the records, and
// hands the filter over between two groups.
func (w *Writer) rebuildFilter(ctx context.Context, p crawl.Partition) error {
	var snap storage.Snapshot
	var gen layout.Generation
	var keys int64
	err := w.Alone(ctx, false, func(g *Group) (err error) {
		pg := g.Part(p)
		if pg.State.State != layout.Holder {
			return nil
		}
		if snap, err = w.KV.Snapshot(); err != nil {
			return err
		}
		gen, keys = pg.Gen(), pg.State.Counters.Seen+pg.State.Counters.Hosts
		pg.Live.rebuilding, pg.Live.delta = true, nil
		return nil
	})
	if err != nil || snap == nil {
		return err
	}
	fl, err := filters.ReadURLs(ctx, snap, gen, keys)
	snap.Close()
	return w.Alone(context.WithoutCancel(ctx), false, func(g *Group) error {
		pg := g.Part(p)
		if pg.Gen() != gen || !pg.Live.rebuilding {
			return nil // another generation; it has its own rebuild
		}
		delta := pg.Live.delta
		pg.Live.rebuilding, pg.Live.delta = false, nil
		if err != nil {
			return err
		}
		if len(delta) >= maxDelta {
			w.rebuilds.add(rebuild{p, layout.TableRecords})
			return nil
		}
		for _, fp := range delta {
			fl.Add(fp)
		}
		pg.Live.Filter = fl
		return nil
	})
}

// noteDelta remembers a URL for a filter that is being made.
func (p *Partition) noteDelta(fp layout.Fingerprint) {
	if p.rebuilding && len(p.delta) < maxDelta {
		p.delta = append(p.delta, fp)
	}
}
