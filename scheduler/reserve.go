package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
)

// reserveRetry is how long Reserve waits for other visits of a host to be completed, and how often
// it looks.
const (
	reserveRetry    = 5 * time.Millisecond
	reservePatience = 500 * time.Millisecond
)

// Reserve writes to disk that the hosts of open visits must not be requested until their holds end,
// whoever holds them then. It is for visits whose requests this process does not make: nothing that
// happens to it ends them. The state is replaced when the visit is completed; until then Adopt
// finds the lease there. It reports which visits are reserved; the others must be given back.
//
// A state that another visit of the same host has under way might replace it, so Reserve waits for
// those.
func (d *Dispatcher) Reserve(
	ctx context.Context,
	visits []crawl.Visit,
	hold func(*crawl.Visit) crawl.LeaseHold,
) (kept []bool, err error) {
	kept = make([]bool, len(visits))
	missing := make([]int, len(visits))
	for i := range visits {
		missing[i] = i
	}
	for deadline := time.Now().Add(reservePatience); len(missing) > 0; {
		var hosts []frontier.Parked
		var ready, busy []int
		err := d.call(ctx, func(time.Time) { hosts, ready, busy = d.loop.reserve(visits, missing, hold) })
		if err != nil {
			return kept, err
		}
		if len(hosts) > 0 {
			switch err := d.o.Store.Park(ctx, hosts); {
			case errors.Is(err, frontier.ErrNotHolder):
				// not known of which; their visits are being taken back
				return kept, nil
			case err != nil:
				return kept, fmt.Errorf("dispatch: reserve %d hosts: %w", len(hosts), err)
			}
			for _, i := range ready {
				kept[i] = true
			}
		}
		if missing = busy; len(missing) == 0 || time.Now().After(deadline) ||
			!crawl.Wait(ctx, reserveRetry) {
			break
		}
	}
	return kept, nil
}

// reserve returns the states to write for those of the visits at the indexes that are alone on
// their hosts, and those that are not.
func (l *loop) reserve(
	visits []crawl.Visit,
	at []int,
	hold func(*crawl.Visit) crawl.LeaseHold,
) (hosts []frontier.Parked, ready, busy []int) {
	for _, i := range at {
		v := visits[i]
		f := l.flight(v.ID)
		if f == nil || f.stray || f.ctx.Err() != nil {
			continue
		}
		if len(l.flying[v.Host]) > 1 {
			busy = append(busy, i)
			continue
		}
		state, ok := l.core.HostState(v.ID)
		if !ok {
			continue
		}
		k := hold(&v)
		state.HoldUntil, state.Lease = crawl.Latest(state.HoldUntil, k.Until), k.Lease
		hosts = append(hosts,
			frontier.Parked{Partition: v.Partition, Host: v.Host, State: state, Stays: true})
		ready = append(ready, i)
	}
	return hosts, ready, busy
}
