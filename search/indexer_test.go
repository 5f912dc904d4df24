package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/texts"
	"crawlnode/importance/opic"
	"crawlnode/pipeline"
	"crawlnode/web/urlnorm"
)

// fakeStore has partitions with documents, in the order of their changes.
type fakeStore struct {
	metas   map[crawl.Partition]*frontier.Meta
	changes map[crawl.Partition][]texts.Change // the key of the i-th is i+1
	worth   map[string]opic.Cash
}

func (s *fakeStore) Account(_ crawl.Partition, u urlnorm.URL) (a opic.Account, ok bool, err error) {
	a.Settled, ok = s.worth[u.String()]
	return a, ok, nil
}

func newStore() *fakeStore {
	return &fakeStore{
		metas:   map[crawl.Partition]*frontier.Meta{},
		changes: map[crawl.Partition][]texts.Change{},
	}
}

func (s *fakeStore) Walk(visit func(*frontier.Meta) bool) {
	for _, m := range s.metas {
		if !visit(m) {
			return
		}
	}
}

func (s *fakeStore) Meta(p crawl.Partition) (m frontier.Meta, ok bool) {
	if s.metas[p] == nil {
		return m, false
	}
	return *s.metas[p], true
}

func (s *fakeStore) TextChanges(
	p crawl.Partition,
	after texts.Position,
	visit func(texts.Change) bool,
) (texts.Position, bool, error) {
	if s.metas[p].Generation != after.Generation {
		return after, false, texts.ErrOtherCopy
	}
	for i := int(after.Seq()); i < len(s.changes[p]); i++ {
		after.Key[6], after.Key[7] = byte((i+1)>>8), byte(i+1)
		if c := s.changes[p][i]; c.URL != "" && !visit(c) {
			return after, false, nil
		}
	}
	return after, true, nil
}

// put stores the document of a URL, or with an empty title that it has none. The entry of before is
// gone, as in the frontier.
func (s *fakeStore) put(t *testing.T, p crawl.Partition, url, title string) {
	t.Helper()
	if s.metas[p] == nil {
		s.metas[p] = &frontier.Meta{Partition: p, State: frontier.Holder, Generation: 1}
	}
	m := s.metas[p]
	for i := range s.changes[p] {
		if c := &s.changes[p][i]; c.URL == url {
			if len(c.Document) > 0 {
				m.Counters.Texts--
			}
			*c = texts.Change{}
		}
	}
	c := texts.Change{URL: url}
	if title != "" {
		u, err := urlnorm.Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		c.Document = new(Maker).Document(&pipeline.Indexed{Visit: &crawl.Visit{
			Lease: crawl.Lease{Partition: p, Item: crawl.Item{URL: u}},
		}, Outcome: &crawl.Outcome{FetchedAt: day},
			Body: []byte("<title>" + title + "</title><p>" +
				strings.Repeat("some words of a page that is long enough to be kept ", 5) +
				title), ContentType: "text/html"})
		m.Counters.Texts++
	}
	s.changes[p] = append(s.changes[p], c)
	m.Seq = crawl.Seq(len(s.changes[p]))
	m.Counters.TextChanges++
}

var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// testCluster has three partitions, and three documents by what its nodes say.
type testCluster struct {
	holders func(crawl.Partition) []crawl.NodeID
	call    func(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error)
}

func (*testCluster) Partitions() int                            { return 3 }
func (*testCluster) Documents() int64                           { return 3 }
func (c *testCluster) Holders(p crawl.Partition) []crawl.NodeID { return c.holders(p) }

func (c *testCluster) Call(
	ctx context.Context, to crawl.NodeID, payload []byte,
) ([]byte, error) {
	return c.call(ctx, to, payload)
}

// testNode is an Indexer whose rounds the test makes.
type testNode struct {
	*Indexer
	store   *fakeStore
	cluster *testCluster
	rules   Rules
}

func newNode(t *testing.T, self crawl.NodeID, dir string, s *fakeStore) *testNode {
	t.Helper()
	alone := &testCluster{
		holders: func(crawl.Partition) []crawl.NodeID { return []crawl.NodeID{self} },
	}
	n := &testNode{store: s, cluster: alone, rules: Rules{On: true}}
	n.Indexer = New(Options{Self: self, Dir: dir, Store: s, Cluster: alone,
		Rules: func() Rules { return n.rules }, Now: func() time.Time { return day },
		Log: slog.New(slog.DiscardHandler)})
	return n
}

