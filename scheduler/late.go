package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/web/urlnorm"
)

// Late opens the queued URL of a result that comes when no visit of it is open. The visit has the
// ID 0: its host has no turn for it, so Release and Completed do nothing, and its politeness stays
// as it is. It fails with crawl.ErrMoving when it may be tried again.
func (d *Dispatcher) Late(
	ctx context.Context,
	p crawl.Partition,
	u urlnorm.URL,
) (v crawl.Visit, s crawl.LateState, err error) {
	v, s, err = d.late(ctx, p, u)
	switch {
	case errors.Is(err, frontier.ErrNotHolder):
		return v, s, crawl.ErrMoving
	case err != nil:
		return v, s, fmt.Errorf("dispatch: a late result of %s: %w", u, err)
	}
	return v, s, nil
}

func (d *Dispatcher) late(
	ctx context.Context,
	p crawl.Partition,
	u urlnorm.URL,
) (v crawl.Visit, s crawl.LateState, err error) {
	m, known := d.o.Store.Meta(p)
	if !known || m.State != frontier.Holder {
		return v, s, frontier.ErrNotHolder
	}
	host := crawl.Host(u.Host())
	rec, known, err := d.o.Store.Record(p, u)
	switch {
	case err != nil:
		return v, s, err
	case !known:
		return v, crawl.LateUnknown, nil
	case rec.State != crawl.Queued:
		return v, crawl.LateOver, nil
	}
	// From here on the host's turn does not find it in memory. It may be read again before it is
	// completed; then it is fetched once more.
	underWay, err := d.Withdraw(ctx, host, u.String())
	if err != nil || underWay {
		return v, crawl.LateTaken, err
	}
	var from frontier.Cursor
	for b := range from {
		from[b] = math.MaxUint64
	}
	from[rec.Band] = rec.Seq
	q, err := d.o.Store.Load(p, host, from, 1)
	if err != nil {
		return v, s, err
	}
	if len(q.Items) == 0 || q.Items[0].URL != u {
		return v, crawl.LateOver, nil
	}
	it := q.Items[0]
	it.NotBefore = time.Time{}
	return crawl.Visit{
		Late:    true,
		Lease:   crawl.Lease{Partition: p, Epoch: m.Epoch, Host: host, Item: it},
		Retries: d.retries(&it),
	}, crawl.LateOpen, nil
}
