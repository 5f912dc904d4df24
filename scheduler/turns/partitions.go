package turns

import (
	"context"

	"crawlnode/crawl"
)

// Partitions is what is told of partitions that come and go, as handoff tells it.
type Partitions interface {
	Freeze(ctx context.Context, p crawl.Partition) error
	Resume(p crawl.Partition)
	Drop(p crawl.Partition)
	Hold(p crawl.Partition, epoch crawl.Epoch)
}

// Beside tells t of partitions that come and go as well: before rest, so that no turn is given in a
// partition that was let go. view is the number of the installed view.
func (t *Turns) Beside(rest Partitions, view func() crawl.Epoch) Partitions {
	return beside{rest, t, view}
}

type beside struct {
	rest  Partitions
	turns *Turns
	view  func() crawl.Epoch
}

// hold begins to keep the addresses of p. In the first view of all nobody can have kept them
// before.
func (b beside) hold(p crawl.Partition) { b.turns.Hold(p, b.view() != 1) }

func (b beside) Hold(p crawl.Partition, epoch crawl.Epoch) {
	b.hold(p)
	b.rest.Hold(p, epoch)
}

// Resume may come long after Freeze, and turns given before may last.
func (b beside) Resume(p crawl.Partition) {
	b.hold(p)
	b.rest.Resume(p)
}

func (b beside) Freeze(ctx context.Context, p crawl.Partition) error {
	b.turns.Drop(p)
	return b.rest.Freeze(ctx, p)
}

func (b beside) Drop(p crawl.Partition) {
	b.turns.Drop(p)
	b.rest.Drop(p)
}
