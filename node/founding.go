package node

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/membership"
	"crawlnode/node/crawldoc"
	"crawlnode/node/datadir"
)

// foundedMark is a file in the data directory.
const foundedMark = "founded"

// foundDocument makes the founder's settings those of the cluster: newer than those that
// a joiner has begun with, so that these never win, even if the joiner is seeded first.
func (n *Node) foundDocument() error {
	if !n.foundsDocument() {
		return nil
	}
	_, err := n.doc.Change(func(d *crawldoc.Document) *crawldoc.Document { return d.With(d.Settings, n.id, time.Now()) })
	n.documentChanged()
	return err
}

// foundsDocument reports whether this node is a founder whose settings are not the
// cluster's yet. It tells nobody of its document before they are.
func (n *Node) foundsDocument() bool {
	v := n.members.Snapshot().View
	if v == nil || n.doc.Current().Doc.Version > 0 {
		return false
	}
	self, _ := v.Member(n.id)
	return self.Since == 1 && !n.dir.Has(foundedMark)
}

// foundPartitions gives the founder of a cluster all its partitions, empty. The
// first view is on disk before they are, so a start that finds itself as the
// founder, with nothing, does what a crash kept from being done. A mark beside the frontier
// says that it was done: a founder whose frontier was deleted must not found all
// partitions again beside those who hold them.
func (n *Node) foundPartitions(ctx context.Context, snap *membership.Snapshot) error {
	v := snap.View
	self, _ := v.Member(n.id)
	if self.Since != 1 || n.dir.Has(foundedMark) {
		if n.dir.Has(foundedMark) && len(n.front.Metas()) == 0 {
			n.log.Error("the frontier of this node is gone from its data directory; what no other node has a copy of is lost", "data", n.dir.Path())
		}
		return nil
	}
	if len(n.front.Metas()) > 0 {
		return n.markFounded()
	}
	if err := n.space.RoomForNew(); err != nil {
		return err // an earlier start did not come so far, and the disk has filled up since
	}
	ps := make([]crawl.Partition, v.Cluster.Partitions)
	for i := range ps {
		ps[i] = crawl.Partition(i)
	}
	if err := n.front.Found(ctx, ps, 1); err != nil {
		return datadir.Failed("found the partitions", err)
	}
	records := make([]frontier.SetRecord, len(ps))
	for i, p := range ps {
		records[i] = frontier.SetRecord{Partition: p, Epoch: 1, Version: 1, Members: []crawl.NodeID{n.id}}
	}
	if err := n.front.PutSets(ctx, records); err != nil {
		return datadir.Failed("found the partitions", err)
	}
	return n.markFounded()
}

// markFounded notes beside the frontier that there was one.
func (n *Node) markFounded() error {
	if err := datadir.WriteSynced(n.dir.Join(foundedMark), []byte("the partitions of this cluster were founded by this node\n")); err != nil {
		return datadir.Failed("note that the partitions were founded", err)
	}
	return nil
}
