package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/frontier/storage"
	"crawlnode/links"
	"crawlnode/simweb"
)

// running is a node whose Run was called.
type running struct {
	*Node
	done chan struct{} // closed when Run has returned
	err  error         // of Run; valid after done
}

// testConfig is a small node on ports that the system chooses.
func testConfig(t testing.TB, name string) config.Config {
	t.Helper()
	c := config.Default()
	c.Name, c.DataDir = name, t.TempDir()
	c.HTTP, c.Gossip, c.RPC = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.Partitions, c.Replication, c.Fetchers, c.Store = 512, 1, 16, "none"
	c.DrainTimeout = patience // a drain that is cut short leaves partitions behind, rightly
	c.AllowNet = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	return c
}

// anyPort is --allow-ports of nodes whose webs are where the system found a port.
var anyPort = []config.PortRange{{First: 1, Last: 65535}}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// startNode opens and runs a node; it ends with the test at the latest.
func startNode(t testing.TB, c config.Config) *running {
	t.Helper()
	return startNodeIn(t, c, nil)
}

// startNodeIn keeps the frontier in a store of the test's.
func startNodeIn(t testing.TB, c config.Config, store storage.KV) *running {
	t.Helper()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return startNodeWith(t,
		Options{Config: c, Logger: slog.New(slog.DiscardHandler), Version: "test", Store: store})
}

func startNodeWith(t testing.TB, o Options) *running {
	t.Helper()
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Node: n, done: make(chan struct{})}
	go func() {
		r.err = n.Run(context.Background())
		_ = n.HTTPListener().Close() // nobody serves the API here
		close(r.done)
	}()
	t.Cleanup(func() {
		n.Stop()
		r.ended(t, patience)
	})
	return r
}

// ended waits for the end of Run.
func (r *running) ended(t testing.TB, within time.Duration) {
	t.Helper()
	select {
	case <-r.done:
		if r.err != nil {
			t.Errorf("%s ended with %v", r.name, r.err)
		}
	case <-time.After(within):
		t.Fatalf("%s has not ended after %v", r.name, within)
	}
}

// patience bounds the waits for things that take seconds on a machine that has nothing else to do.
// It is long: under the race detector, with 25 busy processes on two processors, a node takes half
// a minute to start, and nodes suspect each other meanwhile.
const patience = 15 * time.Minute

// until waits for something; why says what is missing, "" that nothing is.
func until(t testing.TB, within time.Duration, why func() string) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		missing := why()
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %v: %s", within, missing)
		}
	}
}

