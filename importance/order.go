package importance

import (
	"context"
	"errors"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/order"
	"crawlnode/importance/opic"
)

// ordering is by what this node orders its queues. Run owns it.
type ordering struct {
	scores   *order.Scores
	weights  opic.Weights
	focused  bool
	ranks    *opic.Ranks
	rounds   int // since the last policy
	ordering bool
}

// orderRounds is after how many rounds the cuts between the bands are made anew.
const orderRounds = 10

// setOrder tells the frontier by what it orders queued URLs: at once when the settings have
// changed, and every few rounds, as ranks and scores change.
func (k *Keeper) setOrder() {
	s := k.opts.Settings()
	w, on := Orders(s)
	o := &k.order
	if !on {
		if o.ordering {
			k.opts.Store.SetOrder(nil)
		}
		*o = ordering{}
		return
	}
	ranks, focused := k.ranks.Load(), s.Focus != nil
	o.rounds++
	if o.ordering && o.weights == w && o.focused == focused && o.ranks == ranks &&
		o.rounds < orderRounds {
		return
	}
	if !o.ordering || o.weights != w || o.focused != focused {
		o.scores = &order.Scores{} // those of other weights say nothing
	}
	o.weights, o.focused, o.ranks, o.rounds, o.ordering = w, focused, ranks, 0, true
	k.opts.Store.SetOrder(&order.Policy{
		Weights: w, Focused: focused, Given: k.opts.Given, Ranks: ranks,
		Cuts: opic.CutsOf(o.scores.Histogram()), Typical: o.scores.Typical(), Scores: o.scores,
	})
}

// raise moves queued URLs of which links say more to better bands.
func (k *Keeper) raise(ctx context.Context, p crawl.Partition, rises []order.Rise) error {
	moved, err := k.opts.Store.Raise(ctx, p, rises)
	k.raised.Add(uint64(moved))
	if errors.Is(err, commit.ErrNotHolder) {
		return nil // frozen, or gone: they stay where they are
	}
	return err
}

// Raised is how many queued URLs this node has moved to better bands since its start.
func (k *Keeper) Raised() uint64 { return k.raised.Load() }
