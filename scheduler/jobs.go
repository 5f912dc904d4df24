package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/dnscache"
	"crawlnode/frontier"
	"crawlnode/scheduler/core"
)

// This file has the work that the loop gives to its pools: name look-ups, and writes of hosts that
// leave memory. Jobs that read hosts are in fill.go.

// job is work for a pool. It returns the follow-up for the loop.
type job func(ctx context.Context) func(now time.Time)

// disk queues a job for the goroutines that read and write the store.
func (l *loop) disk(j job) { l.diskJobs = append(l.diskJobs, l.diskJob(j)) }

// diskJob counts j as pending until it is done.
func (l *loop) diskJob(j job) job {
	l.pending++
	return func(ctx context.Context) func(time.Time) {
		f := j(ctx)
		return func(now time.Time) {
			l.pending--
			f(now)
		}
	}
}

func (l *loop) lookupJob(host crawl.Host) job {
	return func(ctx context.Context) func(time.Time) {
		a, err := l.d.o.Resolver.Lookup(ctx, string(host))
		if err != nil {
			l.d.log.Debug("host name not resolved", "host", host, "error", err)
		}
		if failed, _ := errors.AsType[*dnscache.Error](err); failed != nil &&
			(failed.Class == dnscache.ErrOutage || failed.Class == dnscache.ErrLimited) {
			return func(now time.Time) { l.core.Unanswered(now, host, failed.Since, err) }
		}
		return func(now time.Time) { l.core.Resolved(now, host, a.Addrs, a.Expires, err) }
	}
}

// park writes the states of hosts that left memory. For a partition that is no longer held nothing
// is written, and that is not an error.
func (d *Dispatcher) park(ctx context.Context, hosts []core.Parked) error {
	if len(hosts) == 0 {
		return nil
	}
	out := make([]frontier.Parked, len(hosts))
	for i, h := range hosts {
		out[i] = frontier.Parked{Partition: h.Partition, Host: h.Host, State: h.State}
	}
	if err := d.o.Store.Park(ctx, out); err != nil && !errors.Is(err, frontier.ErrNotHolder) {
		return fmt.Errorf("dispatch: write the state of %d hosts: %w", len(hosts), err)
	}
	return nil
}

// parkJob writes hosts that left memory. waiting says that they have URLs queued.
func (l *loop) parkJob(hosts []core.Parked, waiting bool) {
	l.disk(l.parking(hosts, waiting, nil))
}

// parking is the job that writes hosts that left memory. Until it is done they may not come back:
// their state on disk is old. done, if not nil, needs room for one answer.
func (l *loop) parking(hosts []core.Parked, waiting bool, done chan<- error) job {
	for _, h := range hosts {
		l.leaving[h.Host] = true
		l.held[h.Partition].leaving++
	}
	return func(ctx context.Context) func(time.Time) {
		err := l.d.park(ctx, hosts)
		return func(now time.Time) {
			l.broken(err)
			for _, h := range hosts {
				if waiting {
					l.held[h.Partition].waits(now, h.State.NotBefore)
				}
				l.left(h.Partition, h.Host)
			}
			if done != nil {
				done <- err
			}
		}
	}
}

// left notes that a host's state is on disk.
func (l *loop) left(p crawl.Partition, host crawl.Host) {
	delete(l.leaving, host)
	delete(l.causes, host)
	h := l.held[p]
	h.leaving--
	h.announceQuiet()
}

// deadJob gives up a host that failed its last try.
func (l *loop) deadJob(a core.Action) {
	l.leaving[a.Host] = true
	l.held[a.Partition].leaving++
	reason := deathReason(time.Now(), &a.State, l.causes[a.Host].Reason)
	l.disk(func(ctx context.Context) func(time.Time) {
		err := l.d.park(ctx, []core.Parked{{Partition: a.Partition, Host: a.Host, State: a.State}})
		n := 0
		if err == nil {
			n, err = l.d.o.Store.FailHost(ctx, a.Partition, a.Host, reason)
		}
		if err == nil {
			l.d.log.Info("host given up: it is unreachable and nothing else is left to fetch", "host",
				a.Host, "partition", a.Partition, "urls", n, "reason", reason)
		}
		return func(now time.Time) {
			l.broken(err)
			l.core.Forget(now, a.Host)
			l.left(a.Partition, a.Host)
			// URLs queued since the last check of FailHost were noted for a host that is forgotten
			// now.
			l.held[a.Partition].again = true
		}
	})
}

// broken ends the loop for an error of the store. That a partition was lost meanwhile, or that the
// store is being closed, is not such an error.
func (l *loop) broken(err error) {
	switch {
	case err == nil, errors.Is(err, frontier.ErrNotHolder), errors.Is(err, frontier.ErrStopped),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case l.fatal == nil:
		l.fatal = fmt.Errorf("dispatch: the dispatcher cannot continue: %w", err)
	}
}

// parkAll writes the states of all hosts in memory.
func (l *loop) parkAll(ctx context.Context) error {
	if l.fatal != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopGrace)
	defer cancel()
	var hosts []core.Parked
	now := time.Now()
	for p := range l.held {
		hosts = append(hosts, l.core.Drop(now, p)...)
	}
	err := l.d.park(ctx, hosts)
	if errors.Is(err, frontier.ErrStopped) || errors.Is(err, context.DeadlineExceeded) {
		l.d.log.Warn("the hosts' states were not written in time; after a restart some waits start again",
			"hosts", len(hosts), "error", err)
		return nil
	}
	return err
}
