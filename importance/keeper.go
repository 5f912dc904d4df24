package importance

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/commit"
	"crawlnode/importance/opic"
	"crawlnode/ticks"
)

// Keeper keeps importance up to date. Run owns the fields below ranks.
type Keeper struct {
	opts    Options
	counts  atomic.Pointer[counted]
	summary atomic.Pointer[[]byte]
	raised  atomic.Uint64
	ranks   atomic.Pointer[opic.Ranks]

	held     map[crawl.Partition]*holding
	turns    int
	order    ordering
	folded   bool      // there are accounts
	behind   bool      // the last round has not sent all: larger folds need fewer entries
	lastFold time.Time // when the logs were looked at
	lastSums time.Time
}

// counted is the answer of Counts for a priority and a mode.
type counted struct {
	priority, recrawl string
	on                bool
}

// holding is a held partition.
type holding struct {
	epoch    crawl.Epoch
	accounts int64              // as of the last fold
	since    time.Time          // since its log has entries; zero: it has none
	posted   bool               // its outbox of credits may have entries
	after    frontier.OutboxKey // up to where the outbox was read in this pass
	seen     bool               // in this round
}

// New makes a Keeper; Run does its work.
func New(o Options) *Keeper {
	return &Keeper{opts: o, held: map[crawl.Partition]*holding{}}
}

// On reports whether importance counts. It is called for each page.
func (k *Keeper) On() bool {
	s := k.opts.Settings()
	if s == nil {
		return false
	}
	c := k.counts.Load()
	if c == nil || c.priority != s.Priority || c.recrawl != s.Recrawl {
		c = &counted{s.Priority, s.Recrawl, Counts(s)}
		k.counts.Store(c)
	}
	return c.on
}

// round is how often the loop looks.
const round = time.Second

// A log is folded when it has so many entries that a changed block, of 4 KiB, stands for blockPages
// pages at least, and at the latest after foldAfter. sumAfter is how often histograms are summed.
//
// What a fold has for other partitions is an entry for each of them and each round of folds, so few
// rounds need few entries. A node with foldTogether accounts or more looks at its logs every
// foldEvery. One with fewer does so each round: a short crawl has no time to wait for its order.
const (
	blockPages    = 8
	blockAccounts = 150
	foldMost      = 1_500 // entries with which a log is folded in any case
	foldAfter     = 30 * time.Second
	foldSmall     = 5 * time.Second // for each block, in a partition with few accounts
	foldEvery     = 5 * time.Second
	foldTogether  = 5_000
	sumAfter      = 10 * time.Second
)

// Run folds and sends until ctx ends, or the store fails. Call it once, when the node has joined
// its cluster.
func (k *Keeper) Run(ctx context.Context) error {
	tick := ticks.New(round)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		k.setOrder()
		if !k.On() || k.opts.Holdings.Partitions() == 0 {
			continue
		}
		if err := k.Round(ctx, time.Now()); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// Round does what is due at a time. Run calls it.
func (k *Keeper) Round(ctx context.Context, now time.Time) error {
	k.look(now)
	if err := k.fold(ctx, now); err != nil {
		return err
	}
	if err := k.send(ctx); err != nil {
		return err
	}
	// the first accounts are summed at once
	if now.Sub(k.lastSums) < sumAfter && (k.ranks.Load() != nil || !k.folded) {
		return nil
	}
	k.lastSums = now
	return k.sum()
}

// look brings the list of held partitions up to date. Of one that is new here it is not known
// whether its log and its outbox are empty.
func (k *Keeper) look(now time.Time) {
	for _, h := range k.held {
		h.seen = false
	}
	k.opts.Store.Walk(func(m *frontier.Meta) bool {
		if m.State != frontier.Holder {
			return true
		}
		h := k.held[m.Partition]
		if h == nil || h.epoch != m.Epoch {
			h = &holding{epoch: m.Epoch, since: now.Add(-4 * foldAfter), posted: true}
			k.held[m.Partition] = h
		}
		h.seen = true
		return true
	})
	for p, h := range k.held {
		if !h.seen {
			delete(k.held, p)
		}
	}
}

// foldEvery is how often logs are folded.
func (k *Keeper) foldEvery() time.Duration {
	var accounts int64
	for _, h := range k.held {
		accounts += h.accounts
	}
	if accounts < foldTogether {
		return 0
	}
	return foldEvery
}

// fold folds the logs that are due, when it is time for a round of folds.
func (k *Keeper) fold(ctx context.Context, now time.Time) error {
	entries := map[crawl.Partition]int{}
	k.opts.Store.Unfolded(func(p crawl.Partition, n int) {
		entries[p] = n
		if h := k.held[p]; h != nil && h.since.IsZero() {
			h.since = now
		}
	})
	every := k.foldEvery()
	if now.Sub(k.lastFold) < every {
		return nil
	}
	k.lastFold = now
	var due []crawl.Partition
	for p, h := range k.held {
		n := entries[p]
		blocks := 1 + int(h.accounts/blockAccounts)
		enough, after := min(blockPages*blocks, foldMost), min(time.Duration(1+blocks)*foldSmall,
			foldAfter)
		if k.behind {
			enough, after = foldMost, 4*foldAfter
		}
		// the next round would be too late
		if !h.since.IsZero() && (n >= enough || now.Sub(h.since) >= after-every) {
			due = append(due, p)
		}
	}
	slices.Sort(due)
	return k.foldAll(ctx, due)
}

// foldAll folds logs to their ends, but for what the folds themselves put into them.
func (k *Keeper) foldAll(ctx context.Context, ps []crawl.Partition) error {
	for len(ps) > 0 {
		all, errs, err := k.opts.Store.FoldAll(ctx, ps, k.opts.Holdings.Alone())
		if err != nil {
			return err
		}
		var more []crawl.Partition
		for i, p := range ps {
			d, h := &all[i], k.held[p]
			switch {
			case errors.Is(errs[i], commit.ErrNotHolder):
				continue // frozen, or gone; the next round looks again
			case errs[i] != nil:
				return errs[i]
			}
			h.since = time.Time{}
			h.posted = h.posted || d.Posts > 0
			if d.Entries > 0 {
				h.accounts, k.folded = d.Accounts, true
			}
			if err := k.raise(ctx, p, d.Rises); err != nil {
				return err
			}
			if d.More && d.Entries > 0 {
				more = append(more, p)
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		ps = more
	}
	return nil
}
