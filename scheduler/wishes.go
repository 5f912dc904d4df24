package scheduler

import (
	"context"
	"time"

	"crawlnode/crawl"
)

// A wish is for a visit of one host. Programs outside of the cluster have them: for a URL of
// another crawl, which is an errand here, or for whichever page of the host is the next.

// Wish is a host of which somebody wants a visit.
type Wish struct {
	Partition crawl.Partition
	Host      crawl.Host
	Guest     bool // for the URL of another crawl that Waiting has; otherwise for a page of its own
}

// Wishes is a table of wishes. As a table of errands it has the URLs of other crawls. Its methods
// may be called from any goroutine and do not block.
type Wishes interface {
	Errands
	// Wanted returns the wishes for which there is no visit yet.
	Wanted() []Wish
}

// NextWished is Next for a host of Wishes.
func (d *Dispatcher) NextWished(
	ctx context.Context,
) (crawl.Visit, error) {
	return d.next(ctx, true)
}

// line puts a waiter into its line.
func (l *loop) line(wished bool, w waiter) {
	if wished {
		l.wishers = append(l.wishers, w)
	} else {
		l.waiters = append(l.waiters, w)
	}
}

// grantWishes gives visits of hosts that are wished for to those that wait for one. twice is as in
// core.Core.Lend.
func (l *loop) grantWishes(now time.Time, twice bool) {
	if len(l.wishers) == 0 || l.d.o.Wishes == nil || !l.mayHandOut(now) {
		return
	}
	for _, wish := range l.d.o.Wishes.Wanted() {
		if len(l.wishers) == 0 || !l.mayHandOut(now) {
			return
		}
		h := l.held[wish.Partition]
		if h == nil || h.frozen {
			continue
		}
		v, ok := l.core.Lend(now, wish.Host, wish.Guest, twice)
		if !ok || !l.beginErrand(now, v) {
			continue
		}
		if !l.hand(now, v, l.wishers[0]) {
			return
		}
		l.wishers[0] = nil
		l.wishers = l.wishers[1:]
	}
}

// loadWished loads hosts of which a page is wished for. Those with errands are loaded for these.
func (l *loop) loadWished() {
	if l.d.o.Wishes == nil {
		return
	}
	for _, wish := range l.d.o.Wishes.Wanted() {
		h := l.held[wish.Partition]
		if _, loading := l.loading[wish.Host]; wish.Guest || h == nil || h.frozen || loading ||
			l.core.Has(wish.Host) || l.leaving[wish.Host] || l.room() <= 0 {
			continue
		}
		l.load(h, wish.Host)
	}
}
