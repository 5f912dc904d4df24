package importance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/storage"
	"crawlnode/handoff"
	"crawlnode/importance/opic"
	"crawlnode/peer"
	"crawlnode/web/urlnorm"
)

// member is a node of these tests, with a frontier of its own.
type member struct {
	*Keeper
	net   *network
	id    crawl.NodeID
	front *frontier.Frontier
	kv    *storage.Memory
	stop  func()
}

// network joins members. It loses calls and answers, and carries some calls twice; replicas are
// sometimes silent.
type network struct {
	t       *testing.T
	mu      sync.Mutex // guards rng, which calls use at the same time
	rng     *rand.Rand
	faults  bool
	members map[crawl.NodeID]*member
	where   map[crawl.Partition]crawl.NodeID
	epochs  map[crawl.Partition]crawl.Epoch
	late    []func()              // calls that arrive again
	silent  map[crawl.NodeID]bool // their replicas do not answer
	calls   []*peer.CreditBatch
}

const testPartitions = 6

var errLost = errors.New("lost")

func newNetwork(t *testing.T, rng *rand.Rand) *network {
	n := &network{
		t:       t,
		rng:     rng,
		members: map[crawl.NodeID]*member{},
		where:   map[crawl.Partition]crawl.NodeID{},
		epochs:  map[crawl.Partition]crawl.Epoch{},
	}
	ids := []crawl.NodeID{"a", "b", "c"}
	for p := range crawl.Partition(testPartitions) {
		n.where[p], n.epochs[p] = ids[int(p)%3], 1
	}
	for _, id := range ids {
		m := &member{net: n, id: id, kv: storage.NewMemory()}
		n.members[id] = m
		m.start()
		var ps []crawl.Partition
		for p := range crawl.Partition(testPartitions) {
			if n.where[p] == id {
				ps = append(ps, p)
			}
		}
		if err := m.front.Found(t.Context(), ps, 1); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func (m *member) start() {
	f, err := frontier.New(m.kv, frontier.Options{})
	if err != nil {
		m.net.t.Fatal(err)
	}
	f.Limits = cash.Limits{Entries: 20, LogBytes: 4 << 10, DirtyBytes: 4 << 10, Least: 1 << 9}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = f.Run(ctx)
	}()
	m.stop = sync.OnceFunc(func() {
		cancel()
		<-over
	})
	m.net.t.Cleanup(func() { m.stop() })
	m.front = f
	m.Keeper = New(Options{
		Self:     m.id,
		Store:    f,
		Holdings: m,
		Peers:    m,
		Log:      slog.New(slog.DiscardHandler),
		Settings: func() *crawl.Settings { return &crawl.Settings{Priority: "importance=1"} },
	})
}

// crash ends a member as kill -9 does, and starts it again.
func (m *member) crash() {
	m.stop()
	m.kv = m.kv.Crash()
	m.start()
}

func (n *network) chance(of int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.faults && n.rng.IntN(of) == 0
}

func (m *member) Partitions() int                       { return testPartitions }
func (m *member) Alone() bool                           { return len(m.net.members) == 1 }
func (m *member) Holds(p crawl.Partition) bool          { return m.net.where[p] == m.id }
func (m *member) Holder(p crawl.Partition) crawl.NodeID { return m.net.where[p] }
func (m *member) Owner(p crawl.Partition) crawl.NodeID  { return m.net.where[p] }
func (m *member) Tenure(crawl.Partition) handoff.Tenure { return handoff.Tenure{} }
func (m *member) Ranks() (all [][]byte) {
	for id, other := range m.net.members {
		if id != m.id {
			all = append(all, other.Summary())
		}
	}
	return all
}

func (m *member) Await(_ context.Context, ts []handoff.Tenure, _ bool, errs []error) {
	for i := range ts {
		if errs[i] = nil; m.net.silent[m.id] || m.net.chance(5) {
			errs[i] = handoff.ErrSilent
		}
	}
}

func (m *member) Credit(
	ctx context.Context,
	to crawl.NodeID,
	b *peer.CreditBatch,
) (*peer.CreditReply, error) {
	n := m.net
	if n.chance(4) {
		return nil, errLost
	}
	n.mu.Lock()
	n.calls = append(n.calls, b)
	n.mu.Unlock()
	r, err := n.members[to].Keeper.Credit(ctx, b)
	if n.chance(4) {
		n.mu.Lock()
		n.late = append(n.late, func() { _, _ = n.members[to].Keeper.Credit(context.Background(), b) })
		n.mu.Unlock()
	}
	if n.chance(4) {
		return nil, errLost
	}
	return r, err
}

// web is the pages of these tests.
type web struct {
	urls  []crawl.Routed
	links [][]int
}

func newWeb(t *testing.T, rng *rand.Rand, pages int) *web {
	w := &web{}
	for i := range pages {
		p := crawl.Partition(rng.IntN(testPartitions))
		u, err := urlnorm.Parse(fmt.Sprintf("http://h%d.test/%d", int(p)+testPartitions*(i%3), i))
		if err != nil {
			t.Fatal(err)
		}
		w.urls = append(w.urls, crawl.Routed{Partition: p, Target: crawl.Target{URL: u}})
		var links []int
		for range rng.IntN(10) {
			if to := rng.IntN(1 + rng.IntN(pages)); to != i && !slices.Contains(links, to) {
				links = append(links, to)
			}
		}
		w.links = append(w.links, links)
	}
	return w
}

// visit completes a page on the node that holds it.
func (n *network) visit(w *web, page int) {
	n.t.Helper()
	l := w.urls[page]
	m := n.members[n.where[l.Partition]]
	if _, err := m.front.Add(n.t.Context(), []crawl.Routed{l}); err != nil {
		n.t.Fatal(err)
	}
	rec, _, err := m.front.Record(l.Partition, l.Target.URL)
	if err != nil {
		n.t.Fatal(err)
	}
	v := crawl.Visit{}
	v.Item = rec.Item
	o := crawl.Outcome{Kind: crawl.Fetched, Status: 200}
	var links []crawl.Routed
	for _, to := range w.links[page] {
		links = append(links, w.urls[to])
	}
	c := frontier.Completion{Lease: crawl.Lease{
		Partition: l.Partition,
		Epoch:     n.epochs[l.Partition],
		Host:      crawl.Host(l.Target.URL.Host()),
		Item:      rec.Item,
	},
		Outcome: o, Cites: m.Cites(&v, &o, links)}
	if err := m.front.Complete(n.t.Context(), c); err != nil {
		n.t.Fatal(err)
	}
}

// sums adds up the ledgers.
func (n *network) sums() (sum opic.Ledger, waiting int) {
	n.t.Helper()
	for p := range crawl.Partition(testPartitions) {
		f := n.members[n.where[p]].front
		l, err := f.Ledger(p)
		if err != nil {
			n.t.Fatal(err)
		}
		sum.Plus(l)
		entries, err := f.Credits(p, frontier.OutboxKey{}, 1000, 1<<20)
		if err != nil {
			n.t.Fatal(err)
		}
		waiting += len(entries)
	}
	return sum, waiting
}

// Three nodes that crash, with a network that loses and repeats: all that was sent is received
// once, and at rest every URL has what the links give it, on whichever node, with the same rank on
// all.
func TestCashFlowsBetweenNodes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 5))
			n := newNetwork(t, rng)
			w := newWeb(t, rng, 120)
			now := time.Unix(1e9, 0)
			n.faults = true
			for page := range w.urls {
				n.visit(w, page)
				if page%4 == 0 {
					n.rounds(&now, 1)
				}
				n.mu.Lock()
				crash, late := n.rng.IntN(15) == 0, n.late
				if len(late) > 3 {
					n.late = nil
				}
				n.mu.Unlock()
				if crash {
					n.members[[]crawl.NodeID{"a", "b", "c"}[page%3]].crash()
				}
				if len(late) > 3 {
					for _, call := range late {
						call()
					}
				}
			}
			n.faults = false
			n.rest(&now)
			n.compare(w)
		})
	}
}

