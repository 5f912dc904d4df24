package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
)

// claimed is a claim that the disk confirms.
type claimed struct {
	at    int // in the claims
	claim *crawl.LeaseClaim
	host  crawl.Host
	item  crawl.Item
	until time.Time // the host is held
}

// Adopt opens visits for claims of which Reserve wrote, here or at an earlier holder of the
// partition, that their lease lasts: the host is still held for it, and the URL still queued. It
// returns a visit for each claim, those with the ID 0 were not opened. The caller calls Release and
// Completed for the others. After crawl.ErrMoving some may be opened later.
func (d *Dispatcher) Adopt(
	ctx context.Context,
	claims []crawl.LeaseClaim,
) (visits []crawl.Visit, err error) {
	visits = make([]crawl.Visit, len(claims))
	var left []claimed
	var moving error
	for i := range claims {
		c, ok, err := d.confirm(&claims[i])
		switch {
		case errors.Is(err, frontier.ErrNotHolder):
			moving = crawl.ErrMoving
		case err != nil:
			return visits, fmt.Errorf("dispatch: look up the lease of %s: %w", claims[i].URL, err)
		case ok:
			c.at = i
			left = append(left, c)
		}
	}
	for deadline := time.Now().Add(reservePatience); len(left) > 0; {
		var busy []claimed
		if err := d.call(ctx, func(now time.Time) { busy = d.loop.adopt(now, left, visits) }); err !=
			nil {
			return visits, err
		}
		if left = busy; len(left) > 0 && (time.Now().After(deadline) || !crawl.Wait(ctx, reserveRetry)) {
			return visits, crawl.ErrMoving
		}
	}
	return visits, moving
}

// confirm looks on the disk whether a claim is good.
func (d *Dispatcher) confirm(c *crawl.LeaseClaim) (out claimed, ok bool, err error) {
	m, known := d.o.Store.Meta(c.Partition)
	if !known || m.State != frontier.Holder {
		return out, false, frontier.ErrNotHolder
	}
	host := crawl.Host(c.URL.Host())
	s, _, known, err := d.o.Store.Host(c.Partition, host)
	if err != nil || !known || c.Lease == 0 || s.Lease != c.Lease || !time.Now().Before(s.HoldUntil) {
		return out, false, err
	}
	rec, known, err := d.o.Store.Record(c.Partition, c.URL)
	if err != nil || !known || rec.State != crawl.Queued {
		return out, false, err
	}
	var from frontier.Cursor
	for b := range from {
		from[b] = math.MaxUint64
	}
	from[rec.Band] = rec.Seq
	q, err := d.o.Store.Load(c.Partition, host, from, 1)
	if err != nil || len(q.Items) == 0 || q.Items[0].URL != c.URL {
		return out, false, err
	}
	return claimed{claim: c, host: host, item: q.Items[0], until: s.HoldUntil}, true, nil
}

// adopt opens visits, and returns the claims that must wait: the host is being read or written, or
// nothing may be fetched in the partition now.
func (l *loop) adopt(now time.Time, claims []claimed, visits []crawl.Visit) (busy []claimed) {
	for _, c := range claims {
		h := l.held[c.claim.Partition]
		_, loading := l.loading[c.host]
		switch {
		case h == nil || h.frozen || h.dropped || loading || l.leaving[c.host] ||
			len(l.flying[c.host]) > 0:
			busy = append(busy, c)
		case !l.core.Has(c.host):
			l.load(h, c.host)
			busy = append(busy, c)
		default:
			v, ok := l.claim(now, h, &c)
			if !ok {
				busy = append(busy, c)
			}
			visits[c.at] = v
		}
	}
	return busy
}

// claim opens one visit. False: it is not the time.
func (l *loop) claim(now time.Time, h *holding, c *claimed) (crawl.Visit, bool) {
	if !l.allowed(now, crawl.Visit{Lease: crawl.Lease{Partition: h.partition}}, true) {
		return crawl.Visit{}, false
	}
	v, ok := l.core.Claim(now, c.host, c.claim.Lease, c.item)
	if !ok {
		l.giveBack()
		return crawl.Visit{}, true // somebody else was first
	}
	v.Epoch = h.epoch
	w := make(waiter, 1)
	if !l.send(v, h, w, true, false) {
		l.core.Release(now, v.ID,
			crawl.Response{Kind: crawl.Aborted, RetryAfter: c.until.Sub(now), Lease: c.claim.Lease})
		l.core.Completed(now, v.ID)
		return crawl.Visit{}, false
	}
	return (<-w).visit, true
}

// giveBack returns a permit that was not used.
func (l *loop) giveBack() { l.d.o.Node.PermitDone(false) }
