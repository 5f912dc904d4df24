package links

import (
	"context"
	"log/slog"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/handoff"
	"crawlnode/peer"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// This file is what the package needs of others.

// Options are what a Router, and what is built on it, needs of others.
type Options struct {
	Self     crawl.NodeID
	Store    Store
	Holdings Holdings
	Peers    Peers
	Rules    func() *scope.Rules // of now
	Seeds    *scope.Seeds        // the scope entries of seeds
	Scope    Scope
	Log      *slog.Logger
}

// Store is the part of the frontier that links need. Its errors end the node, but for
// frontier.ErrNotHolder, frontier.ErrStaleLease and those of an ended context.
type Store interface {
	Add(ctx context.Context, links []crawl.Routed) ([]frontier.Admission, error)
	Complete(ctx context.Context, c frontier.Completion) error
	Skip(ctx context.Context, skipped map[crawl.Partition]crawl.SkipCounts) error
	Outbox(p crawl.Partition, after frontier.OutboxKey, limit int) ([]frontier.OutboxEntry, error)
	AckOutbox(ctx context.Context, entries []frontier.OutboxEntry) error
	Walk(visit func(*frontier.Meta) bool)
}

// Holdings is which partitions this node holds, and how safe what is in them is. Before the node
// has joined a cluster it holds none.
type Holdings interface {
	Partitions() int // of the cluster; 0 before the node has joined
	Holds(p crawl.Partition) bool
	// Replicated reports whether other nodes have, or are to have, copies of what is held here.
	Replicated() bool
	// Tenures and Wait are handoff.Driver's.
	Tenures(ps []crawl.Partition) []handoff.Tenure
	Wait(ctx context.Context, ts []handoff.Tenure, full bool) []error
}

// Peers are the other nodes.
type Peers interface {
	// Holder is the node that reported last that it holds p; Owner is the one that should, by the
	// table. "": no such node is known.
	Holder(p crawl.Partition) crawl.NodeID
	Owner(p crawl.Partition) crawl.NodeID
	// Forward is peer.Pool's.
	Forward(ctx context.Context, to crawl.NodeID, links []*peer.Link) ([]peer.Verdict, error)
}

// Scope is how scope entries get from one member to another.
type Scope interface {
	// Complete reports whether this node has every entry that it may need to judge a link.
	Complete(now time.Time) bool
	// CaughtUp waits, for seconds, until this node has every entry that it needed when it was
	// called, and reports whether it has.
	CaughtUp(ctx context.Context) bool
	// Agrees reports whether another member judges by the same rules. When it does not, that
	// member is asked for what it has.
	Agrees(member crawl.NodeID, stamp *peer.RulesStamp) bool
	// Add stores entries here and returns; the members are being told. AddWhenRoom waits while
	// the disk is full.
	Add(entries ...string) error
	AddWhenRoom(ctx context.Context, entries ...string) error
	// Spread returns when more than half of the members have what is here now.
	Spread(ctx context.Context) error
}

// Visits is what a Completer needs of the dispatcher.
type Visits interface {
	// HostState returns the state of the visit's host, to be written just after.
	HostState(v crawl.Visit) crawl.HostState
	// RetryAt is when a failed URL is tried again; the zero time gives it up.
	RetryAt(v crawl.Visit, kind crawl.Kind) time.Time
	// Unreachable notes why the host could not be reached.
	Unreachable(v crawl.Visit, why crawl.HostFailure)
	// RobotsSettled takes what came of a file to which another host's robots.txt redirects; nothing is stored.
	RobotsSettled(v crawl.Visit, o *crawl.Outcome)
	// Settled notes that the outcome is on disk, or was given up. Once, last.
	Settled(v crawl.Visit)
}

// Results is what else an outcome leads to.
type Results struct {
	Outcomes Outcomes
	Failures Failures
	Payloads Payloads
}

// Outcomes counts what came of visits.
type Outcomes interface {
	// Observe counts an outcome that is about to be stored.
	Observe(o *crawl.Outcome)
}

// Failures are records of what could not be fetched.
type Failures interface {
	// Failed archives why a URL or a host is given up, when c does that. It comes before c is stored.
	Failed(ctx context.Context, v crawl.Visit, c *frontier.Completion) error
}

// Payloads are those that were seen before.
type Payloads interface {
	// FirstHere is what the completion adds when the page is the first with its payload.
	FirstHere(v *crawl.Visit, o *crawl.Outcome) []frontier.Content
	// Completed tells that what the page has of a payload is stored, or was given up.
	Completed(url urlnorm.URL, o *crawl.Outcome)
}

// Start is how seeds set the crawl running.
type Start interface {
	// May returns why the crawl could fetch nothing at all.
	May() error
	// Run sets an idle or finished crawl running, and waits until more than half of the members know.
	Run(ctx context.Context) error
}
