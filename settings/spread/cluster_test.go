package spread

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/settings/crawldoc"
	"crawlnode/settings/crawldoc/crawldoctest"
)

// testNode is a Spreader of a testCluster.
type testNode struct {
	*Spreader
	doc       *crawldoc.Store
	changed   atomic.Int32 // calls of Cluster.Changed
	unfounded bool
	late      error // of Cluster.Ready
}

// testCluster is Spreaders that call each other in memory.
type testCluster struct {
	view  *membership.View
	nodes map[crawl.NodeID]*testNode

	mu     sync.Mutex // guards the rest
	silent map[crawl.NodeID]bool
}

const silence = 2 * time.Second

// newCluster is a cluster of members a, b, c... that joined one after the other.
func newCluster(t *testing.T, members int) *testCluster {
	t.Helper()
	c := &testCluster{
		view:   viewOf(members),
		nodes:  map[crawl.NodeID]*testNode{},
		silent: map[crawl.NodeID]bool{},
	}
	for _, m := range c.view.Members {
		n := &testNode{doc: crawldoctest.NewStore(t, m.ID)}
		n.Spreader = New(Options{
			Self:     m.ID,
			Document: n.doc,
			Cluster:  seenBy{c, n, m.ID},
			Silence:  silence,
			Version:  "test",
			Logger:   slog.New(slog.DiscardHandler),
		})
		c.nodes[m.ID] = n
	}
	return c
}

// seenBy is the cluster as the Spreader of one node has it.
type seenBy struct {
	*testCluster
	node *testNode
	self crawl.NodeID
}

func (s seenBy) View() *membership.View { return s.view }
func (s seenBy) Ready() error           { return s.node.late }
func (s seenBy) Founded() bool          { return !s.node.unfounded }
func (s seenBy) Changed()               { s.node.changed.Add(1) }

func (s seenBy) SilentFor(id crawl.NodeID, _ time.Time) time.Duration {
	if s.isSilent(id) {
		return silence
	}
	return 0
}

func (s seenBy) Call(
	_ context.Context,
	to membership.Member,
	req *peer.CrawlRequest,
) (*peer.CrawlReply, error) {
	if s.isSilent(s.self) || s.isSilent(to.ID) {
		return nil, errors.New("no answer")
	}
	return s.nodes[to.ID].Serve(req)
}

func (c *testCluster) isSilent(id crawl.NodeID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent[id]
}

// setSilent cuts a node off from the others, or brings it back.
func (c *testCluster) setSilent(id crawl.NodeID, silent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent[id] = silent
}

// run runs all Spreaders until the function that it returns is called.
func (c *testCluster) run(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, n := range c.nodes {
		wg.Go(func() {
			if err := n.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}
