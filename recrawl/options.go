package recrawl

import (
	"context"
	"log/slog"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/settings/sites"
)

// This file declares what the package needs of others.

// Node is what a Keeper asks of its node. Any goroutine calls it, and no method blocks.
type Node interface {
	// Settings are the crawl's at this moment: the same pointer until they change.
	Settings() *crawl.Settings
	// Sites are the rules for sites that go with them, nil if there are none: the same table until
	// one of both changes.
	Sites() *sites.Table
	// Weighted reports whether important pages are visited more often by these settings.
	Weighted(s *crawl.Settings) bool
	// May reports whether visits may start on this node.
	May() bool
	// Fetchers are the busy fetchers, and all.
	Fetchers() (busy, all int)
	// Members are those of the view, this node included; none before the first.
	Members() []crawl.NodeID
}

// Options are what a Keeper is made of. All are required.
type Options struct {
	Self   crawl.NodeID
	Boot   crawl.Boot
	Pages  Pages
	Node   Node
	Logger *slog.Logger
}

// Pages is the part of the frontier that revisits need. Times are times of this process. Its errors
// end the node, except frontier.ErrNotHolder and those of an ended context.
type Pages interface {
	Totals() crawl.Counters
	Walk(visit func(*frontier.Meta) bool)
	DueHead(p crawl.Partition) (at time.Time, ok bool, err error)
	Due(p crawl.Partition, until time.Time, n int) ([]frontier.Due, error)
	Planned(
		p crawl.Partition,
		after frontier.DueCursor,
		n int,
	) (pages []frontier.Due, next frontier.DueCursor, done bool, err error)
	EachPlanned(p crawl.Partition, visit func(frontier.Estimate) bool) error
	MoveDue(ctx context.Context, pages []frontier.Due) (moved int, err error)
	Replan(ctx context.Context, pages []frontier.Due) (planned int, err error)
	Unplanned(
		p crawl.Partition,
		after frontier.DueCursor,
		n int,
	) (pages []frontier.Unplanned, next frontier.DueCursor, done bool, err error)
	PlanFirst(ctx context.Context, pages []frontier.Unplanned) (planned int, err error)
	// Stamp writes how far the timelines of held partitions have come.
	Stamp(ctx context.Context, ps []crawl.Partition) error
	// Host says what is queued of a host, by band.
	Host(
		p crawl.Partition,
		host crawl.Host,
	) (s crawl.HostState, queued [crawl.Bands]int64, ok bool, err error)
	// Load reads the first n queued URLs of a host.
	Load(p crawl.Partition, host crawl.Host, after frontier.Cursor, n int) (frontier.HostQueue, error)
}
