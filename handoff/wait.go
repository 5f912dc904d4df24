package handoff

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/handoff/acks"
)

// Tenures names the running tenures of partitions, for Wait. A caller asks before it
// stores something: what was stored in one tenure is not acknowledged by the
// replicas of another, which may have begun without it.
func (d *Driver) Tenures(ps []crawl.Partition) []Tenure {
	ts := make([]Tenure, len(ps))
	for i, p := range ps {
		ts[i].P = p
		if k := d.opts.Store.Kept(p); k.State == Holding {
			ts[i].Epoch = k.Epoch
		}
	}
	return ts
}

// Wait returns when everything that is in the partitions now is on the disks of
// their in-sync sets: one error each, nil when it is. With full it also waits until
// a set has as many members as factor and cluster allow. The errors are
// ErrNotAcknowledged, also when another tenure runs by now, ErrSilent, and ctx's. After
// an error what was to be acknowledged may be stored all the same.
func (d *Driver) Wait(ctx context.Context, ts []Tenure, full bool) []error {
	waits, errs := make([]*acks.Waiter, len(ts)), make([]error, len(ts))
	for i, t := range ts {
		k := d.opts.Store.Kept(t.P)
		if k.State != Holding || k.Epoch != t.Epoch {
			errs[i] = ErrNotAcknowledged
			continue
		}
		waits[i], errs[i] = d.acks.Wait(t, k.Seq, full)
	}
	for i, w := range waits {
		if w == nil {
			continue
		}
		select {
		case errs[i] = <-w.Done():
		case <-ctx.Done():
			d.acks.Leave(ts[i].P, w)
			errs[i] = ctx.Err()
		}
	}
	return errs
}
