package frontier

import (
	"context"
	"fmt"
	"slices"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
)

// setPiece is the number of records in one request.
const setPiece = 1_000

// PutSets records in-sync sets, each unless this node has the same or a newer
// one of the partition. All are on disk before it returns, with one sync.
func (f *Frontier) PutSets(ctx context.Context, records []layout.SetRecord) error {
	for i := range records {
		if err := records[i].Valid(); err != nil {
			return fmt.Errorf("frontier: recording in-sync sets: %w", err)
		}
	}
	for len(records) > 0 {
		piece := records[:min(len(records), setPiece)]
		records = records[len(piece):]
		// The sync of the last piece covers those before.
		err := f.do(ctx,
			&commit.Request{Sync: len(records) == 0, Small: true, Apply: f.in(func(g group) error {
				g.putSets(piece)
				return nil
			})})
		if err != nil {
			return fmt.Errorf("frontier: recording in-sync sets: %w", err)
		}
	}
	return nil
}

// putSets keeps those of the records that are newer. Sets are shown with the
// commit; within the group the last one of a partition may not be the newest,
// so they are compared with those before them too.
func (g group) putSets(records []layout.SetRecord) {
	for i := range records {
		r := records[i]
		old, ok := g.Sets[r.Partition]
		if !ok {
			old, ok = g.f.Set(r.Partition)
		}
		if ok && !r.Newer(&old) {
			continue
		}
		r.Members = slices.Clone(r.Members)
		if g.Sets == nil {
			g.Sets = map[crawl.Partition]layout.SetRecord{}
		}
		g.Sets[r.Partition] = r
		g.Put(layout.SetKey(r.Partition), layout.EncodeSet(&r))
	}
}
