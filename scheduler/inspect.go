package scheduler

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler/core"
)

// Inspect returns the state of a host in memory, for people; ok is false when it is not there. It
// waits for a turn of the loop; an error says that ctx or Run ended first.
func (d *Dispatcher) Inspect(
	ctx context.Context,
	host crawl.Host,
) (s core.HostSnapshot, ok bool, err error) {
	type seen struct {
		s  core.HostSnapshot
		ok bool
	}
	answer := make(chan seen, 1)
	if err := d.call(ctx, func(time.Time) {
		s, ok := d.loop.core.Snapshot(host)
		answer <- seen{s, ok}
	}); err != nil {
		return s, false, err
	}
	got := <-answer
	return got.s, got.ok, nil
}

// Withdraw takes a URL out of memory that is to leave its host's queue: core.Core.Withdraw. It
// waits like Inspect.
func (d *Dispatcher) Withdraw(
	ctx context.Context,
	host crawl.Host,
	url string,
) (underWay bool, err error) {
	answer := make(chan bool, 1)
	if err := d.call(ctx, func(now time.Time) {
		answer <- d.loop.core.Withdraw(now, host, url)
	}); err != nil {
		return false, err
	}
	return <-answer, nil
}

// Delete takes a URL out of memory that is deleted: core.Core.Delete. It waits like Inspect.
func (d *Dispatcher) Delete(ctx context.Context, host crawl.Host, url string) error {
	done := make(chan struct{})
	if err := d.call(ctx, func(now time.Time) {
		d.loop.core.Delete(now, host, url)
		close(done)
	}); err != nil {
		return err
	}
	<-done
	return nil
}

// SilentKeepers is what Turns.Silent says.
func (d *Dispatcher) SilentKeepers(patience time.Duration) (addresses int, longest time.Duration) {
	if d.o.Turns == nil {
		return 0, 0
	}
	return d.o.Turns.Silent(patience)
}

// LastFailure is why a host in memory was last unreachable; nil: it was reached, or it is not in
// memory. It waits like Inspect.
func (d *Dispatcher) LastFailure(ctx context.Context, host crawl.Host) (*crawl.HostFailure, error) {
	answer := make(chan *crawl.HostFailure, 1)
	if err := d.call(ctx, func(time.Time) {
		why := d.loop.causes[host].HostFailure
		if why != (crawl.HostFailure{}) && why.Category != crawl.FailureRateLimited &&
			why.Category != crawl.FailureBlocked {
			answer <- &why
			return
		}
		answer <- nil
	}); err != nil {
		return nil, err
	}
	return <-answer, nil
}

// Top returns the first n hosts in memory, in an order (crawl.SortQueued...), and counts all hosts
// there. It takes up to a few milliseconds of the loop's time.
func (d *Dispatcher) Top(
	ctx context.Context,
	sort string,
	n int,
) (top []core.TopHost, inMemory int, err error) {
	type seen struct {
		top []core.TopHost
		all int
	}
	answer := make(chan seen, 1)
	if err := d.call(ctx, func(now time.Time) {
		answer <- seen{d.loop.core.Top(now, sort, n), d.loop.core.Counts().Active}
	}); err != nil {
		return nil, 0, err
	}
	got := <-answer
	return got.top, got.all, nil
}
