package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
)

// Block has nobody request a host before until, whoever holds its partition then; the zero time
// ends that, and no wait that the host or its server is the reason of. A request that is open goes
// on. It fails with crawl.ErrUnknownHost, and with crawl.ErrMoving when it may be tried again.
func (d *Dispatcher) Block(
	ctx context.Context,
	p crawl.Partition,
	host crawl.Host,
	until time.Time,
) error {
	switch err := d.o.Store.Block(ctx, p, host, until); {
	case errors.Is(err, frontier.ErrNotHolder):
		return crawl.ErrMoving
	case err != nil:
		return fmt.Errorf("dispatch: block %s: %w", host, err)
	}
	for deadline := time.Now().Add(reservePatience); ; {
		told := false
		if err := d.call(ctx, func(now time.Time) {
			told = d.loop.block(now, p, host, until)
		}); err != nil || told {
			return err
		}
		if time.Now().After(deadline) || !crawl.Wait(ctx, reserveRetry) {
			return crawl.ErrMoving
		}
	}
}

// SetDelay has nobody request a host more often than once in d, whoever holds its partition then;
// 0: its gap is the usual one. It fails as Block does.
func (d *Dispatcher) SetDelay(
	ctx context.Context,
	p crawl.Partition,
	host crawl.Host,
	gap time.Duration,
) error {
	switch err := d.o.Store.SetDelay(ctx, p, host, gap); {
	case errors.Is(err, frontier.ErrNotHolder):
		return crawl.ErrMoving
	case err != nil:
		return fmt.Errorf("dispatch: delay of %s: %w", host, err)
	}
	for deadline := time.Now().Add(reservePatience); ; {
		told := false
		err := d.call(ctx, func(now time.Time) {
			_, loading := d.loop.loading[host]
			if told = !loading; told && !d.loop.core.SetDelay(now, host, gap) && d.loop.held[p] != nil {
				d.loop.held[p].again = true // its place in the wake index may be another one
			}
		})
		if err != nil || told {
			return err
		}
		if time.Now().After(deadline) || !crawl.Wait(ctx, reserveRetry) {
			return crawl.ErrMoving
		}
	}
}

// block tells a host in memory. False: it is being read, maybe as it was before.
func (l *loop) block(now time.Time, p crawl.Partition, host crawl.Host, until time.Time) bool {
	if _, loading := l.loading[host]; loading {
		return false
	}
	if h := l.held[p]; !l.core.Block(now, host, until) && h != nil {
		h.again = true // its place in the wake index may be an earlier one
	}
	return true
}