// rounds lets all members do so many rounds, half a minute apart.
func (n *network) rounds(now *time.Time, times int) {
	n.t.Helper()
	for range times {
		*now = now.Add(foldAfter)
		for _, id := range []crawl.NodeID{"a", "b", "c"} {
			n.members[id].setOrder()
			if err := n.members[id].Round(n.t.Context(), *now); err != nil {
				n.t.Fatal(err)
			}
		}
	}
}

// rest does rounds until nothing waits and nothing changes any more.
func (n *network) rest(now *time.Time) {
	n.t.Helper()
	quiet := 0
	var last opic.Ledger
	for range 3_000 {
		n.rounds(now, 1)
		sum, waiting := n.sums()
		if quiet++; sum != last || waiting > 0 {
			quiet = 0
		}
		if last = sum; quiet > 6 {
			return
		}
	}
	n.t.Fatalf("it does not come to rest: %+v", last)
}

func (n *network) compare(w *web) {
	n.t.Helper()
	sum, waiting := n.sums()
	if sum.Sent != sum.Received || waiting > 0 || sum.Sent == 0 ||
		sum.Minted != opic.Unit*opic.Cash(len(w.urls)) {
		n.t.Fatalf("at rest: %+v, %d entries wait", sum, waiting)
	}
	x := make([]float64, len(w.urls))
	for range 200 {
		next := make([]float64, len(x))
		for i := range next {
			next[i]++
			for _, to := range w.links[i] {
				next[to] += 0.85 * x[i] / float64(len(w.links[i]))
			}
		}
		x = next
	}
	for i, l := range w.urls {
		a, ok, err := n.members[n.where[l.Partition]].front.Account(l.Partition, l.Target.URL)
		if err != nil || !ok {
			n.t.Fatalf("%s: known %v, %v", l.Target.URL, ok, err)
		}
		if got := float64(a.Total()) / float64(opic.Unit); got > 1.03*x[i] || got < 0.97*x[i] {
			n.t.Errorf("%s has %v, want %v", l.Target.URL, got, x[i])
		}
		rank, _ := n.members["a"].Rank(a.Total())
		for _, m := range n.members {
			if r, ok := m.Rank(a.Total()); !ok || r != rank {
				n.t.Errorf("%s has rank %v on a and %v, %v on %s", l.Target.URL, rank, r, ok, m.id)
			}
		}
	}
}
