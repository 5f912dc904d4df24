package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/output/archive"
	"crawlnode/ring"
	"crawlnode/scheduler/core"
	"crawlnode/settings/crawldoc/crawldoctest"
	"crawlnode/web/urlnorm"
)

const partitions = 8

// fakeNode is a node as this package sees it: one host in its store and memory, or none.
type fakeNode struct {
	*Inspector
	name    string
	host    crawl.Host // "" is none
	queued  int64
	changes []crawl.AuditEntry
	lines   string               // its archive's index
	members map[string]*fakeNode // all; one that is nil is silent
	tops    int                  // how often the dispatcher was asked for its first hosts
	urls    listed
	lacks   string
	moves   int // for so many questions its partitions are on the way
}

// newCluster makes nodes that can call each other; nodes with names in capitals are silent.
func newCluster(t testing.TB, names ...string) map[string]*fakeNode {
	members := map[string]*fakeNode{}
	for _, name := range names {
		if name == strings.ToUpper(name) {
			members[name] = nil
			continue
		}
		n := &fakeNode{name: name, members: members}
		n.Inspector = New(Options{Self: crawl.NodeID(name), Store: n, Dispatcher: n, Archive: fakeArchive{n}, Cluster: n, Peers: fakePeers{n}, Documents: crawldoctest.NewStore(t, crawl.NodeID(name)),
			Audit: func(limit int) ([]crawl.AuditEntry, error) { return n.changes[:min(limit, len(n.changes))], nil }, Partitions: n.held})
		members[name] = n
	}
	return members
}

func (n *fakeNode) Meta(p crawl.Partition) (frontier.Meta, bool) {
	if n.moves--; n.moves >= 0 {
		return frontier.Meta{}, false
	}
	if _, ok := n.urls[p]; ok {
		return frontier.Meta{State: frontier.Holder}, true
	}
	if n.host != "" && ring.PartitionOf(n.host, partitions) == p {
		return frontier.Meta{State: frontier.Holder}, true
	}
	return frontier.Meta{}, false
}

func (n *fakeNode) Refer(crawl.Partition, *crawl.Record) error { return nil }

func (n *fakeNode) Record(crawl.Partition, urlnorm.URL) (rec crawl.Record, ok bool, err error) {
	return rec, false, nil
}

func (n *fakeNode) Host(crawl.Partition, crawl.Host) (s crawl.HostState, queued [crawl.Bands]int64, ok bool, err error) {
	return s, [crawl.Bands]int64{n.queued}, true, nil
}

func (n *fakeNode) HostInfo(_ crawl.Partition, host crawl.Host) (frontier.HostInfo, bool, error) {
	return frontier.HostInfo{Queued: [crawl.Bands]int64{n.queued}}, host == n.host, nil
}

func (n *fakeNode) Remove(context.Context, crawl.Partition, urlnorm.URL) (crawl.RecordState, error) {
	return 0, nil
}

func (n *fakeNode) SuspiciousPerHost() int64 { return 100 }

func (n *fakeNode) Totals() crawl.Counters { return crawl.Counters{Hosts: 3} }

func (n *fakeNode) Inspect(context.Context, crawl.Host) (core.HostSnapshot, bool, error) {
	return core.HostSnapshot{Status: core.Ready}, true, nil
}

func (n *fakeNode) Lacks(crawl.Host) string { return n.lacks }

func (n *fakeNode) LastFailure(context.Context, crawl.Host) (*crawl.HostFailure, error) {
	return &crawl.HostFailure{Category: "connect", Reason: "refused"}, nil
}

func (n *fakeNode) Top(context.Context, string, int) (top []core.TopHost, inMemory int, err error) {
	n.tops++
	if n.host == "" {
		return nil, 0, nil
	}
	return []core.TopHost{{Host: n.host}}, 1, nil
}

func (n *fakeNode) Partitions() int { return partitions }

