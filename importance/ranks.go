package importance

import (
	"errors"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/importance/opic"
	"crawlnode/web/urlnorm"
)

// maxSummary bounds a summary of another node: about 1,900 buckets of a few bytes are possible, and
// some hundred are used.
const maxSummary = 16 << 10

// sum sums the histograms of the held partitions, and those of the members.
func (k *Keeper) sum() error {
	var own opic.Histogram
	for p := range k.held {
		if err := k.opts.Store.AddRanks(&own, p); err != nil && !errors.Is(err, commit.ErrNotHolder) {
			return err
		}
	}
	summary := opic.AppendHistogram(nil, &own)
	k.summary.Store(&summary)
	for _, b := range k.opts.Peers.Ranks() {
		if len(b) == 0 || len(b) > maxSummary {
			continue
		}
		h, err := opic.DecodeHistogram(b)
		if err != nil {
			k.opts.Log.Debug("a member's histogram of importance cannot be read, and is left out", "error",
				err)
			continue
		}
		own.Plus(h)
	}
	if own.Total() > 0 {
		k.ranks.Store(own.Ranks())
	}
	return nil
}

// Summary is the histogram of this node for the heartbeat; nil while importance does not count. Any
// goroutine may call it.
func (k *Keeper) Summary() []byte {
	if b := k.summary.Load(); b != nil && k.On() {
		return *b
	}
	return nil
}

// Rank is the share of the cluster's known URLs that are less important: 1 for the most important.
// ok is false while nothing is known. Any goroutine may call it.
func (k *Keeper) Rank(c opic.Cash) (rank float64, ok bool) {
	r := k.ranks.Load()
	if r == nil {
		return 0, false
	}
	return r.Rank(c), true
}

// Links says what links say of a URL of a held partition, as far as it was folded; nil while
// importance does not count. Any goroutine may call it.
func (k *Keeper) Links(p crawl.Partition, u urlnorm.URL) (*crawl.LinksReport, error) {
	if !k.On() {
		return nil, nil
	}
	a, _, err := k.opts.Store.Account(p, u)
	if err != nil {
		return nil, err
	}
	in, worth := int64(max(a.In, 0)), float64(a.Total())/float64(opic.Unit)
	r := &crawl.LinksReport{In: &in, Importance: &worth}
	if a.Fetched {
		out := int64(a.Links)
		r.Out = &out
	}
	if rank, ok := k.Rank(a.Total()); ok {
		r.Rank = &rank
	}
	return r, nil
}

// Weight is how important a page of a held partition is for its next visits, as far as it is known:
// its rank, but not so little that it would hardly be visited. 0: all weigh the same, or nothing is
// known. Any goroutine may call it.
func (k *Keeper) Weight(p crawl.Partition, u urlnorm.URL) (float64, error) {
	if s := k.opts.Settings(); !Weighted(s) {
		return 0, nil
	}
	a, known, err := k.opts.Store.Account(p, u)
	if err != nil || !known {
		if errors.Is(err, commit.ErrNotHolder) {
			err = nil // the completion says so
		}
		return 0, err
	}
	rank, ok := k.Rank(a.Total())
	if !ok {
		return 0, nil
	}
	return max(rank, leastWeight), nil
}

// leastWeight is what a page weighs at least, of the most important one.
const leastWeight = 1.0 / 16
