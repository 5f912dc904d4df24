package links

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/handoff"
	"crawlnode/peer"
)

// around is what stands around a Router in these tests: its store, what it holds, its peers. By
// default a partition is held by nobody, and everything that is stored or sent is added.
type around struct {
	Store // what a test does not need ends it
	held  map[crawl.Partition]bool
	alone bool
	late  map[crawl.Partition]bool // their replicas do not answer
	says  map[crawl.Partition]crawl.NodeID
	owns  map[crawl.Partition]crawl.NodeID

	answers map[crawl.NodeID]peer.Verdict // else ADDED
	silent  map[crawl.NodeID]bool
	refusal error // of Complete

	mu     sync.Mutex // guards did in Forward, which is called from several goroutines
	did    []string   // in order
	stored []string
	done   frontier.Completion
}

func (a *around) router() *Router {
	return NewRouter(Options{Self: "a", Store: a, Holdings: a, Peers: a, Log: slog.New(slog.DiscardHandler)})
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

func (a *around) Partitions() int                       { return 512 }
func (a *around) Holds(p crawl.Partition) bool          { return a.held[p] }
func (a *around) Replicated() bool                      { return !a.alone }
func (a *around) Holder(p crawl.Partition) crawl.NodeID { return a.says[p] }
func (a *around) Owner(p crawl.Partition) crawl.NodeID  { return a.owns[p] }
func (a *around) Tenures(ps []crawl.Partition) (ts []handoff.Tenure) {
	for _, p := range ps {
		ts = append(ts, handoff.Tenure{P: p, Epoch: 1})
	}
	return ts
}

func (a *around) Wait(_ context.Context, ts []handoff.Tenure, _ bool) []error {
	a.did = append(a.did, "wait")
	errs := make([]error, len(ts))
	for i, t := range ts {
		if a.late[t.P] {
			errs[i] = handoff.ErrNotAcknowledged
		}
	}
	return errs
}

func (a *around) Forward(_ context.Context, to crawl.NodeID, links []*peer.Link) ([]peer.Verdict, error) {
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

// TestSubmitGoesToWhoHoldsIt checks whom a link goes to: this node, else who said last that it holds
// the partition, else its owner.
func TestSubmitGoesToWhoHoldsIt(t *testing.T) {
	t.Parallel()
	own, said, owned, nobody := linkTo(t, "http://own.test/"), linkTo(t, "http://said.test/"), linkTo(t, "http://owned.test/"), linkTo(t, "http://nobody.test/")
	a := &around{
		held: map[crawl.Partition]bool{own.Partition: true},
		says: map[crawl.Partition]crawl.NodeID{said.Partition: "b", nobody.Partition: "a"}, // what it held itself a moment ago
		owns: map[crawl.Partition]crawl.NodeID{said.Partition: "c", owned.Partition: "c", nobody.Partition: "a"},
	}
	r := a.router()
	got, err := r.Submit(t.Context(), []crawl.Routed{said, own, nobody, owned})
	if err != nil || got.Added != 3 || !slices.Equal(hosts(got.Left), []string{"nobody.test"}) {
		t.Errorf("%+v, %v", got, err)
	}
	slices.Sort(a.did)
	if want := []string{"add", "forward to b", "forward to c", "wait"}; !slices.Equal(a.did, want) || !slices.Equal(a.stored, []string{"http://own.test/"}) {
		t.Errorf("%v, want %v; stored %v", a.did, want, a.stored)
	}
	if c := r.Counts(); c.Forwarded != 2 || c.Local != 0 {
		t.Errorf("%+v", c)
	}
}

// TestSubmitKeepsWhatNobodyAcknowledged checks what stays with the caller: what replicas do not have,
// and what another node does not hold, or says nothing of.
func TestSubmitKeepsWhatNobodyAcknowledged(t *testing.T) {
	t.Parallel()
	safe, late := linkTo(t, "http://safe.test/"), linkTo(t, "http://late.test/")
	moved, silent, refused := linkTo(t, "http://moved.test/"), linkTo(t, "http://silent.test/"), linkTo(t, "http://refused.test/")
	a := &around{
		held:    map[crawl.Partition]bool{safe.Partition: true, late.Partition: true},
		late:    map[crawl.Partition]bool{late.Partition: true},
		says:    map[crawl.Partition]crawl.NodeID{moved.Partition: "m", silent.Partition: "s", refused.Partition: "r"},
		silent:  map[crawl.NodeID]bool{"s": true},
		answers: map[crawl.NodeID]peer.Verdict{"m": peer.Verdict_VERDICT_NOT_HOLDER, "r": peer.Verdict_VERDICT_REFUSED},
	}
	got, err := a.router().Submit(t.Context(), []crawl.Routed{safe, late, moved, silent, refused})
	if want := []string{"late.test", "moved.test", "silent.test"}; err != nil || got.Added != 1 || got.Refused != 1 || !slices.Equal(hosts(got.Left), want) {
		t.Errorf("%+v, %v; left %v, want %v", got, err, hosts(got.Left), want)
	}
}
