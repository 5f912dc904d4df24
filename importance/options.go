package importance

import (
	"cmp"
	"context"
	"log/slog"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/order"
	"crawlnode/handoff"
	"crawlnode/importance/opic"
	"crawlnode/peer"
	"crawlnode/web/urlnorm"
)

// Options are what a Keeper needs of others.
type Options struct {
	Self     crawl.NodeID
	Store    Store
	Holdings Holdings
	Peers    Peers
	Settings func() *crawl.Settings // the current ones of the crawl; nil: not known yet
	// Given is as in order.Policy; it may be nil.
	Given func(*crawl.Target) bool
	Log   *slog.Logger
}

// Store is the part of the frontier that importance needs. Its errors end the node, except
// commit.ErrNotHolder and those of an ended context.
type Store interface {
	FoldAll(
		ctx context.Context,
		ps []crawl.Partition,
		alone bool,
	) (done []cash.Folded, errs []error, err error)
	SetOrder(*order.Policy)
	Raise(ctx context.Context, p crawl.Partition, rises []order.Rise) (moved int, err error)
	Unfolded(visit func(p crawl.Partition, entries int))
	Credits(p crawl.Partition, after frontier.OutboxKey, n, size int) ([]cash.CreditEntry, error)
	ApplyCredits(ctx context.Context, entries []cash.CreditEntry) ([]uint64, error)
	AckCredits(ctx context.Context, entries []cash.CreditEntry, marks []uint64) error
	AddRanks(h *opic.Histogram, p crawl.Partition) error
	Account(p crawl.Partition, u urlnorm.URL) (opic.Account, bool, error)
	Walk(visit func(*frontier.Meta) bool)
}

// Holdings reports which partitions this node holds, and how safe their content is.
type Holdings interface {
	Partitions() int // of the cluster; 0 before the node has joined
	Holds(p crawl.Partition) bool
	Alone() bool // this node is the only member of the cluster
	// Tenure and Await are those of handoff.Driver.
	Tenure(p crawl.Partition) handoff.Tenure
	Await(ctx context.Context, ts []handoff.Tenure, full bool, errs []error)
}

// Peers are the other nodes.
type Peers interface {
	// Holder is the node that last reported to hold p; Owner is its owner by the table. "": no such
	// node is known.
	Holder(p crawl.Partition) crawl.NodeID
	Owner(p crawl.Partition) crawl.NodeID
	Credit(ctx context.Context, to crawl.NodeID, b *peer.CreditBatch) (*peer.CreditReply, error)
	// Ranks are the histograms that the other members have sent, as Keeper.Summary makes them.
	Ranks() [][]byte
}

// Orders returns the weights by which queued URLs are ordered; false: they are ordered as their
// finders ask, by depth. They are ordered by weights when importance counts, and when a person has
// given weights of anything but depth.
func Orders(s *crawl.Settings) (opic.Weights, bool) {
	if s == nil {
		return opic.Weights{}, false
	}
	w, err := opic.ParseWeights(cmp.Or(s.Priority, opic.DefaultWeights.String()))
	return w, err == nil && (Counts(s) && (w.Importance > 0 || w.Authority > 0) ||
		s.Priority != "" && w.Change+w.Freshness > 0)
}

// Counts reports whether importance is computed in a crawl: when a person has given weights
// (--priority) of which importance or authority is above 0, or when known pages are visited again.
func Counts(s *crawl.Settings) bool {
	if s == nil {
		return false
	}
	if s.Revisits() {
		return true
	}
	if s.Priority == "" {
		return false
	}
	w, err := opic.ParseWeights(s.Priority)
	return err == nil && (w.Importance > 0 || w.Authority > 0)
}

// Weighted reports whether important pages are visited again more often than others: when pages are
// visited again, and a person has given a weight to importance.
func Weighted(s *crawl.Settings) bool {
	if s == nil || !s.Revisits() || s.Priority == "" {
		return false
	}
	w, err := opic.ParseWeights(s.Priority)
	return err == nil && w.Importance > 0
}

// tenures names the running tenures of partitions; await is Await of all of them.
func (k *Keeper) tenures(ps []crawl.Partition) []handoff.Tenure {
	ts := make([]handoff.Tenure, len(ps))
	for i, p := range ps {
		ts[i] = k.opts.Holdings.Tenure(p)
	}
	return ts
}

func (k *Keeper) await(ctx context.Context, ts []handoff.Tenure) []error {
	errs := make([]error, len(ts))
	k.opts.Holdings.Await(ctx, ts, false, errs)
	return errs
}
