package transfer

import (
	"context"
	"log/slog"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/storage"
	"crawlnode/local/datadir"
	"crawlnode/membership"
)

// foundedMark is a file in the data directory, beside the frontier: this node has founded the
// partitions of its cluster.
const foundedMark = "founded"

// Founder gives the founder of a cluster all its partitions, empty.
type Founder struct {
	Dir      *datadir.Dir
	Frontier *frontier.Frontier
	// Store is what the frontier is in.
	Store storage.KV
	// Room is nil when the disk has room for a new node, else the error that Found returns.
	Room   func() error
	Logger *slog.Logger
}

// Founded reports whether this node has founded the partitions of its cluster.
func (f Founder) Founded() bool { return f.Dir.Has(foundedMark) }

// Begin founds the partitions, or judges what a lone node has of them.
func (f Founder) Begin(ctx context.Context, v *membership.View, self crawl.NodeID) error {
	if err := f.Found(ctx, v, self); err != nil {
		return err
	}
	return f.Remains(ctx, v, self)
}

// Found founds the partitions when self is the founder and has not done so. The
// first view is on disk before they are, so a founder that finds nothing else
// does what a crash has prevented. The mark keeps a founder whose frontier was deleted
// from founding all partitions again while other nodes hold them.
func (f Founder) Found(ctx context.Context, v *membership.View, self crawl.NodeID) error {
	if m, _ := v.Member(self); m.Since != 1 || f.Founded() {
		if f.Founded() && len(f.Frontier.Metas()) == 0 {
			f.Logger.Error("the frontier of this node is gone from its data directory; "+
				"what no other node has a copy of is lost", "data", f.Dir.Path())
		}
		return nil
	}
	if len(f.Frontier.Metas()) > 0 {
		return f.mark()
	}
	if err := f.Room(); err != nil {
		return err // an earlier start ended before this, and the disk has filled up since
	}
	ps := make([]crawl.Partition, v.Cluster.Partitions)
	for i := range ps {
		ps[i] = crawl.Partition(i)
	}
	if err := f.Frontier.Found(ctx, ps, 1); err != nil {
		return datadir.Failed("found the partitions", err)
	}
	records := make([]frontier.SetRecord, len(ps))
	for i, p := range ps {
		records[i] = frontier.SetRecord{Partition: p, Epoch: 1, Version: 1, Members: []crawl.NodeID{self}}
	}
	if err := f.Frontier.PutSets(ctx, records); err != nil {
		return datadir.Failed("found the partitions", err)
	}
	return f.mark()
}

func (f Founder) mark() error {
	if err := datadir.WriteSynced(f.Dir.Join(foundedMark),
		[]byte("the partitions of this cluster were founded by this node\n")); err != nil {
		return datadir.Failed("note that the partitions were founded", err)
	}
	return nil
}
