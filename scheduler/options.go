package scheduler

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"crawlnode/crawl"
	"crawlnode/dnscache"
	"crawlnode/frontier"
	"crawlnode/scheduler/core"
	"crawlnode/settings/sites"
	"crawlnode/web/urlnorm"
)

// Store is what the dispatcher needs of the frontier. Its methods may block, except Meta, which the
// loop itself calls. An error ends Run, unless it is frontier.ErrNotHolder (the partition was lost
// meanwhile) or frontier.ErrStopped.
type Store interface {
	// Meta returns the partition's epoch and counters, from memory.
	Meta(p crawl.Partition) (frontier.Meta, bool)
	// Load reads a host's state and up to n of its queued items.
	Load(p crawl.Partition, host crawl.Host, after frontier.Cursor, n int) (frontier.HostQueue, error)
	// Host and Record read a host's state and what is known of a URL.
	Host(
		p crawl.Partition,
		host crawl.Host,
	) (s crawl.HostState, queued [crawl.Bands]int64, ok bool, err error)
	Record(p crawl.Partition, u urlnorm.URL) (rec crawl.Record, ok bool, err error)
	// Waiting reads up to n entries of the wake index.
	Waiting(
		p crawl.Partition,
		from frontier.WakeCursor,
		n int,
	) ([]frontier.Wake, frontier.WakeCursor, error)
	// Park writes the states of hosts that leave memory, and puts those with queued URLs into the wake
	// index.
	Park(ctx context.Context, hosts []frontier.Parked) error
	// Block writes until when a host is left alone, which Park does not change.
	Block(ctx context.Context, p crawl.Partition, host crawl.Host, until time.Time) error
	// SetDelay writes the least gap that a program outside wants for a host, which Park does not
	// change.
	SetDelay(ctx context.Context, p crawl.Partition, host crawl.Host, d time.Duration) error
	// FailHost gives up the queued URLs of a host, for reason, and counts them.
	FailHost(ctx context.Context, p crawl.Partition, host crawl.Host, reason string) (int, error)
}

// Resolver finds the addresses of a host. Lookup may block and is called by as many goroutines
// as Options.Lookups says.
type Resolver interface {
	Lookup(ctx context.Context, host string) (dnscache.Answer, error)
}

// Turns knows whose turn it is, among all nodes, to request an address whose requests are spaced.
// Its methods must not block; MayWrite is called by any goroutine, the others by the loop.
type Turns interface {
	// Turn reports whether this node may request ip, after wait. If not, it is asked for, and
	// Dispatcher.TurnsCame follows. Idle ends the need for it.
	Turn(ip netip.Addr) (wait time.Duration, ok bool)
	Idle(ip netip.Addr)
	// Begin says that a visit to ip was handed out, and End that its request has ended, if it made
	// one.
	Begin(ip netip.Addr)
	End(ip netip.Addr, requested bool)
	// MayWrite reports whether a request to ip may be written now.
	MayWrite(ip netip.Addr) bool
	// Silent counts the addresses for which nobody has said whose turn it is for longer than patience,
	// and says for how long at most.
	Silent(patience time.Duration) (n int, longest time.Duration)
}

// Rules are the crawl's, as of now. They are asked for every decision: their methods must be cheap,
// and must not block or call the dispatcher. Any goroutine may call them.
type Rules interface {
	// Settings returns the crawl's current settings: the same pointer until they change.
	Settings() *crawl.Settings
	// Sites returns the rules for sites that go with them, nil if there are none: the same table until
	// one of both changes.
	Sites() *sites.Table
	// Excluded reports whether the settings exclude an item that was queued earlier.
	Excluded(it *crawl.Item) bool
}

// Node says what this node may do now. Except Refuse its methods must not block, or call the
// dispatcher except Wake. MayFetch is called by any goroutine, Refuse by those that call Next, the
// others by the loop.
type Node interface {
	// MayFetch reports whether hosts of p may be requested. It is asked before each visit, and by
	// MayRequest again before each request.
	MayFetch(p crawl.Partition) bool
	// TakePermit takes the right to fetch one page. False: there is none now, and Wake is called when
	// there is one.
	TakePermit() bool
	// PermitDone returns a permit when its visit is completed; used says that it became a page.
	PermitDone(used bool)
	// MayLastTry says that no other node has anything to fetch, so that frozen hosts get their last
	// try.
	MayLastTry() bool
	// LookupRoom returns how many look-ups the name servers can take at a time, and Fetchers how many
	// visits there can be. They are asked in every turn of the loop.
	LookupRoom() int
	Fetchers() int
	// Refuse completes a visit of a host that has reached --max-pages-per-host, after Release. It must
	// call Completed, as for any visit. Its error is Next's.
	Refuse(ctx context.Context, v crawl.Visit, o crawl.Outcome) error
}

// Options are the parts of a Dispatcher. Store, Resolver, Rules and Node are required.
type Options struct {
	Store    Store
	Resolver Resolver
	Rules    Rules
	Node     Node
	// Turns spaces requests to an address over all nodes; nil: this node is alone.
	Turns Turns
	// Parts are what pages that a browser shows ask for; nil: there are none.
	Parts Errands
	// Wishes are hosts of which somebody wants a visit; nil: there are none.
	Wishes Wishes
	// Scheduler holds the scheduler's configuration. Its Dispatcher and Turns are the
	// dispatcher's own.
	Scheduler core.Config
	// Readers and Lookups are the numbers of goroutines that read the disk and resolve names.
	// Default 4 and 64.
	Readers, Lookups int
	Logger           *slog.Logger
}

// withDefaults sets the defaults.
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
