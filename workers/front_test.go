package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/ring"
	"crawlnode/web/urlnorm"
)

const partitions = 1 << 20

// nodes is a cluster of desks that call each other. Host names begin with the name of the node that
// holds them.
type nodes struct {
	unready error
	desks   map[crawl.NodeID]*Desk
	hosts   map[crawl.Partition]crawl.NodeID
	down    map[crawl.NodeID]bool
}

// at is the front of one node.
func (c *nodes) at(self crawl.NodeID) *Front {
	f := NewFront(FrontOptions{Self: self, Cluster: seenBy{c, self}})
	f.first = longestRound // a slow machine must not make a batch a part of it
	return f
}

// seenBy is the cluster as the front of one node has it.
type seenBy struct {
	*nodes
	self crawl.NodeID
}

func (s seenBy) Ready() error                              { return s.unready }
func (s seenBy) Desk() *Desk                               { return s.desks[s.self] }
func (s seenBy) Partitions() int                           { return partitions }
func (s seenBy) Holder(p crawl.Partition) crawl.NodeID     { return s.hosts[p] }
func (s seenBy) Normalize(u urlnorm.URL) urlnorm.URL       { return u }
func (s seenBy) OpenPorts(context.Context, []uint16) error { return nil }

func (s seenBy) Others() (ids []crawl.NodeID) {
	for id := range s.desks {
		if id != s.self {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s seenBy) State() (state, userAgent, robotsAgent string) {
	return crawl.CrawlRunning, "agent", "token"
}

func (s seenBy) Add(context.Context, []crawl.FoundURL) (crawl.FoundReport, error) {
	return crawl.FoundReport{Accepted: 1}, nil
}

func (c *nodes) Call(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error) {
	if len(payload) > 8<<20 {
		return nil, fmt.Errorf("%d bytes: larger than messages between nodes may be", len(payload))
	}
	if c.down[to] {
		return nil, errors.New("it is down")
	}
	return c.desks[to].Serve(ctx, payload)
}

// cluster is a front at node a, over three nodes with one URL each.
func cluster(t *testing.T) (f *Front, c *nodes, worlds map[crawl.NodeID]*world) {
	t.Helper()
	c = &nodes{
		desks: map[crawl.NodeID]*Desk{},
		hosts: map[crawl.Partition]crawl.NodeID{},
		down:  map[crawl.NodeID]bool{},
	}
	worlds = map[crawl.NodeID]*world{}
	for _, id := range []crawl.NodeID{"a", "b", "c"} {
		w := newWorld(t, time.Minute)
		worlds[id], c.desks[id] = w, w.desk
		host := crawl.Host(string(id) + ".test")
		c.hosts[ring.PartitionOf(host, partitions)] = id
		w.add("http://" + string(host) + "/")
	}
	return c.at("a"), c, worlds
}

// TestBatchOfAllNodes: a worker gets the URLs of all nodes under one lease, the asked node's first,
// and any node takes their results.
func TestBatchOfAllNodes(t *testing.T) {
	t.Parallel()
	f, c, worlds := cluster(t)
	l, err := f.NextURLs(t.Context(), crawl.NextQuery{Worker: "w", Most: 10, Wait: 20 * time.Second})
	if err != nil || len(l.URLs) != 3 || l.URLs[0].Host != "a.test" ||
		leaseOver(l.LeaseID, time.Now()) || l.LeaseSeconds > 60 || l.LeaseSeconds < 50 ||
		l.CrawlState != crawl.CrawlRunning || l.UserAgent != "agent" ||
		l.RobotsAgent != "token" {
		t.Fatalf("%+v, %v", l, err)
	}
	elsewhere := c.at("b")
	var results []crawl.WorkerResult
	for _, u := range l.URLs {
		r := result(strings.ToUpper(u.URL[:4])+u.URL[4:], 200) // in any spelling
		r.Links = []string{strings.Repeat("x", pieceBytes)}    // and however large
		results = append(results, r, result(u.URL, 200))
	}
	sent := crawl.WorkerResults{LeaseID: l.LeaseID, Results: append(results, result("no URL", 200))}
	for range 2 {
		if r, err := elsewhere.SettleURLs(t.Context(), sent); err != nil || r.Processed != 6 ||
			r.Ended != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	worlds["c"].became("settled 200", "http://c.test/")
	sent.LeaseID = "another"
	if r, err := f.SettleURLs(t.Context(), sent); !errors.Is(err, crawl.ErrLeaseEnded) ||
		r.Processed != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestNodeIsDown: the other nodes' URLs are given out, and results for the one that is down are to
// be sent again.
func TestNodeIsDown(t *testing.T) {
	t.Parallel()
	f, c, worlds := cluster(t)
	c.down["c"] = true
	l, err := f.NextURLs(t.Context(), crawl.NextQuery{Worker: "w", Most: 10, Wait: 20 * time.Second})
	if err != nil || len(l.URLs) != 2 {
		t.Fatalf("%+v, %v", l, err)
	}
	c.down["b"] = true
	sent := crawl.WorkerResults{
		LeaseID: l.LeaseID,
		Results: []crawl.WorkerResult{result("http://a.test/", 200), result("http://b.test/", 200)},
	}
	if r, err := f.SettleURLs(t.Context(), sent); err == nil || errors.Is(err, crawl.ErrLeaseEnded) ||
		r.Processed != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	c.down["b"] = false
	if r, err := f.SettleURLs(t.Context(), sent); err != nil || r.Processed != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	worlds["b"].became("settled 200", "http://b.test/")
}

// TestResultsFollowThePartition: results count at the node that has the URL by now, and are to be
// sent again while nobody has it; when the lease is over they are refused.
func TestResultsFollowThePartition(t *testing.T) {
	t.Parallel()
	f, c, worlds := cluster(t)
	l, err := f.NextURLs(t.Context(), crawl.NextQuery{Worker: "w", Most: 10, Wait: 20 * time.Second})
	if err != nil || len(l.URLs) != 3 {
		t.Fatalf("%+v, %v", l, err)
	}
	sent := crawl.WorkerResults{
		LeaseID: l.LeaseID,
		Results: []crawl.WorkerResult{result("http://a.test/", 200), result("http://b.test/", 200)},
	}
	of := ring.PartitionOf("b.test", partitions)
	c.down["b"], c.hosts[of] = true, ""
	if r, err := f.SettleURLs(t.Context(), sent); err == nil || errors.Is(err, crawl.ErrLeaseEnded) ||
		r.Processed != 1 {
		t.Errorf("nobody has it: %+v, %v", r, err)
	}
	c.hosts[of] = "c"
	w := worlds["c"]
	w.mu.Lock()
	w.moving = crawl.ErrMoving
	w.mu.Unlock()
	if r, err := f.SettleURLs(t.Context(), sent); err == nil || errors.Is(err, crawl.ErrLeaseEnded) ||
		r.Processed != 1 {
		t.Errorf("c does not have it yet: %+v, %v", r, err)
	}
	w.mu.Lock()
	w.moving, w.adoptable["http://b.test/"] = nil, crawl.TagOf(l.LeaseID, "http://b.test/")
	w.mu.Unlock()
	for range 2 {
		if r, err := f.SettleURLs(t.Context(), sent); err != nil || r.Processed != 2 || r.Ended != 0 {
			t.Errorf("c has it: %+v, %v", r, err)
		}
	}
	w.became("settled 200", "http://b.test/")
	c.hosts[of] = ""
	sent.LeaseID = newLeaseID(time.Now().Add(-2 * overAfter))
	if _, err := f.SettleURLs(t.Context(), sent); !errors.Is(err, crawl.ErrLeaseEnded) {
		t.Errorf("an old lease: %v", err)
	}
}

// TestFrontWaits: a call without URLs ends with its wait, and one whose worker has too many at
// once.
func TestFrontWaits(t *testing.T) {
	t.Parallel()
	f, _, worlds := cluster(t)
	for range 3 { // those that there are
		if l, err := f.NextURLs(t.Context(), crawl.NextQuery{
			Worker: "w",
			Most:   1,
			Wait:   20 * time.Second,
		}); err != nil || len(l.URLs) != 1 {
			t.Fatalf("%+v, %v", l, err) // never more than were asked for
		}
	}
	if l, err := f.NextURLs(t.Context(), crawl.NextQuery{
		Worker: "w",
		Most:   10,
		Wait:   50 * time.Millisecond,
	}); err != nil || len(l.URLs) != 0 || l.LeaseID != "" || l.LeaseExpiresAt != nil {
		t.Errorf("%+v, %v", l, err)
	}
	worlds["a"].desk.close()
	if _, err := f.NextURLs(t.Context(), crawl.NextQuery{Worker: "w", Most: 10}); !errors.Is(err,
		errClosed) {
		t.Errorf("got %v", err)
	}
	worlds["b"].add("http://b2.test/")
	if l, err := f.NextURLs(t.Context(), crawl.NextQuery{
		Worker: "w",
		Most:   10,
		Wait:   20 * time.Second,
	}); err != nil || len(l.URLs) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
}

// FuzzServe: whatever another node sends is answered, or refused.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"next":{"lease":"l","worker":"w","most":-1,"wait":1}}`))
	f.Add([]byte(`{"results":{"lease_id":"l","results":[{"url":"x"}]}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		d := NewDesk(Options{Node: new(fakeNode), Lease: time.Minute})
		raw, err := d.Serve(t.Context(), payload)
		if err != nil {
			return
		}
		var a answer
		if err := json.Unmarshal(raw, &a); err != nil || a.err() == nil && a.Report == nil {
			t.Errorf("%s: %s", payload, raw) // no URL can be given out by a desk that is not used
		}
	})
}

// TestBlockHost: a block reaches the node that has the host, and its errors come back.
func TestBlockHost(t *testing.T) {
	t.Parallel()
	f, c, worlds := cluster(t)
	start := time.Now()
	for host, wait := range map[crawl.Host]time.Duration{"a.test": time.Hour, "b.test": 1<<63 - 1} {
		if err := f.BlockHost(t.Context(), host, wait); err != nil {
			t.Error(err)
		}
	}
	if at := worlds["a"].blocked["a.test"].Sub(start); at < time.Hour || at > 2*time.Hour {
		t.Errorf("a.test is blocked for %v", at)
	}
	if at := worlds["b"].blocked["b.test"].Sub(start); at < maxBlock {
		t.Errorf("b.test is blocked for %v", at)
	}
	if err := f.BlockHost(t.Context(), "b.test", 0); err != nil ||
		!worlds["b"].blocked["b.test"].IsZero() {
		t.Errorf("b.test is blocked until %v, %v", worlds["b"].blocked["b.test"], err)
	}
	for _, to := range []crawl.NodeID{"a", "b"} {
		c.hosts[ring.PartitionOf("unknown.test", partitions)] = to
		if err := f.BlockHost(t.Context(), "unknown.test", time.Hour); !errors.Is(err,
			crawl.ErrUnknownHost) {
			t.Errorf("at %s: %v", to, err)
		}
	}
	if err := f.BlockHost(t.Context(), "nowhere.test", time.Hour); !errors.Is(err, crawl.ErrMoving) {
		t.Errorf("nobody has it: %v", err)
	}
	worlds["a"].behind.Store(true)
	if err := f.BlockHost(t.Context(), "a.test", time.Hour); !errors.Is(err, errBlockNotCopied) {
		t.Errorf("a replica is late: %v", err)
	}
	worlds["a"].desk.close()
	if err := f.BlockHost(t.Context(), "a.test", time.Hour); !errors.Is(err, errClosed) {
		t.Errorf("a node that stops: %v", err)
	}
}

// TestNotReady: a node that takes no part serves no worker.
func TestNotReady(t *testing.T) {
	t.Parallel()
	c := &nodes{unready: errors.New("it has not joined")}
	f := c.at("a")
	_, next := f.NextURLs(t.Context(), crawl.NextQuery{})
	_, results := f.SettleURLs(t.Context(), crawl.WorkerResults{})
	_, found := f.AddFound(t.Context(), crawl.FoundURLs{})
	for _, err := range []error{next, results, found} {
		if !errors.Is(err, c.unready) {
			t.Errorf("got %v", err)
		}
	}
}
