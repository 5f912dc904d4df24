package revisits

import (
	"context"
	"log/slog"
	"time"

	"crawlnode/crawl"
	"crawlnode/recrawl/estimate"
)

// This file declares what the package needs of others.

// Options are what a Keeper is made of. All are required.
type Options struct {
	Self  crawl.NodeID
	Boot  crawl.Boot
	Pages Pages
	// Settings are the crawl's at this moment.
	Settings func() *crawl.Settings
	// May reports whether visits may start on this node: the crawl runs, and it has the cluster's settings.
	May func() bool
	// Fetchers are the busy fetchers, and all; it reads memory.
	Fetchers func() (busy, all int)
	// Members are those of the view, this node included.
	Members func() []crawl.NodeID
	// Waiting is called when something changed that the state of the crawl follows; it must not block.
	Logger *slog.Logger
}

// Due is an entry of `d`: a page that is done or gone, with the time of its next check.
type Due struct {
	Partition   crawl.Partition
	Host        crawl.Host
	Fingerprint [16]byte
	At          time.Time
}

// Plan is what `d` says of a page beside its place.
type Plan struct {
	Belief estimate.Gamma
	Weight float64
	Kind   int // of Kinds: page, feed or sitemap, other file
}

// Pages is the frontier, as far as revisits need it. Times are times of this process.
// Methods without a context read a snapshot, or memory.
type Pages interface {
	// Totals are the counters of the partitions held here.
	Totals() crawl.Counters
	// DueHead is when the first page of a held partition is due or planned anew; false: it has none.
	DueHead(p crawl.Partition) (at time.Time, ok bool, err error)
	// Due returns the first entries of a partition whose time has come, n at most.
	Due(p crawl.Partition, until time.Time, n int) ([]Due, error)
	// EachPlanned visits all entries of a partition, until visit returns false.
	EachPlanned(p crawl.Partition, visit func(Plan) bool) error
	// MoveDue takes due pages into the queue, each in one transaction: with validators, in band 0,
	// as revisits. A page that is queued already, or planned later meanwhile, is left out. It returns how many it moved.
	MoveDue(ctx context.Context, entries []Due) (moved int, err error)
	// Replan plans pages anew whose check has come before their visit, and moves those whose visit has come
	// by the new plan.
	Replan(ctx context.Context, entries []Due) (moved int, err error)
}