func (n *fakeNode) Table() (crawl.Epoch, *ring.Table) {
	var ids []crawl.NodeID
	for name := range n.members {
		ids = append(ids, crawl.NodeID(name))
	}
	slices.Sort(ids)
	t, err := ring.Build(ring.Equals(ids), partitions, 1)
	if err != nil {
		panic(err)
	}
	return 5, t
}

func (n *fakeNode) Owner(p crawl.Partition) crawl.NodeID { return n.Holder(p) }

func (n *fakeNode) Holder(p crawl.Partition) crawl.NodeID {
	for name, m := range n.members {
		if m == nil {
			continue
		}
		if _, ok := m.Meta(p); ok {
			return crawl.NodeID(name)
		}
	}
	return ""
}

func (n *fakeNode) Others() (refs []crawl.NodeRef) {
	for name := range n.members {
		if name != n.name {
			refs = append(refs, n.Ref(crawl.NodeID(name)))
		}
	}
	return refs
}

func (n *fakeNode) Ref(id crawl.NodeID) crawl.NodeRef {
	return crawl.NodeRef{ID: id, Name: "node " + string(id)}
}

func (n *fakeNode) HostsElsewhere() int64 { return 4 }

type fakeArchive struct{ node *fakeNode }

func (a fakeArchive) WriteRange(out io.Writer, _ crawl.IndexRange) error {
	_, err := io.WriteString(out, a.node.lines)
	return err
}

func (a fakeArchive) OpenMember(string, int64) (*archive.Member, error) {
	return nil, archive.ErrNoCapture
}

type fakePeers struct{ node *fakeNode }

var errSilent = errors.New("no answer")

func (p fakePeers) Explain(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error) {
	if m := p.node.members[string(to)]; m != nil {
		return m.Serve(ctx, payload)
	}
	return nil, errSilent
}

func (p fakePeers) Archive(_ context.Context, to crawl.NodeID, payload []byte) (io.ReadCloser, error) {
	m := p.node.members[string(to)]
	if m == nil {
		return nil, errSilent
	}
	in, out := io.Pipe()
	go func() { _ = out.CloseWithError(m.ServeArchive(payload, out)) }()
	return in, nil
}

func (p fakePeers) Partitions(ctx context.Context, to crawl.NodeID) (crawl.Epoch, []crawl.PartitionReport, error) {
	m := p.node.members[string(to)]
	if m == nil {
		return 0, nil, errSilent
	}
	parts, err := m.held(ctx)
	return 5, parts, err
}

// held is the partition of the node's host.
func (n *fakeNode) held(context.Context) ([]crawl.PartitionReport, error) {
	if n.host == "" {
		return nil, nil
	}
	id := crawl.NodeID(n.name)
	return []crawl.PartitionReport{{Partition: ring.PartitionOf(n.host, partitions), Epoch: 5, State: crawl.PartitionHeld, Holder: &id}}, nil
}

// TestRingOfAll checks that all nodes show the same partitions, and none of a silent member.
func TestRingOfAll(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t, "a", "b", "C")
	nodes["a"].host, nodes["b"].host = "x.test", "z.test"
	places := map[crawl.Partition]crawl.NodeID{ring.PartitionOf("x.test", partitions): "a", ring.PartitionOf("z.test", partitions): "b"}
	if len(places) != 2 {
		t.Fatal("both hosts are in one partition")
	}
	for _, name := range []string{"a", "b"} {
		r, err := nodes[name].Ring(t.Context())
		if err != nil || r.View != 5 || len(r.Partitions) != partitions {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		for p, x := range r.Partitions {
			holder, held := places[crawl.Partition(p)]
			if held != (x.Holder != nil) || held && *x.Holder != holder || !held && x.State != crawl.PartitionUnknown {
				t.Errorf("%s: partition %d: %+v", name, p, x)
			}
		}
	}
}