func (n *testNode) rounds(t *testing.T) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = n.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// found are the links of the results, sorted, and the coverage.
func (n *testNode) found(t *testing.T, query string) string {
	t.Helper()
	r, err := NewSearcher(n.Indexer).Search(t.Context(),
		crawl.SearchQuery{Query: query, Page: 1, Size: 10})
	if err != nil {
		t.Fatal(err)
	}
	var links []string
	for _, h := range r.Results {
		links = append(links, strings.TrimPrefix(h.Link, "http://"))
	}
	slices.Sort(links)
	return fmt.Sprintf("%s %.2f", strings.Join(links, " "), r.Coverage)
}

// TestIndexFollowsTheDocuments: the index has the newest document of each URL, after restarts, with
// other copies of a partition, and under other rules.
func TestIndexFollowsTheDocuments(t *testing.T) {
	t.Parallel()
	s, dir := newStore(), t.TempDir()
	n := newNode(t, "a", dir, s)
	expect := func(query, want string) {
		t.Helper()
		n.rounds(t)
		if got := n.found(t, query); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	restart := func() {
		n.close()
		n = newNode(t, "a", dir, s)
	}
	for p := range crawl.Partition(3) {
		s.put(t, p, fmt.Sprintf("http://h%d/", p), fmt.Sprintf("Apple number%d", p))
	}
	expect("apple", "h0/ h1/ h2/ 1.00")
	s.put(t, 1, "http://h1/", "Banana")
	expect("apple", "h0/ h2/ 1.00")
	expect("banana", "h1/ 1.00")
	s.put(t, 1, "http://h1/", "")
	s.put(t, 1, "http://h1/x", "Banana")
	restart()
	expect("banana", "h1/x 1.00")

	// as if the cursor had not been written before a kill: the same comes again
	kept := *n.cursors.Partitions[1]
	s.put(t, 1, "http://h1/y", "Cherry")
	n.rounds(t)
	n.cursors.Partitions[1] = &kept
	if err := n.cursors.write(dir); err != nil {
		t.Fatal(err)
	}
	restart()
	expect("cherry", "h1/y 1.00")
	if b := n.Block(); b.Documents != 4 || b.Waiting != 0 {
		t.Errorf("block %+v", b)
	}

	s.metas[1].Generation = 2 // another copy, with less
	s.changes[1], s.metas[1].Counters, s.metas[1].Seq = nil, crawl.Counters{}, 0
	s.put(t, 1, "http://h1/z", "Damson")
	expect("banana OR damson", "h1/z 1.00")
	s.metas[0].Seq = 0 // it has lost its end
	s.changes[0], s.metas[0].Counters = nil, crawl.Counters{}
	expect("apple", "h2/ 1.00")
	delete(s.metas, 2)
	n.rounds(t)
	if got := n.index.Partitions(); got[2] != 0 || got[1] != 1 {
		t.Errorf("documents by partition: %v", got)
	}

	s.put(t, 1, "http://h1/z", "Damson") // as when links to it have come
	s.changes[1][len(s.changes[1])-1].Anchors = []string{"sour plum", "prune"}
	expect("sour plum", "h1/z 0.33")
	expect("prune damson", "h1/z 0.33")
	n.rules = Rules{
		On:       true,
		Version:  7,
		Excludes: func(u string) bool { return strings.HasSuffix(u, "z") },
	}
	n.rounds(t)
	if got := n.index.Size().Documents; got != 0 {
		t.Errorf("%d documents under rules that exclude all", got)
	}
	n.rules = Rules{On: true}
	n.rounds(t)
	if got := n.index.Size().Documents; got != 1 {
		t.Errorf("%d documents after the rules have gone, want 1", got)
	}
	n.rules = Rules{}
	n.rounds(t)
	if _, err := NewSearcher(n.Indexer).Search(t.Context(), crawl.SearchQuery{
		Query: "x",
		Page:  1,
		Size:  1,
	}); !errors.Is(err, crawl.ErrRefused) {
		t.Errorf("a question without an index: %v", err)
	}
	n.close()
}

// TestOneNodeAnswersForEachPartition: what a node does not answer for is asked of another one that
// has it; what nobody answers for is missing in the coverage.
func TestOneNodeAnswersForEachPartition(t *testing.T) {
	t.Parallel()
	nodes, dead := threeNodes(t, func(context.Context) error { return errors.New("it is dead") })
	for _, c := range []struct {
		dead []crawl.NodeID
		want string
	}{
		{nil, "h0/ h1/ h2/ 1.00"},
		{[]crawl.NodeID{"b"}, "h0/ h1/ h2/ 1.00"},
		{[]crawl.NodeID{"c"}, "h0/ h1/ h2/ 1.00"},
		{[]crawl.NodeID{"b", "c"}, "h0/ h1/ 0.67"},
	} {
		clear(dead)
		for _, id := range c.dead {
			dead[id] = true
		}
		if got := nodes["a"].found(t, "apple"); got != c.want {
			t.Errorf("without %v: %q, want %q", c.dead, got, c.want)
		}
	}
}

// TestImportance: pages that links praise come first, also when that was computed after they had
// come into the index; what was read again stays whole, and without importance nothing is read
// again.
func TestImportance(t *testing.T) {
	t.Parallel()
	s := newStore()
	n := newNode(t, "a", t.TempDir(), s)
	s.put(t, 1, "http://h0/", "Apple")
	s.put(t, 0, "http://g/", "Pear")
	s.put(t, 2, "http://i/", "Pear")
	best := func() string {
		t.Helper()
		n.rounds(t)
		r, err := NewSearcher(n.Indexer).Search(t.Context(),
			crawl.SearchQuery{Query: "apple", Page: 1, Size: 20})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Results) == 0 || r.Coverage != 1 || n.Block().Waiting != 0 {
			t.Fatalf("%+v, block %+v", r, n.Block())
		}
		return r.Results[0].Link
	}
	best()
	for i := range leastRescored {
		s.put(t, 1, fmt.Sprintf("http://h%d/", i), "Apple")
	}
	s.worth = map[string]opic.Cash{"http://h5/": 500 * opic.Unit}
	plain := best()
	s.worth = map[string]opic.Cash{}
	for i := range leastRescored {
		if u := fmt.Sprintf("http://h%d/", i); u != plain {
			s.worth[u] = 500 * opic.Unit
			break
		}
	}
	n.rules.Ranked = true
	if b := n.Block(); b.Waiting != leastRescored {
		t.Errorf("before all are read again: block %+v", b)
	}
	if got := best(); s.worth[got] == 0 {
		t.Errorf("the best is %s, important are %v", got, s.worth)
	}
	if c := n.cursors.Partitions[1]; c.Again || c.Scored != leastRescored ||
		c.outgrown(leastRescored*rescoreAfter-1) || !c.outgrown(leastRescored*rescoreAfter) {
		t.Errorf("cursor %+v", c)
	}
	n.close()
}

