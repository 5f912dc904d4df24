package links

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/handoff"
	"crawlnode/peer"
	"crawlnode/web/normalize"
	"crawlnode/web/scope"
)

// around is the surroundings of a Router in these tests: its store, its partitions, its peers. By
// default no node holds a partition, and everything that is stored or sent is added.
type around struct {
	held  map[crawl.Partition]bool
	alone bool
	late  map[crawl.Partition]bool // their replicas do not answer
	says  map[crawl.Partition]crawl.NodeID
	owns  map[crawl.Partition]crawl.NodeID

	answers map[crawl.NodeID]peer.Verdict // else ADDED
	silent  map[crawl.NodeID]bool
	refusal error // of Complete
	scope   scopeAround
	waiting []frontier.OutboxEntry

	mu     sync.Mutex // guards did in Forward, which is called from several goroutines
	did    []string   // in order
	stored []string
	done   frontier.Completion
	acked  []crawl.Routed
	counts map[crawl.Partition]crawl.SkipCounts // that were refused
}

func (a *around) router() *Router {
	rules, err := scope.Compile(scope.Options{Mode: scope.Host})
	if err != nil {
		panic(err)
	}
	a.scope.around = a
	return NewRouter(Options{Self: "a", Store: a, Holdings: a, Peers: a, Rules: func() *scope.Rules {
		return rules
	}, Normalize: func() normalize.Rules { return normalize.Rules{} },
		Seeds: scope.NewSeeds([]string{"host:in.test", "host:late.test"}), Scope: &a.scope,
		Log: slog.New(slog.DiscardHandler)})
}

func (a *around) Add(_ context.Context, links []crawl.Routed) ([]frontier.Admission, error) {
	a.did = append(a.did, "add")
	for _, l := range links {
		a.stored = append(a.stored, l.Target.URL.String())
	}
	return slices.Repeat([]frontier.Admission{frontier.Added}, len(links)), nil
}

func (a *around) Complete(_ context.Context, c frontier.Completion) error {
	a.did = append(a.did, "complete")
	a.done = c
	return a.refusal
}

func (a *around) Skip(_ context.Context, skipped map[crawl.Partition]crawl.SkipCounts) error {
	a.counts = skipped
	return nil
}

func (a *around) Outbox(
	_ crawl.Partition,
	after frontier.OutboxKey,
	limit int,
) ([]frontier.OutboxEntry, error) {
	if after != (frontier.OutboxKey{}) {
		return nil, nil
	}
	return a.waiting[:min(limit, len(a.waiting))], nil
}

func (a *around) AckOutbox(_ context.Context, es []frontier.OutboxEntry) error {
	for _, e := range es {
		a.acked = append(a.acked, e.Routed)
	}
	return nil
}

// Totals counts the waiting links.
func (a *around) Totals() crawl.Counters { return crawl.Counters{Outbox: int64(len(a.waiting))} }

// Walk visits two partitions: one with all waiting links, and a mere copy.
func (a *around) Walk(visit func(*frontier.Meta) bool) {
	for _, state := range []frontier.State{frontier.Holder, frontier.Copy} {
		m := frontier.Meta{State: state}
		m.Counters.Outbox = int64(len(a.waiting))
		if !visit(&m) {
			return
		}
	}
}

func (a *around) Partitions() int                       { return 512 }
func (a *around) Holds(p crawl.Partition) bool          { return a.held[p] }
func (a *around) Replicated() bool                      { return !a.alone }
func (a *around) Holder(p crawl.Partition) crawl.NodeID { return a.says[p] }
func (a *around) Owner(p crawl.Partition) crawl.NodeID  { return a.owns[p] }
func (a *around) Tenure(p crawl.Partition) handoff.Tenure {
	return handoff.Tenure{P: p, Epoch: 1}
}

func (a *around) Await(_ context.Context, ts []handoff.Tenure, _ bool, errs []error) {
	a.did = append(a.did, "wait")
	for i, t := range ts {
		if errs[i] = nil; a.late[t.P] {
			errs[i] = handoff.ErrNotAcknowledged
		}
	}
}

func (a *around) Forward(
	_ context.Context,
	to crawl.NodeID,
	links []*peer.Link,
) ([]peer.Verdict, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.silent[to] {
		return nil, errors.New("no answer")
	}
	a.did = append(a.did, "forward to "+string(to))
	v, told := a.answers[to]
	if !told {
		v = peer.Verdict_VERDICT_ADDED
	}
	return slices.Repeat([]peer.Verdict{v}, len(links)), nil
}

// hosts are those of links, in order.
func hosts(links []crawl.Routed) (hs []string) {
	for _, l := range links {
		hs = append(hs, l.Target.URL.Host())
	}
	slices.Sort(hs)
	return hs
}

// scopeAround is the spreading of entries: by default this node lacks none, and all nodes agree
// with it.
type scopeAround struct {
	around                 *around
	differs, lacks, behind bool
	unreached              error // of Spread
	opened                 []string
}

func (s *scopeAround) Complete(time.Time) bool                    { return !s.lacks }
func (s *scopeAround) CaughtUp(context.Context) bool              { return !s.behind }
func (s *scopeAround) Agrees(crawl.NodeID, *peer.RulesStamp) bool { return !s.differs }

func (s *scopeAround) Add(entries ...string) error {
	s.opened = append(s.opened, entries...)
	return nil
}

func (s *scopeAround) AddWhenRoom(_ context.Context, entries ...string) error {
	return s.Add(entries...)
}

func (s *scopeAround) Spread(context.Context) error {
	s.around.did = append(s.around.did, "spread")
	return s.unreached
}
