package membership

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// These tests run real memberlist over loopback sockets; only the calls
// between the cores stay inside the process.

const patience = 10 * time.Minute

// exchange carries the calls: RPC address to node.
type exchange struct {
	mu    sync.Mutex
	nodes map[string]*Membership
	ip    string // see address
}

// exchanges counts those of this test binary.
var exchanges atomic.Int32

// address is any port of an address of loopback that nobody else uses: a port stays free for a node
// that ends and starts again.
func (x *exchange) address() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ip == "" {
		x.ip = fmt.Sprintf("127.96.%d.%d", os.Getpid()%250, 1+exchanges.Add(1)%250)
	}
	return x.ip + ":0"
}

func (x *exchange) Call(ctx context.Context, to Member, payload []byte) ([]byte, error) {
	m := x.at(to.RPC)
	if m == nil {
		return nil, errors.New("connection refused")
	}
	return m.Handle(ctx, payload)
}

func (x *exchange) at(rpc string) *Membership {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.nodes[rpc]
}

func (x *exchange) set(rpc string, m *Membership) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.nodes == nil {
		x.nodes = map[string]*Membership{}
	}
	if m == nil {
		delete(x.nodes, rpc)
	} else {
		x.nodes[rpc] = m
	}
}

// running is a node that runs.
type running struct {
	*Membership
	t      *testing.T
	stop   context.CancelFunc
	done   chan error
	served *exchange
}