func statusOf(t testing.TB, n *Node) *crawl.Status {
	t.Helper()
	s, err := n.Status(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// converged waits until each node shows all members and a ring at rest.
func converged(t testing.TB, members int, nodes ...*running) {
	t.Helper()
	for _, n := range nodes {
		until(t, patience, func() string {
			ok, why := n.Ready()
			s := statusOf(t, n.Node)
			if ok && s.Ring.Converged && s.Cluster.Members.Alive == members {
				return ""
			}
			return fmt.Sprintf("%s: ready %v (%s), ring %+v, members %+v", n.name, ok, why, s.Ring,
				s.Cluster.Members)
		})
	}
}

// newWeb serves a synthetic web for the time of the test.
func newWeb(t *testing.T, c simweb.Config) (*simweb.Web, *simweb.Server) {
	t.Helper()
	web, err := simweb.New(c)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := web.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return web, srv
}

// threeNodes is a converged cluster that may crawl the web.
func threeNodes(t *testing.T, srv *simweb.Server, change func(*config.Config)) []*running {
	t.Helper()
	var nodes []*running
	for i := range 3 {
		c := testConfig(t, fmt.Sprint("n", i+1))
		c.DNS = []string{srv.DNS.String()}
		if i > 0 {
			c.Join = []string{nodes[0].Info().Gossip}
		}
		change(&c)
		nodes = append(nodes, startNode(t, c))
	}
	converged(t, 3, nodes...)
	return nodes
}

func seedsOf(web *simweb.Web) []crawl.Seed {
	var seeds []crawl.Seed
	for _, u := range web.Seeds() {
		seeds = append(seeds, crawl.Seed{URL: u})
	}
	return seeds
}

// seed gives a node the seeds of a web.
func seed(t *testing.T, n *running, web *simweb.Web) {
	t.Helper()
	if _, err := n.AddSeeds(t.Context(), seedsOf(web)); err != nil {
		t.Fatal(err)
	}
}

// again asks until the answer is no longer that the nodes are too busy: as clients do. Nodes exclude
// each other for a moment on a busy machine, and are not ready then.
func again[T any](ask func() (T, error), busy func(T, error) bool) (T, error) {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		answer, err := ask()
		if !errors.Is(err, ErrNotReady) && !busy(answer, err) || time.Now().After(end) {
			return answer, err
		}
	}
}

// AddSeeds sends seeds again while their owners are too busy to store them in time. What a try before
// has stored is a duplicate then.
func (r *running) AddSeeds(ctx context.Context, seeds []crawl.Seed) (crawl.SeedReport, error) {
	return again(func() (crawl.SeedReport, error) { return r.Node.AddSeeds(ctx, seeds) },
		func(_ crawl.SeedReport, err error) bool { return errors.Is(err, links.ErrBusy) })
}

// ControlCrawl gives an order again while the node is not ready.
func (r *running) ControlCrawl(ctx context.Context, action string) (crawl.ActionReport, error) {
	return again(func() (crawl.ActionReport, error) { return r.Node.ControlCrawl(ctx, action) },
		func(crawl.ActionReport, error) bool { return false })
}

// ChangeCrawl changes the settings again while the node is not ready.
func (r *running) ChangeCrawl(ctx context.Context, c crawl.CrawlChange) (crawl.CrawlReport, error) {
	return again(func() (crawl.CrawlReport, error) { return r.Node.ChangeCrawl(ctx, c) },
		func(crawl.CrawlReport, error) bool { return false })
}

// RotateKey gives the order again while the node is not ready.
func (r *running) RotateKey(ctx context.Context, key string) (crawl.RotationReport, error) {
	return again(func() (crawl.RotationReport, error) { return r.Node.RotateKey(ctx, key) },
		func(crawl.RotationReport, error) bool { return false })
}

// DrainMember gives an order again while the other node does not answer in time. An order that was
// given twice is one, and the node may have left by the first when the second is given.
func (r *running) DrainMember(ctx context.Context, id crawl.NodeID) error {
	unanswered := false
	_, err := again(func() (struct{}, error) { return struct{}{}, r.Node.DrainMember(ctx, id) },
		func(_ struct{}, err error) bool {
			silent := err != nil && strings.Contains(err.Error(), "does not answer")
			unanswered = unanswered || silent
			return silent
		})
	if unanswered && errors.Is(err, crawl.ErrRefused) &&
		strings.Contains(err.Error(), "it is no member") {
		return nil
	}
	return err
}

// ForgetMember sends the request again while it was not stored, as its error says.
func (r *running) ForgetMember(ctx context.Context, id crawl.NodeID) error {
	_, err := again(func() (struct{}, error) { return struct{}{}, r.Node.ForgetMember(ctx, id) },
		func(_ struct{}, err error) bool {
			return err != nil && strings.Contains(err.Error(), "send it again")
		})
	return err
}

// ExplainURL asks again while the holder does not answer in time, as its answer says.
func (r *running) ExplainURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error) {
	return again(func() (*crawl.URLReport, error) { return r.Node.ExplainURL(ctx, url, depth) },
		func(report *crawl.URLReport, err error) bool { return err == nil && report.Unanswered != nil })
}

// DescribeHost asks again while the holder does not answer in time, as its error says.
func (r *running) DescribeHost(ctx context.Context, name string) (*crawl.HostReport, error) {
	return again(func() (*crawl.HostReport, error) { return r.Node.DescribeHost(ctx, name) },
		func(_ *crawl.HostReport, err error) bool {
			return err != nil && strings.Contains(err.Error(), "did not answer")
		})
}