// TestHostOfAnyHolder checks that each node describes a host that one of them holds, and reports
// the problem when none does.
func TestHostOfAnyHolder(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t, "a", "b")
	nodes["b"].host, nodes["b"].queued = "x.test", 5
	for name, n := range nodes {
		r, err := n.Inspector.Host(t.Context(), "X.test")
		if err != nil || r.Holder.Name != "node b" || r.Queued != 5 || r.State != crawl.HostReady || r.SuspiciousBudget != 100 || r.Politeness.LastFailure == nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	nodes["b"].lacks = "secret:key"
	if r, err := nodes["a"].Inspector.Host(t.Context(), "x.test"); err != nil || r.Politeness.BackoffReason == nil ||
		!strings.Contains(*r.Politeness.BackoffReason, "secret:key") || !strings.Contains(r.Summary, "secret:key") {
		t.Errorf("a host whose node lacks a secret: %+v, %v", r, err)
	}
	other := crawl.Host("x.test") // not known, in the same partition
	for i := 0; other == "x.test" || ring.PartitionOf(other, partitions) != ring.PartitionOf("x.test", partitions); i++ {
		other = crawl.Host(fmt.Sprintf("y%d.test", i))
	}
	if _, err := nodes["a"].Inspector.Host(t.Context(), string(other)); !errors.Is(err, crawl.ErrUnknownHost) {
		t.Errorf("a host that nobody knows: %v", err)
	}
}

// TestMovingPartition checks that a question waits for the next holder of a partition, and not for
// ever.
func TestMovingPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := newCluster(t, "a", "b")
		asked := time.Now()
		if _, err := nodes["a"].Inspector.Host(t.Context(), "x.test"); err == nil || !strings.Contains(err.Error(), "no member reports to hold") {
			t.Errorf("nobody holds it: %v", err)
		}
		if waited := time.Since(asked); waited != patience {
			t.Errorf("it waited %v for a holder, want %v", waited, patience)
		}
		nodes["b"].host, nodes["b"].moves = "x.test", 5
		if r, err := nodes["a"].Inspector.Host(t.Context(), "x.test"); err != nil || r.Holder.Name != "node b" {
			t.Errorf("b holds it after a while: %+v, %v", r, err)
		}
	})
}

// TestServe checks a member's answers to invalid questions.
func TestServe(t *testing.T) {
	t.Parallel()
	n := newCluster(t, "a")["a"]
	for question, want := range map[string]codes.Code{
		`{`:                      codes.InvalidArgument,
		`{}`:                     codes.InvalidArgument,
		`{"url":"HTTP://A"}`:     codes.InvalidArgument,
		`{"host":"a/b"}`:         codes.InvalidArgument,
		`{"top":"beauty"}`:       codes.InvalidArgument,
		`{"list":{"after":"x"}}`: codes.InvalidArgument,
		`{"host":"away.test"}`:   codes.FailedPrecondition,
	} {
		if got, err := n.Serve(t.Context(), []byte(question)); status.Code(err) != want {
			t.Errorf("%s: %s, %v", question, got, err)
		}
	}
}

// TestHostsOfAll checks that hosts of all members are listed in order, and that silent members are
// named.
func TestHostsOfAll(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t, "a", "b", "C")
	nodes["a"].host, nodes["a"].queued = "x.test", 5
	nodes["b"].host, nodes["b"].queued = "y.test", 7
	for range 2 {
		r, err := nodes["a"].Inspector.Hosts(t.Context(), crawl.SortQueued, 10)
		if err != nil || len(r.Hosts) != 2 || r.Hosts[0].Host != "y.test" || r.Hosts[0].Holder.Name != "node b" || r.Hosts[1].Host != "x.test" ||
			r.InMemory != 2 || r.Total != 7 || fmt.Sprint(r.Unanswered) != "[node C]" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if nodes["b"].tops != 1 {
		t.Errorf("b has ranked its hosts %d times within a second", nodes["b"].tops)
	}
	if _, err := nodes["a"].Inspector.Hosts(t.Context(), "beauty", 10); !errors.Is(err, ErrBadQuestion) {
		t.Errorf("an order that there is not: %v", err)
	}
}

