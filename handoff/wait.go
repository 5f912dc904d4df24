package handoff

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/handoff/acks"
)

// Tenure names the running tenure of a partition, for Await. A caller asks before it
// stores something: what was stored in one tenure is not acknowledged by the
// replicas of another, which may have begun without it.
func (d *Driver) Tenure(p crawl.Partition) Tenure {
	t := Tenure{P: p}
	if k := d.opts.Store.Kept(p); k.State == Holding {
		t.Epoch = k.Epoch
	}
	return t
}

// Await returns when everything that is in the partitions now is on the disks of their in-sync
// sets. It sets one error for each tenure: nil when it is. With full it also waits until a set has
// as many members as factor and cluster allow. The errors are ErrNotAcknowledged, also when another
// tenure runs by now, ErrSilent, and ctx's. After an error what was to be acknowledged may be
// stored all the same.
func (d *Driver) Await(ctx context.Context, ts []Tenure, full bool, errs []error) {
	var few [8]*acks.Waiter // most callers wait for one partition
	waits := few[:0]
	for i, t := range ts {
		var w *acks.Waiter
		k := d.opts.Store.Kept(t.P)
		if errs[i] = ErrNotAcknowledged; k.State == Holding && k.Epoch == t.Epoch {
			w, errs[i] = d.acks.Wait(t, k.Seq, full)
		}
		waits = append(waits, w)
	}
	for i, w := range waits {
		if w != nil {
			errs[i] = d.acks.Await(ctx, ts[i].P, w)
		}
	}
}