func (x *exchange) options(name string) Options {
	return Options{
		Storage: new(Memory), Name: name, Cluster: "test", Partitions: 64, Bind: x.address(),
		RPC: "rpc-" + name + ":1", HTTP: "http-" + name + ":1", Caller: x, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

func (x *exchange) run(t *testing.T, o Options) *running {
	t.Helper()
	m, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{Membership: m, t: t, stop: cancel, done: make(chan error, 1), served: x}
	x.set(o.RPC, m)
	go func() { r.done <- m.Run(ctx) }()
	t.Cleanup(r.end)
	return r
}

// end stops the node and waits for it. It may be called twice.
func (r *running) end() {
	r.stop()
	r.served.set(r.self.RPC, nil)
	<-r.stopped
}

// await waits until the node's snapshot is as wanted.
func (r *running) await(what string, ok func(*Snapshot) bool) *Snapshot {
	r.t.Helper()
	changed := r.watchers.add()
	defer r.watchers.remove(changed)
	timeout := time.After(patience)
	for {
		s := r.Snapshot()
		if ok(s) {
			return s
		}
		select {
		case <-changed:
		case <-timeout:
			r.t.Fatalf("%s waits in vain for %s: status %s, %s, peers %+v", r.self.Name, what, s.Status, s.View, s.Peers)
		}
	}
}

func (r *running) awaitMembers(names ...string) *Snapshot {
	r.t.Helper()
	return r.await("members "+strings.Join(names, " "), func(s *Snapshot) bool {
		if s.View == nil {
			return false
		}
		var got []string
		for _, m := range s.View.Members {
			got = append(got, m.Name)
		}
		slices.Sort(got)
		return slices.Equal(got, names)
	})
}

func (r *running) state(name string) func(*Snapshot) string {
	return func(s *Snapshot) string {
		for _, p := range s.Peers {
			if p.Name == name {
				return p.State
			}
		}
		return ""
	}
}

func TestJoinLeaveRestart(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	n1 := x.run(t, x.options("n1"))
	if s := n1.Snapshot(); s.View == nil || s.View.Number != 1 || s.Table == nil {
		t.Fatal("a node without --join and data has founded nothing")
	}
	join := []string{n1.Self().Gossip}
	o2, o3 := x.options("n2"), x.options("n3")
	o2.Join, o3.Join = join, join
	n2, n3 := x.run(t, o2), x.run(t, o3)
	all := []*running{n1, n2, n3}
	var last *Snapshot
	for _, n := range all {
		s := n.awaitMembers("n1", "n2", "n3")
		n.await("itself active", func(s *Snapshot) bool { return s.Status == consensus.Active })
		if last != nil && (s.View.Digest() != last.View.Digest() || s.Table.Digest() != last.Table.Digest()) {
			t.Errorf("%s has %s, another node %s", n.self.Name, s.View, last.View)
		}
		last = s
	}
	if c := last.View.Cluster; c.Partitions != 64 || c.Replication != 2 || len(last.Table.Replicas(0)) != 1 {
		t.Errorf("cluster %+v", c)
	}

	// n3 restarts without a word at the same place; then it leaves for good.
	since, _ := last.View.Member(n3.self.ID)
	n3.end()
	o3.Bind = n3.Self().Gossip
	o3.Join = nil // it finds the others from its storage
	n3 = x.run(t, o3)
	if n3.Self().Boot != 2 {
		t.Errorf("boot %d after a restart", n3.Self().Boot)
	}
	s := n1.await("the new boot of n3", func(s *Snapshot) bool { return s.View.Lists(n3.self.ID, 2) })
	// One view lists the new boot. With more, n3 was silent for too long, and excluded.
	if m, _ := s.View.Member(n3.self.ID); m.Since != since.Since &&
		s.View.Number == last.View.Number+1 {
		t.Errorf("since moved from %d to %d by a restart", since.Since, m.Since)
	}
	n3.await("itself listed", func(s *Snapshot) bool { return s.Status == consensus.Active })
	n3.SetDraining()
	n1.await("n3 draining", func(s *Snapshot) bool { return len(s.View.Active()) == 2 })
	if got := len(n1.Table().OwnedBy(n3.self.ID)); got != 0 {
		t.Errorf("a draining member owns %d partitions", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := n3.SetLeft(ctx); err != nil {
		t.Fatalf("leaving: %v", err)
	}
	n3.end()
	n1.awaitMembers("n1", "n2")
	n1.await("n3 gone", func(s *Snapshot) bool { return n1.state("n3")(s) == crawl.NodeLeft })

	// It may come back, as a new member.
	n3 = x.run(t, o3)
	s = n1.awaitMembers("n1", "n2", "n3")
	if m, _ := s.View.Member(n3.self.ID); m.Since != s.View.Number || m.Boot != 3 {
		t.Errorf("back again as %+v in view %d", m, s.View.Number)
	}
}

func TestLastOneStays(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	n1 := x.run(t, x.options("n1"))
	if err := n1.SetLeft(t.Context()); !errors.Is(err, ErrLastActive) {
		t.Fatalf("leaving alone: %v", err)
	}
	n1.end()
	if err := <-n1.done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := n1.SetLeft(t.Context()); !errors.Is(err, ErrLastActive) {
		t.Errorf("leaving after the end: %v", err)
	}
	if _, err := n1.Handle(t.Context(), nil); !errors.Is(err, ErrStopped) {
		t.Errorf("a call after the end: %v", err)
	}
}

// TestStaysAfterFullStop stops two nodes and starts them again: the cluster is
// the same, and a node alone of two waits for the other.
func TestStaysAfterFullStop(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	o1, o2 := x.options("n1"), x.options("n2")
	n1 := x.run(t, o1)
	o1.Bind = n1.Self().Gossip
	o2.Join = []string{o1.Bind}
	n2 := x.run(t, o2)
	cluster := n2.awaitMembers("n1", "n2").View.Cluster.ID
	n1.awaitMembers("n1", "n2")
	o2.Bind = n2.Self().Gossip
	n1.end()
	n2.end()
	n2 = x.run(t, o2)
	if s := n2.Snapshot(); s.Status != consensus.Joining || s.View == nil {
		t.Errorf("restarted: status %s, %s", s.Status, s.View)
	}
	n1 = x.run(t, o1)
	for _, n := range []*running{n1, n2} {
		s := n.await("both new boots", func(s *Snapshot) bool {
			return s.View.Lists(n1.self.ID, 2) && s.View.Lists(n2.self.ID, 2)
		})
		if s.View.Cluster.ID != cluster {
			t.Error("the cluster's id has changed")
		}
	}
}

func TestMismatchIsNamed(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	refused := make(chan string, 10)
	o1 := x.options("n1")
	o1.Events.Refused = func(_ crawl.NodeID, name, reason string) { refused <- name + ": " + reason }
	n1 := x.run(t, o1)
	o2 := x.options("n2")
	o2.Join, o2.RequirePartitions = []string{n1.Self().Gossip}, 512
	n2 := x.run(t, o2)
	select {
	case err := <-n2.done:
		if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "64 partitions, ours 512") {
			t.Errorf("the joiner ends with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the joiner does not notice")
	}
	select {
	case got := <-refused:
		if !strings.Contains(got, "n2: ") || !strings.Contains(got, "512 partitions, ours 64") {
			t.Errorf("the member says %q", got)
		}
	case <-time.After(patience):
		t.Fatal("the member says nothing")
	}
	if s := n1.Snapshot(); len(s.View.Members) != 1 || len(s.Peers) != 1 {
		t.Errorf("the stranger got in: %s, %+v", s.View, s.Peers)
	}
}

func TestNameTaken(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	n1 := x.run(t, x.options("n1"))
	o2 := x.options("n1")
	o2.RPC, o2.Join = "rpc-other:1", []string{n1.Self().Gossip}
	n2 := x.run(t, o2)
	select {
	case err := <-n2.done:
		if !errors.Is(err, ErrNameTaken) || !strings.Contains(err.Error(), string(n1.self.ID)) {
			t.Errorf("the joiner ends with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the joiner does not notice")
	}
}

// freePorts takes ports from the system and gives them back at once.
func (x *exchange) freePorts(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	for range n {
		l, err := net.Listen("tcp", x.address())
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out = append(out, l.Addr().String())
	}
	return out
}

// TestOneLineServesAll starts three nodes with the same join list, the first
// of them last.
func TestOneLineServesAll(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	join := x.freePorts(t, 3)
	var nodes []*running
	for i, name := range []string{"n3", "n2", "n1"} {
		o := x.options(name)
		o.Join, o.Bind = join, join[2-i]
		nodes = append(nodes, x.run(t, o))
	}
	var id consensus.ClusterID
	for _, n := range nodes {
		s := n.awaitMembers("n1", "n2", "n3")
		if id == "" {
			id = s.View.Cluster.ID
		}
		if s.View.Cluster.ID != id {
			t.Error("two clusters were founded")
		}
	}
}

// TestFirstListedFoundsAlone: the others of the list are not there.
func TestFirstListedFoundsAlone(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	join := x.freePorts(t, 3)
	o2 := x.options("n2")
	o2.Join, o2.Bind, o2.FoundAfter = join, join[1], time.Millisecond
	n2 := x.run(t, o2) // second in the list: never founds
	o1 := x.options("n1")
	o1.Join, o1.Bind, o1.FoundAfter = join, join[0], 2*time.Second
	begin := time.Now()
	n1 := x.run(t, o1)
	n1.await("a view", func(s *Snapshot) bool { return s.View != nil })
	if took := time.Since(begin); took < o1.FoundAfter {
		t.Errorf("founded after %s, although a listed node was missing", took)
	}
	first := n2.awaitMembers("n1", "n2").View
	if m, _ := first.Member(n1.self.ID); m.Since != 1 {
		t.Errorf("n1 did not found it: %s", first)
	}
}

// TestClustersNeverMerge points a node of one cluster at another cluster.
func TestClustersNeverMerge(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	refused := make(chan string, 10)
	o1 := x.options("n1")
	o1.Events.Refused = func(_ crawl.NodeID, _, reason string) { refused <- reason }
	n1 := x.run(t, o1)
	o2 := x.options("n2")
	n2 := x.run(t, o2) // founds its own
	own := n2.View().Cluster.ID
	o2.Bind = n2.Self().Gossip
	n2.end()
	o2.Join = []string{n1.Self().Gossip}
	n2 = x.run(t, o2)
	select {
	case got := <-refused:
		if !strings.Contains(got, "another cluster of the same name") {
			t.Errorf("refused because %q", got)
		}
	case <-time.After(patience):
		t.Fatal("the other cluster is not refused")
	}
	n2.await("its own new boot", func(s *Snapshot) bool { return s.Status == consensus.Active })
	if s := n2.Snapshot(); s.View.Cluster.ID != own || len(s.View.Members) != 1 || len(n1.View().Members) != 1 {
		t.Error("two clusters have merged")
	}
}

// TestOtherSecretsStayOut: another key or another cluster name is no member.
func TestOtherSecretsStayOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(*Options)
	}{
		{"key", func(o *Options) { o.SecretKey = []byte("fedcba9876543210") }},
		{"no key", func(o *Options) { o.SecretKey = nil }},
		{"cluster", func(o *Options) { o.Cluster = "other" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := new(exchange)
			o1 := x.options("n1")
			o1.SecretKey = []byte("0123456789abcdef")
			n1 := x.run(t, o1)
			o2, o3 := x.options("n2"), x.options("n3")
			o2.SecretKey, o3.SecretKey = o1.SecretKey, o1.SecretKey
			o2.Join, o3.Join = []string{n1.Self().Gossip}, []string{n1.Self().Gossip}
			c.spoil(&o2)
			n2 := x.run(t, o2)
			x.run(t, o3) // what the stranger cannot, a node with the key can
			if s := n1.awaitMembers("n1", "n3"); len(s.Peers) != 2 {
				t.Errorf("the stranger is seen: %+v", s.Peers)
			}
			if s := n2.Snapshot(); s.View != nil || len(s.Peers) != 1 {
				t.Errorf("the stranger sees %s, %+v", s.View, s.Peers)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	used := x.run(t, x.options("n0"))
	stored := func(doc string) Storage {
		m := new(Memory)
		if err := m.Save([]byte(doc)); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct {
		name  string
		spoil func(*Options)
		want  error
		text  string
	}{
		{"damaged state", func(o *Options) { o.Storage = stored("{") }, ErrCorrupt, ""},
		{"newer state", func(o *Options) { o.Storage = stored(`{"format":7}`) }, ErrForeign, "format 7"},
		{"another cluster's data", func(o *Options) { o.Storage = used.o.Storage; o.Cluster = "other" }, ErrForeign, `cluster "test"`},
		{"another number of partitions", func(o *Options) { o.Storage = used.o.Storage; o.RequirePartitions = 512 }, ErrMismatch, "64 partitions"},
		{"taken port", func(o *Options) { o.Bind = used.Self().Gossip }, ErrAddressInUse, used.Self().Gossip},
		{"host name to bind", func(o *Options) { o.Bind = "example.org:0" }, nil, "must be an IP address"},
		{"all at once", func(o *Options) { o.Name, o.SecretKey, o.Join = "", []byte("short"), []string{"nowhere"} }, nil, "a node name and a cluster name are required\nthe gossip key has 5 bytes"},
		{"too many replicas", func(o *Options) { o.Replication = 9 }, nil, "replication 9"},
	} {
		o := x.options("n1")
		c.spoil(&o)
		m, err := Open(o)
		if err == nil {
			m.Close()
			t.Errorf("%s: opened", c.name)
		} else if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestFailedNode kills a node: the others say so, and the view keeps it.
func TestFailedNode(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	n1 := x.run(t, x.options("n1"))
	o2 := x.options("n2")
	o2.Join = []string{n1.Self().Gossip}
	n2 := x.run(t, o2)
	n1.awaitMembers("n1", "n2")
	n2.awaitMembers("n1", "n2")
	x.set(o2.RPC, nil) // its calls fail first
	n1.await("n2 suspect", func(s *Snapshot) bool { return n1.state("n2")(s) == crawl.NodeSuspect })
	if err := n2.transport.Shutdown(); err != nil { // and gossip dies without a goodbye
		t.Fatal(err)
	}
	s := n1.await("n2 failed", func(s *Snapshot) bool { return n1.state("n2")(s) == crawl.NodeFailed })
	if len(s.View.Members) != 2 {
		t.Errorf("gossip has changed the view: %s", s.View)
	}
	// Under another address and boot it is back.
	n2.end()
	o2.Bind = x.address()
	n2 = x.run(t, o2)
	s = n1.await("n2 back", func(s *Snapshot) bool { return s.View.Lists(n2.self.ID, 2) })
	if m, _ := s.View.Member(n2.self.ID); m.Gossip != n2.Self().Gossip {
		t.Errorf("the view has its old address: %+v", m)
	}
	if fmt.Sprint(n2.doc.ID) != string(n2.self.ID) {
		t.Error("the id has changed")
	}
}
