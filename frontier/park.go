package frontier

import (
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// Parked is a host that leaves memory.
type Parked struct {
	Partition crawl.Partition
	Host      crawl.Host
	State     crawl.HostState // as in Completion.Host
	// Stays: it does not leave. Only its state is written: a start that finds it in the wake index too
	// early reads the state as well.
	Stays bool
}

// parkPiece is the number of hosts in one request.
const parkPiece = 500

// Park writes the states of hosts that leave memory, and their places in the
// wake index. It also finds the true heads of their queues, so that a later
// Load does not walk over the remains of what was fetched. Hosts of partitions
// that are not held here, or are frozen, are left alone; the others are parked
// and the error is ErrNotHolder.
func (f *Frontier) Park(ctx context.Context, hosts []Parked) error {
	var missed error
	for len(hosts) > 0 {
		piece := hosts[:min(len(hosts), parkPiece)]
		hosts = hosts[len(piece):]
		heads, err := f.heads(piece)
		if err != nil {
			return fmt.Errorf("frontier: parking hosts: %w", err)
		}
		err = f.change(ctx, func(g group) error {
			for i := range piece {
				if !g.park(&piece[i], heads[i]) {
					missed = fmt.Errorf("%w: partition %d, when host %s was parked", commit.ErrNotHolder,
						piece[i].Partition, piece[i].Host)
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("frontier: parking hosts: %w", err)
		}
	}
	return missed
}

// heads finds the first live entry of each queue of the hosts. It reads
// outside the writer: since entries are never added below the tail, an old
// head is still a lower bound when it is written.
func (f *Frontier) heads(hosts []Parked) ([]reader.Cursor, error) {
	heads := make([]reader.Cursor, len(hosts))
	for i := range hosts {
		m, _ := f.Meta(hosts[i].Partition)
		if m.State != layout.Holder || hosts[i].Stays {
			continue
		}
		// A chain that begins at the head and reads one entry of each band.
		if err := f.headsOf(&hosts[i], &heads[i]); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

func (f *Frontier) headsOf(h *Parked, heads *reader.Cursor) error {
	v, err := f.w.Read(h.Partition)
	if err != nil {
		return err
	}
	defer v.Close()
	e, err := v.Host(h.Host)
	if err != nil || e == nil || e.Inline != nil {
		return err
	}
	*heads, err = v.Heads(h.Host, e)
	return err
}

// park writes the state of one host; false when the partition is not served here.
func (g group) park(p *Parked, heads reader.Cursor) bool {
	pg := g.part(p.Partition)
	if !pg.State.Serves() {
		return false
	}
	e := pg.Host(p.Host)
	if e.Fresh && p.State.Requests == 0 && p.State.HoldUntil.IsZero() && e.HoldUntil.IsZero() {
		return true // nothing waits, and nothing was asked that it could remember
	}
	pg.setState(e, pg.State.Line.WriteHost(p.State))
	for b := range e.Bands {
		e.Bands[b].Head = max(e.Bands[b].Head, min(heads[b], e.Bands[b].Next))
	}
	e.Parked = e.Parked || !p.Stays
	pg.Touch(e)
	return true
}

// failPiece is the number of URLs that FailHost fails in one request.
const failPiece = 200

// FailHost gives a host up: all its queued URLs fail with the reason. It
// returns how many these were. Nothing of the host may be leased.
func (f *Frontier) FailHost(
	ctx context.Context,
	p crawl.Partition,
	host crawl.Host,
	reason string,
) (int, error) {
	failed := 0
	var cursor reader.Cursor
	for {
		q, err := f.Load(p, host, cursor, failPiece)
		if err != nil {
			return failed, fmt.Errorf("frontier: failing host %s: %w", host, err)
		}
		if len(q.Items) == 0 {
			return failed, nil
		}
		cursor = q.Next
		n := 0
		err = f.change(ctx, func(g group) (err error) {
			n, err = g.failItems(p, host, q.Items, reason)
			return err
		})
		if err != nil {
			return failed, fmt.Errorf("frontier: failing host %s: %w", host, err)
		}
		failed += n
	}
}

// failItems fails those of the items that are still queued.
func (g group) failItems(
	p crawl.Partition,
	host crawl.Host,
	items []crawl.Item,
	reason string,
) (int, error) {
	pg := g.part(p)
	if !pg.State.Serves() {
		return 0, fmt.Errorf("%w: partition %d", commit.ErrNotHolder, p)
	}
	n := 0
	for i := range items {
		it := &items[i]
		q, ok := pg.slotOf(host, it)
		if !ok {
			continue
		}
		pg.finalise(host, &q, &crawl.Outcome{Kind: crawl.HostFailed, Reason: reason}, crawl.Failed, 0)
		n++
	}
	return n, nil
}