// threeNodes are the nodes a, b and c, each of which has two of three partitions; dead nodes answer
// with what answer returns.
func threeNodes(
	t *testing.T,
	answer func(context.Context) error,
) (nodes map[crawl.NodeID]*testNode, dead map[crawl.NodeID]bool) {
	shared := newStore()
	for p := range crawl.Partition(3) {
		shared.put(t, p, fmt.Sprintf("http://h%d/", p), fmt.Sprintf("Apple number%d", p))
	}
	part := func(ps ...crawl.Partition) *fakeStore { // what a node has of it
		s := newStore()
		for _, p := range ps {
			s.metas[p], s.changes[p] = shared.metas[p], shared.changes[p]
		}
		return s
	}
	nodes = map[crawl.NodeID]*testNode{
		"a": newNode(t, "a", t.TempDir(), part(0, 1)),
		"b": newNode(t, "b", t.TempDir(), part(1, 2)),
		"c": newNode(t, "c", t.TempDir(), part(2, 0)),
	}
	dead = map[crawl.NodeID]bool{}
	for _, n := range nodes {
		n.cluster.holders = func(p crawl.Partition) []crawl.NodeID {
			return [][]crawl.NodeID{{"a", "c"}, {"b", "a"}, {"c", "b"}}[p]
		}
		n.cluster.call = func(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error) {
			if dead[to] {
				return nil, answer(ctx)
			}
			return nodes[to].Serve(ctx, payload)
		}
		n.rounds(t)
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			n.close()
		}
	})
	return nodes, dead
}

// TestFailing: what keeps the index from being written is told with the time of its first failure,
// until a round goes well.
func TestFailing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "index")
	if err := os.WriteFile(dir, []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, "a", dir, newStore())
	now := day
	n.o.Now = func() time.Time { return now }
	for range 2 {
		_, err := n.step(t.Context())
		n.ended(err)
		if since, fails := n.Failing(); err == nil || !errors.Is(fails, err) || !since.Equal(day) {
			t.Errorf("%v: %v since %v", err, fails, since)
		}
		now = now.Add(retryEvery)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	_, err := n.step(t.Context())
	n.ended(err)
	if _, fails := n.Failing(); err != nil || fails != nil {
		t.Errorf("%v: %v", err, fails)
	}
}
