package dispatch

import (
	"context"
	"log/slog"

	"crawlnode/crawl"
	"crawlnode/dnscache"
	"crawlnode/frontier"
	"crawlnode/scheduler"
)

// Store is what the dispatcher needs of the frontier. Its methods may block, save Meta, which the
// loop itself calls. An error ends Run, unless it is frontier.ErrNotHolder (the partition was lost
// meanwhile) or frontier.ErrStopped.
type Store interface {
	// Meta returns the partition's epoch and counters, from memory.
	Meta(p crawl.Partition) (frontier.Meta, bool)
	// Load reads a host's state and up to n of its queued items.
	Load(p crawl.Partition, host crawl.Host, after frontier.Cursor, n int) (frontier.HostQueue, error)
	// Waiting reads up to n entries of the wake index.
	Waiting(p crawl.Partition, from frontier.WakeCursor, n int) ([]frontier.Wake, frontier.WakeCursor, error)
	// Park writes the states of hosts that leave memory, and puts those with queued URLs into the wake index.
	Park(ctx context.Context, hosts []frontier.Parked) error
	// FailHost gives up what is queued of a host, for reason, and counts it.
	FailHost(ctx context.Context, p crawl.Partition, host crawl.Host, reason string) (int, error)
}

// Resolver finds the addresses of a host. Lookup may block and is called by as many goroutines
// as Options.Lookups says.
type Resolver interface {
	Lookup(ctx context.Context, host string) (dnscache.Answer, error)
}

// Options are what a Dispatcher is made of. Store, Resolver, Settings and Refuse are needed; a nil
// hook allows everything. No hook but Refuse may block or call the dispatcher, save Wake.
type Options struct {
	Store    Store
	Resolver Resolver
	// LookupRoom returns how many look-ups the name servers bear at a time; it may be nil:
	// then that is Lookups. It is called in every turn of the loop.
	LookupRoom func() int
	// Settings returns the crawl's present rules. It is called for every
	// decision.
	Settings func() *crawl.Settings
	// Refuse settles a visit of a host that has had its --max-pages-per-host.
	// It runs on the goroutine that called Next, after Release, and may block;
	// it must call Settled, as for any visit.
	Refuse func(ctx context.Context, v crawl.Visit, o crawl.Outcome) error
	// Excluded reports whether an item was queued before the settings excluded it; it
	// may be nil: never.
	Excluded func(it *crawl.Item) bool
	// Permit takes the right to fetch one page. False: none now; call Wake
	// when there is one.
	Permit func() bool
	// PermitDone gives a permit back when its visit is settled; used says that
	// it became a page.
	PermitDone func(used bool)
	// MayFetch is asked before each visit, and by MayRequest once more before
	// each request, there from any goroutine.
	MayFetch func(p crawl.Partition) bool
	// MayLastTry says that nobody else in the cluster has anything to fetch,
	// so that frozen hosts get their last try.
	MayLastTry func() bool
	// Scheduler's Delay and IPDelay are set by the dispatcher, from Settings, and Excluded
	// from here.
	Scheduler scheduler.Config
	// Readers and Lookups are how many goroutines read the disk and resolve
	// names. Default 4 and 64.
	Readers, Lookups int
	Logger           *slog.Logger
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.Lookups <= 0 {
		o.Lookups = 64
	}
	o.Scheduler.Lookups = o.Lookups
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Scheduler.MaxActive <= 0 {
		o.Scheduler.MaxActive = 20_000
	}
	if o.Scheduler.ItemsPerHost <= 0 {
		o.Scheduler.ItemsPerHost = 16
	}
	return o
}
