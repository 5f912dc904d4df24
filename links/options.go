package links

import (
	"context"
	"log/slog"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/handoff"
	"crawlnode/peer"
	"crawlnode/web/normalize"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// This file declares what the package needs of others.

// Options are what a Router, and what is built on it, needs of others.
type Options struct {
	Self     crawl.NodeID
	Store    Store
	Holdings Holdings
	Peers    Peers
	Rules    func() *scope.Rules // the current rules
	Seeds    *scope.Seeds        // the scope entries of seeds
	// Normalize are the crawl's rules for URLs that are one page; seeds follow them.
	Normalize func() normalize.Rules
	Scope     Scope
	Log       *slog.Logger
	// Cites is what a finished page passes on to its links, which it leaves as they are; nil, as its
	// answer may be: nothing.
	Cites func(v *crawl.Visit, o *crawl.Outcome, links []crawl.Routed) []byte
	// Weigh is how important a page that was fetched is for its next visits, 0 to 1; nil, or 0: not
	// known.
	Weigh func(p crawl.Partition, page urlnorm.URL) (float64, error)
}

// Store is the part of the frontier that links need. Its errors end the node, except
// frontier.ErrNotHolder, frontier.ErrStaleLease and those of an ended context. It keeps no slice of
// links: they are used again.
type Store interface {
	Add(ctx context.Context, links []crawl.Routed) ([]frontier.Admission, error)
	Complete(ctx context.Context, c frontier.Completion) error
	Skip(ctx context.Context, skipped map[crawl.Partition]crawl.SkipCounts) error
	Outbox(p crawl.Partition, after frontier.OutboxKey, limit int) ([]frontier.OutboxEntry, error)
	AckOutbox(ctx context.Context, entries []frontier.OutboxEntry) error
	Walk(visit func(*frontier.Meta) bool)
	// Totals are the counters of all held partitions.
	Totals() crawl.Counters
}

// Holdings reports which partitions this node holds, and how safe their content is. Before the node
// has joined a cluster it holds none.
type Holdings interface {
	Partitions() int // of the cluster; 0 before the node has joined
	Holds(p crawl.Partition) bool
	// Replicated reports whether other nodes have, or will have, copies of the held partitions.
	Replicated() bool
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
	// Forward is that of peer.Pool.
	Forward(ctx context.Context, to crawl.NodeID, links []*peer.Link) ([]peer.Verdict, error)
}

// Scope spreads scope entries from one member to another.
type Scope interface {
	// Complete reports whether this node has every entry that it may need to judge a link.
	Complete(now time.Time) bool
	// CaughtUp waits, for seconds, until this node has every entry that it needed when it was
	// called, and reports whether it has.
	CaughtUp(ctx context.Context) bool
	// Agrees reports whether another member judges by the same rules. If not, that member is asked
	// for its version.
	Agrees(member crawl.NodeID, stamp *peer.RulesStamp) bool
	// Add stores entries here and returns; they are then sent to the members. AddWhenRoom waits
	// while the disk is full.
	Add(entries ...string) error
	AddWhenRoom(ctx context.Context, entries ...string) error
	// Spread returns when more than half of the members have everything that is here now.
	Spread(ctx context.Context) error
}

// Visits is what a Completer needs of the dispatcher.
type Visits interface {
	// HostState returns the state of the visit's host, to be written just after.
	HostState(v crawl.Visit) crawl.HostState
	// RetryAt is when a failed URL is retried; the zero time gives it up.
	RetryAt(v crawl.Visit, kind crawl.Kind) time.Time
	// Unreachable notes why the host could not be reached, or asks for fewer requests.
	Unreachable(v crawl.Visit, why crawl.HostFailure)
	// ErrandCompleted takes the result of a visit for somebody who waits for it (crawl.Via.Errand);
	// nothing is stored.
	ErrandCompleted(v crawl.Visit, o *crawl.Outcome)
	// Completed notes that the outcome is on disk, or was dropped. It is called once, last.
	Completed(v crawl.Visit)
}

// Results handle the other consequences of an outcome.
type Results struct {
	Outcomes Outcomes
	Failures Failures
	Payloads Payloads
}

// Outcomes counts the results of visits.
type Outcomes interface {
	// Observe counts an outcome that is about to be stored.
	Observe(o *crawl.Outcome)
}

// Failures archives failures.
type Failures interface {
	// Failed archives why a URL or a host is given up, if c gives it up. It is called before c is
	// stored.
	Failed(ctx context.Context, v crawl.Visit, c *frontier.Completion) error
}

// Payloads knows which payloads were seen before.
type Payloads interface {
	// FirstHere is added to the completion when the page is the first with its payload.
	FirstHere(v *crawl.Visit, o *crawl.Outcome) []frontier.Content
	// Completed reports that the page's claim on a payload is over: it is stored, or not.
	Completed(url urlnorm.URL, o *crawl.Outcome, stored bool)
}

// Start lets seeds start the crawl.
type Start interface {
	// May returns why the crawl could fetch nothing at all; nil when it could.
	May() error
	// Run starts an idle or finished crawl, and waits until more than half of the members know.
	Run(ctx context.Context) error
}
