package rotation

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/membership"
	"crawlnode/security/clusterkey"
	"crawlnode/security/clusterkey/clusterkeytest"
)

// testCluster is Rotators of one view that ask each other in memory.
type testCluster struct {
	view  *membership.View
	nodes map[crawl.NodeID]*testNode

	mu     sync.Mutex // guards silent
	silent crawl.NodeID
}

// testNode is one Rotator, and what has followed its keys.
type testNode struct {
	*Rotator
	dir       *datadir.Dir
	gossip    string // the key that gossip uses
	rechecked bool
}

func newCluster(t *testing.T, key clusterkey.Key, ids ...crawl.NodeID) *testCluster {
	t.Helper()
	c := &testCluster{view: &membership.View{Number: 1}, nodes: map[crawl.NodeID]*testNode{}}
	for _, id := range ids {
		c.view.Members = append(c.view.Members,
			membership.Member{ID: id, Name: "n-" + string(id), Boot: 1})
		dir, err := datadir.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(dir.Close)
		c.nodes[id] = &testNode{dir: dir}
		c.start(t, id, key)
	}
	return c
}

// start opens the Rotator of a node with a key in its file.
func (c *testCluster) start(t *testing.T, id crawl.NodeID, file clusterkey.Key) {
	t.Helper()
	n := c.nodes[id]
	r, err := Open(Options{
		Dir:     n.dir,
		Cluster: seenBy{c, id},
		Logger:  slog.New(slog.DiscardHandler),
	}, &file)
	if err != nil {
		t.Fatal(err)
	}
	n.Rotator = r
}

// seenBy is the cluster as the Rotator of one node has it.
type seenBy struct {
	*testCluster
	id crawl.NodeID
}

func (s seenBy) Self() membership.Member      { m, _ := s.view.Member(s.id); return m }
func (s seenBy) View() *membership.View       { return s.view }
func (s seenBy) Joiners() []membership.Member { return nil }
func (s seenBy) Ready() error                 { return nil }
func (s seenBy) Renew() int                   { return 0 }
func (s seenBy) Recheck()                     { s.nodes[s.id].rechecked = true }

func (s seenBy) SetGossip(use []byte, _ ...[]byte) error {
	s.nodes[s.id].gossip = string(use)
	return nil
}

func (s seenBy) Ask(_ context.Context, to membership.Member, sent State) (Confirmation, error) {
	if s.isSilent(s.id) || s.isSilent(to.ID) {
		return Confirmation{}, errors.New("no answer")
	}
	return s.nodes[to.ID].Receive(sent)
}

func (c *testCluster) isSilent(id crawl.NodeID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent == id
}

// setSilent cuts one node off from the others, or none.
func (c *testCluster) setSilent(id crawl.NodeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = id
}

// run runs all Rotators until the function that it returns is called.
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

// TestRotatorWaitsForEveryMember: the new key is used by all once every member has confirmed it,
// and a node that starts with the old key file keeps the new key.
func TestRotatorWaitsForEveryMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		before, after := clusterkeytest.New(t), clusterkeytest.New(t)
		c := newCluster(t, before, "a", "b", "c")
		stop := c.run(t)
		defer func() { stop() }()
		ctx := crawl.WithCaller(t.Context(), crawl.Caller{ID: crawl.KeyCaller, Role: crawl.RoleAdmin})
		c.setSilent("c")
		if r, err := c.nodes["a"].Rotate(ctx, after.Text()); err != nil || r.Step != "known" {
			t.Fatalf("%+v, %v", r, err)
		}
		time.Sleep(10 * pace)
		synctest.Wait()
		if r, err := c.nodes["a"].Rotate(ctx, after.Text()); err != nil || r.Step != "known" ||
			len(r.Waiting) != 1 || r.Waiting[0] != "n-c" {
			t.Errorf("while c is silent: %+v, %v", r, err)
		}
		if n := c.nodes["b"]; n.Ring().Keys()[0].Text() != before.Text() || len(n.Ring().Keys()) != 2 {
			t.Error("b does not use the old key and accept both")
		}
		c.setSilent("")
		time.Sleep(10 * pace)
		synctest.Wait()
		for id, n := range c.nodes {
			if keys := n.Ring().Keys(); len(keys) != 1 || keys[0].Text() != after.Text() ||
				n.gossip != string(after.GossipKey()) || !n.rechecked {
				t.Errorf("%s has %d keys, rechecked %v", id, len(keys), n.rechecked)
			}
		}
		if r, err := c.nodes["b"].Rotate(ctx, after.Text()); err != nil || r.Step != crawl.RotationOver {
			t.Errorf("the same again: %+v, %v", r, err)
		}
		stop()
		c.start(t, "b", before)
		if keys := c.nodes["b"].Ring().Keys(); len(keys) != 1 || keys[0].Text() != after.Text() {
			t.Errorf("b started with the old key file and has %d keys", len(keys))
		}
	})
}

// TestRotatorWithoutKey refuses: a cluster gets a key only at a start.
func TestRotatorWithoutKey(t *testing.T) {
	t.Parallel()
	r, err := Open(Options{}, nil)
	if err != nil || r.Ring() != nil {
		t.Fatal(err)
	}
	if _, err := r.Rotate(t.Context(), clusterkeytest.New(t).Text()); !errors.Is(err,
		crawl.ErrRefused) {
		t.Errorf("%v", err)
	}
}