// TestAuditOfAll checks that changes of all members are listed, the newest first, and that silent
// members are named.
func TestAuditOfAll(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t, "a", "b", "C")
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	entry := func(i int) crawl.AuditEntry {
		return crawl.AuditEntry{At: began.Add(time.Duration(i) * time.Second), What: fmt.Sprint(i)}
	}
	nodes["a"].changes = []crawl.AuditEntry{entry(5), entry(2)}
	nodes["b"].changes = []crawl.AuditEntry{entry(4), entry(3), entry(1)}
	r, err := nodes["a"].Inspector.Audit(t.Context(), 3)
	got := ""
	for _, e := range r.Changes {
		got += e.What + " "
	}
	if err != nil || got != "5 4 3 " || fmt.Sprint(r.Unanswered) != "[node C]" {
		t.Errorf("%q, not asked %v, %v", got, r.Unanswered, err)
	}
	nodes["b"].changes = []crawl.AuditEntry{entry(4), {At: entry(3).At, What: strings.Repeat("x", maxAuditAnswer)}, entry(1)}
	if r, err = nodes["a"].Inspector.Audit(t.Context(), 9); err != nil || len(r.Changes) != 3 {
		t.Errorf("with an entry that is too long to be told: %d changes, %v", len(r.Changes), err)
	}
}

func canonical(t *testing.T, s string) urlnorm.URL {
	t.Helper()
	u, err := urlnorm.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestExport checks that the index is merged from all members, and fails when one is silent; and
// that a record which no member has is not found.
func TestExport(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t, "a", "b")
	nodes["a"].lines, nodes["b"].lines = "a 1\nc 3\n", "b 2\nc 3\n"
	var out strings.Builder
	if err := nodes["a"].Inspector.WriteIndex(t.Context(), &out); err != nil || out.String() != "a 1\nb 2\nc 3\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if _, err := nodes["a"].OpenCapture(t.Context(), "f", 0); !errors.Is(err, crawl.ErrNoCapture) || strings.Contains(err.Error(), "no answer") {
		t.Errorf("a record that no member has: %v", err)
	} else if text := err.Error(); !strings.Contains(text, `offset 0 of "f"`) || strings.Contains(text, "this node has no file") { // b may have the file
		t.Error(text)
	}
	for _, n := range nodes {
		n.lines = ""
	}
	const line = `test,a)/x 2026010203040%d {"url":"http://a.test/%s","mime":"%s","status":"200","digest":"%s","length":"9","offset":"%d","filename":"f"}` + "\n"
	nodes["a"].lines = fmt.Sprintf(line, 3, "x", "warc/revisit", "-", 7) + fmt.Sprintf(line, 5, "X", "text/html", "sha1:A", 8)
	nodes["b"].lines = fmt.Sprintf(line, 1, "x", "text/html", "sha1:A", 6)
	got, err := nodes["a"].capturesOf(t.Context(), canonical(t, "http://a.test/x"))
	if err != nil || len(got.Captures) != 2 || got.Captures[0].Node != "node b" || *got.Captures[0].Digest != "sha1:A" || *got.Captures[0].MIME != "text/html" ||
		!got.Captures[1].Revisit || got.Captures[1].MIME != nil || got.Captures[1].Digest != nil || got.Captures[1].Offset != 7 {
		t.Errorf("captures: %+v, %v", got, err)
	}
	if got, err := nodes["a"].capturesOf(t.Context(), canonical(t, "http://a.test/y")); err != nil || got.Captures == nil || len(got.Captures) > 0 {
		t.Errorf("captures of a URL without any: %+v, %v", got, err)
	}
	nodes["b"] = nil
	if err := nodes["a"].Inspector.WriteIndex(t.Context(), io.Discard); !errors.Is(err, errSilent) {
		t.Errorf("an index without b: %v", err)
	}
	if _, err := nodes["a"].OpenCapture(t.Context(), "f", 0); !errors.Is(err, crawl.ErrNoCapture) || !errors.Is(err, errSilent) {
		t.Errorf("a record that b may have: %v", err)
	}
}
