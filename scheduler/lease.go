package scheduler

import (
	"context"
	"errors"
	"time"

	"crawlnode/ticks"
)

// Lease is the node's own right to fetch, which the members grant: *membership.Membership.
type Lease interface {
	// Lease is the time that is left; 0: none.
	Lease() time.Duration
	// LeaseEnded receives when a lease has ended, maybe long ago: the machine stood still.
	LeaseEnded() <-chan struct{}
}

// ErrNoLease ends fetches of a node that may not fetch.
var ErrNoLease = errors.New("this node has no lease: it cannot reach enough members")

var errStoodStill = errors.New("this machine stood still, and others may have taken over")

// leaseLook is how often the lease is looked at while it is long.
const leaseLook = 200 * time.Millisecond

// FollowLease stops all fetches of d the moment the lease ends, and lets them continue
// when there is a new one (ownership rule 3). It returns when ctx ends.
func FollowLease(ctx context.Context, l Lease, d *Dispatcher) error {
	had := true
	for {
		left := l.Lease()
		switch {
		case left <= 0 && had:
			d.EndAll(ErrNoLease)
		case left > 0 && !had:
			d.Wake()
		}
		had = left > 0
		wait := max(left, leaseLook/4)
		if left > leaseLook {
			wait = ticks.Until(time.Now(), leaseLook)
		}
		again := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			again.Stop()
			return nil
		case <-l.LeaseEnded():
			// The new lease may be here already, and what was begun under the old one is void.
			d.EndAll(errStoodStill)
			had = false
		case <-again.C:
		}
		again.Stop()
	}
}
