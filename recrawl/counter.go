package recrawl

import (
	"context"
	"errors"
	"time"

	"crawlnode/frontier"
)

// Counting takes a hundredth of the time, and no shelf is counted more often than each ten minutes:
// what is planned meanwhile is taken in as it is planned, so a count only puts mistakes right.
const (
	restAfter = 99
	countRest = 10 * time.Minute
)

// counting counts the pages of partitions that came, and of all from time to time. It is a
// goroutine of its own, since one pass over a large partition takes seconds.
func (k *Keeper) counting(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.read:
		case <-timer.C:
		}
		rest := countRest
		for k.adaptive() && ctx.Err() == nil {
			begun := time.Now()
			found, came, err := k.countNext(ctx, begun)
			if err != nil {
				return err
			}
			if !found {
				break
			}
			if !came {
				rest = restAfter * time.Since(begun)
				break
			}
		}
		timer.Reset(min(max(rest, lookEvery), countRest))
	}
}

// countNext counts the next shelf. came: its partitions have just come.
func (k *Keeper) countNext(ctx context.Context, now time.Time) (found, came bool, err error) {
	came = k.sums.unsettled()
	key, partitions, ok := k.sums.next(now, countRest)
	if !ok {
		return false, false, nil
	}
	c := &sum{}
	for _, p := range partitions {
		n := 0
		k.sums.begin(p)
		err := k.o.Pages.EachPlanned(p, func(e frontier.Estimate) bool {
			c.add(&e, 1)
			n++
			return n%1024 != 0 || ctx.Err() == nil
		})
		if err != nil && !errors.Is(err, frontier.ErrNotHolder) {
			return true, came, err
		}
	}
	if ctx.Err() == nil {
		k.sums.counted(now, key, c)
		if !k.sums.unsettled() {
			k.Wake()
		}
	}
	return true, came, nil
}