// leftLast is what is missing until the last change of the members, as a node sees it, is that
// another one has left. On a busy machine members may be excluded and come back meanwhile, which are
// changes too: then the events have the leave.
func leftLast(t *testing.T, n *running, name string) string {
	t.Helper()
	told, err := n.Events(t.Context(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	left, others := false, false
	for _, e := range told {
		switch e.Code {
		case crawl.EventLeft:
			left = left || e.Node == name
		case crawl.EventFailed:
			others = true
		case crawl.EventJoined:
			others = others || left
		}
	}
	last := statusOf(t, n.Node).Ring.LastChange
	if left && (others || last.Cause != nil && *last.Cause == crawl.CauseLeave && *last.Node == name &&
		last.TakeoverSeconds != nil) {
		return ""
	}
	return fmt.Sprintf("%s: %s has left: %v; last change %+v", n.name, name, left, last)
}

func finished(t *testing.T, reason string, nodes ...*running) {
	t.Helper()
	for _, n := range nodes {
		until(t, patience, func() string {
			if r, ok := n.Finished(); !ok || r != reason {
				s := statusOf(t, n.Node)
				return fmt.Sprintf("%s: finished %v (%q); idle unless %q; frontier %+v", n.name, ok, r,
					n.whyNotIdle(), s.Frontier)
			}
			return ""
		})
	}
}

// Three nodes crawl a web, one leaves in the middle: every page once, politely.
func TestThreeNodesCrawlAndOneLeaves(t *testing.T) {
	t.Parallel()
	const delay = 100 * time.Millisecond
	web, srv := newWeb(t,
		simweb.Config{Seed: 5, Hosts: 24, PagesPerHost: 40, Skew: -1, PageBytes: 2000, Delay: delay})
	nodes := threeNodes(t, srv, func(c *config.Config) { c.Delay = delay })
	founded := nodes[0].viewNumber()

	report, err := nodes[1].AddSeeds(t.Context(), seedsOf(web))
	if err != nil || report.Accepted+report.Duplicates != len(web.Seeds()) || len(report.Invalid) > 0 {
		t.Fatalf("seeds: %+v, %v", report, err)
	}
	until(t, patience, func() string {
		if web.Progress() < 120 {
			return fmt.Sprint(web.Progress(), " pages")
		}
		return ""
	})
	leaver := nodes[2]
	leaver.Drain()
	leaver.ended(t, patience)
	if web.Progress() >= 900 {
		t.Log("the crawl was over before the node had left")
	}
	converged(t, 2, nodes[:2]...)
	finished(t, crawl.FinishExhausted, nodes[:2]...)

	// One view says that a node leaves, and another one that it has left. Any other is of a node that
	// was silent for too long and came back: partitions move with it.
	moves := max(int(nodes[0].viewNumber()-founded)-1, 1)
	r := web.Report()
	if err := r.ErrOfMoves(moves); err != nil {
		t.Error(err)
	}
	// What a node shows of the other one is as old as its last renewal.
	for _, n := range nodes[:2] {
		until(t, patience, func() string {
			s := statusOf(t, n.Node)
			if s.Cluster.Members.Alive != 2 || s.Frontier.Queued != 0 || s.Frontier.Outbox != 0 ||
				s.Throughput.PagesTotal < int64(r.Reachable) ||
				s.Cluster.State != crawl.ClusterFinished || s.Cluster.Health.Level != crawl.HealthOK ||
				!s.Ring.Converged {
				return fmt.Sprintf("%s, %d reachable: %+v %+v %+v %+v", n.name, r.Reachable, s.Throughput,
					s.Cluster, s.Frontier, s.Ring)
			}
			if s.Crawl.State != crawl.CrawlFinished {
				t.Errorf("%s: %+v", n.name, s.Crawl)
			}
			return leftLast(t, n, "n3")
		})
	}
	until(t, patience, func() string {
		one, two := statusOf(t, nodes[0].Node), statusOf(t, nodes[1].Node)
		if one.Ring.Digest != two.Ring.Digest {
			return fmt.Sprintf("digests %s and %s", one.Ring.Digest, two.Ring.Digest)
		}
		return ""
	})
	until(t, patience, func() string { return notServed(t, nodes[0]) })
	seedAgain(t, web, nodes, moves)
}

// notServed is what is wrong with a partition, as a node shows them; "": nothing. What the other
// members hold is unknown while they do not answer in time.
func notServed(t *testing.T, n *running) string {
	t.Helper()
	ring, err := n.Ring(t.Context())
	if err != nil {
		return err.Error()
	}
	for _, p := range ring.Partitions {
		if p.Holder == nil || *p.Holder != p.Owner || p.State != "held" || p.Epoch == 0 || p.URLs == nil {
			return fmt.Sprintf("partition %+v", p)
		}
	}
	return ""
}

// seedAgain: seeds of a finished crawl that are known already end it once more.
func seedAgain(t *testing.T, web *simweb.Web, nodes []*running, moves int) {
	t.Helper()
	report, err := nodes[0].AddSeeds(t.Context(), seedsOf(web))
	if err != nil || report.Accepted != 0 || report.Duplicates != len(web.Seeds()) {
		t.Errorf("the same seeds again: %+v, %v", report, err)
	}
	finished(t, crawl.FinishExhausted, nodes[:2]...)
	r := web.Report()
	if err := r.ErrOfMoves(moves); err != nil {
		t.Error(err)
	}
}

// The page limit holds exactly over all nodes, also when the node that counts leaves.
func TestMaxPagesIsExact(t *testing.T) {
	t.Parallel()
	const limit = 300
	web, srv := newWeb(t, simweb.Config{Seed: 6, Hosts: 24, PagesPerHost: 40, PageBytes: 2000})
	nodes := threeNodes(t, srv,
		func(c *config.Config) { c.Delay, c.MaxPages = time.Millisecond, limit })
	seed(t, nodes[0], web)
	until(t, patience, func() string {
		if web.Progress() < 50 {
			return fmt.Sprint(web.Progress(), " pages")
		}
		return ""
	})
	granter := -1 // who holds partition 0; nobody while it moves
	until(t, patience, func() string {
		granter = slices.IndexFunc(nodes, func(n *running) bool { return n.holds(0) })
		if granter < 0 {
			return "nobody holds partition 0"
		}
		return ""
	})
	nodes[granter].Drain()
	defer nodes[granter].ended(t, patience)
	rest := slices.Delete(slices.Clone(nodes), granter, granter+1)
	finished(t, crawl.FinishMaxPages, rest...)
	until(t, patience, func() string { // what is shown of the other one is as old as its last renewal
		switch pages := statusOf(t, rest[0].Node).Throughput.PagesTotal; {
		case pages > limit:
			t.Fatalf("%d pages, the limit is %d", pages, limit)
		case pages < limit:
			return fmt.Sprintf("%d pages, the limit is %d", pages, limit)
		}
		return ""
	})
	if got := web.Progress(); got > limit {
		t.Errorf("the web answered %d pages, the limit is %d", got, limit)
	}
}

// A node that is stopped in the middle goes on where it was.
func TestStopAndResume(t *testing.T) {
	t.Parallel()
	const delay = 5 * time.Millisecond
	web, srv := newWeb(t,
		simweb.Config{Seed: 7, Hosts: 12, PagesPerHost: 30, PageBytes: 2000, Delay: delay})
	c := testConfig(t, "alone")
	// Where nobody else takes the ports of a node that has ended.
	c.HTTP, c.Gossip, c.RPC = "127.98.0.1:0", "127.98.0.1:0", "127.98.0.1:0"
	c.DNS, c.Delay = []string{srv.DNS.String()}, delay
	first := startNode(t, c)
	converged(t, 1, first)
	seed(t, first, web)
	until(t, patience, func() string {
		if web.Progress() < 60 {
			return fmt.Sprint(web.Progress(), " pages")
		}
		return ""
	})
	info := first.Info()
	first.Drain() // nobody is there to take over: data in place
	first.ended(t, patience)
	c.ExitWhenDone = true
	second := startNode(t, c)
	if got := second.Info(); got.ID != info.ID || got.HTTP != info.HTTP || got.RPC != info.RPC ||
		got.Gossip != info.Gossip {
		t.Errorf("the next life is %+v, the first was %+v", got, info)
	}
	second.ended(t, patience)
	if reason, ok := second.Finished(); !ok || reason != crawl.FinishExhausted {
		t.Errorf("finished %v, %q", ok, reason)
	}
	// On a busy machine the page that is open at the end may not end in its time.
	r := web.Report()
	if err := r.ErrOfMoves(1); err != nil {
		t.Error(err)
	}
}
