package integration

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"crawlnode/membership/consensus"
	"crawlnode/simweb"
)

// faultRuns is how often `make nightly` and `make soak` run each scenario. Without it TestFaults
// runs the quick ones once.
var faultRuns = flag.Int("faults", 0,
	"run every fault scenario this many times and append the figures to docs/results/faults.md")

// scenario is a fault that strikes a cluster while it crawls a thin web.
type scenario struct {
	name  string
	quick bool // runs in every check
	// instead are quick tests of the same fault, when it is not quick itself: quickTest says how they
	// are named.
	instead []string

	shape func(*simweb.Config) // changes the web; nil: the usual one
	flags []string             // of every node, beside the usual ones
	act   func(*trial)         // the fault; returns when all of it is done

	nodes  int  // at the start; 0: as many as size says
	lab    bool // each node has a network namespace of its own
	clocks bool // each node has clocks that act can move
	named  bool // with lab: the nodes know each other by names
	deaf   bool // proxies stand before the RPC ports
	// bytes of a file system of its own, of the last of nodes; 0: none has one
	ownDisk    int64
	weakDisk   bool    // that can store less than it says
	unfenced   bool    // the crawl begins when no node is held up by the fence of its own start
	unseeded   bool    // act hands the seeds over itself
	unfinished bool    // the crawl must not end: act judges alone
	duplicates float64 // most pages fetched twice, as a share, in long runs
	// the latest first request to a lost node's hosts, in long runs, the delay not counted; 0: not
	// judged
	takeover time.Duration
	pause    time.Duration // longest time without any request, in long runs; 0: not judged
}

// doors is how many nodes a trial can distinguish.
const doors = 9

// usualDelay is the promised gap of a trial.
const usualDelay = 200 * time.Millisecond

// trial is one run of a scenario.
type trial struct {
	*testing.T
	*scenario
	seed   uint64
	random *rand.Rand
	delay  time.Duration
	web    *simweb.Web
	srv    *simweb.Server
	c      *cluster
	trail  trail
	lab    *lab      // nil without namespaces
	names  *labNames // nil without names
	disk   string    // where the file system of ownDisk is mounted
	image  string    // the file that it is in

	excuses []disturbance
	blind   func(simweb.Request) bool // requests of a node that could not know better; nil: none
	lost    []loss                    // nodes whose hosts others had to take over
	// unstored is how many pages may be fetched twice beyond the scenario's share: what a node had
	// fetched when its disk stored no more. It does not depend on the size of the web.
	unstored int
	began    time.Time
	ended    time.Time
	f        figures

	troubled atomic.Bool  // the proxies make trouble
	deafened atomic.Int64 // connections that they made deaf
}

// loss is a node that stopped crawling at an instant.
type loss struct {
	node *node
	when time.Time
}

// figures are what a run is judged by, all from the web server's side.
type figures struct {
	reachable, missing, duplicates int
	late                           int // duplicates that no fault excuses
	gap, delay                     time.Duration
	takeover, slowest              time.Duration // first and last host of a lost node
	pause                          time.Duration
}

// run strikes once, or many times with -faults.
func (s *scenario) run(t *testing.T) {
	if *faultRuns > 0 {
		soakScenario(t, s, *faultRuns)
		return
	}
	t.Parallel() // what is promised of times is judged in long runs only
	runTrial(t, s, testSeed(t))
}

// runScenarios runs the scenarios of a list. Those that take long have to be asked for, by -faults
// or by a seed; TestEveryFaultHasAQuickTest holds what every check has instead.
func runScenarios(t *testing.T, list []scenario) {
	var long []string
	for i := range list {
		s := &list[i]
		if *faultRuns == 0 && !s.quick && os.Getenv("CRAWLNODE_TEST_SEED") == "" {
			long = append(long, s.name)
			continue
		}
		t.Run(s.name, s.run)
	}
	if len(long) > 0 {
		t.Logf("with make nightly, make soak or CRAWLNODE_TEST_SEED set: %s", strings.Join(long, ", "))
	}
}

// TestFaults strikes clusters with faults, each once. `make soak` runs each
// many times with -faults.
func TestFaults(t *testing.T) {
	needsProcesses(t)
	beside(t, *faultRuns)
	runScenarios(t, scenarios)
}

// runTrial starts a cluster, crawls, strikes, and judges.
func runTrial(t *testing.T, s *scenario, seed uint64) figures {
	test := "TestFaults"
	if s.lab {
		test = "TestNetns"
	}
	t.Logf("repeat with CRAWLNODE_TEST_SEED=%d go test ./integration -count=1 -v -run '^%s$/^%s$'",
		seed, test, s.name)
	f := newTrial(t, s, seed)
	defer func() { // before the processes end
		if t.Failed() {
			f.dump()
		}
	}()
	f.start(cmp.Or(s.nodes, size()))
	if s.unfenced {
		f.outwaitFences()
	}
	if !s.unseeded {
		f.seedAll(f.pick())
	}
	f.act(f)
	if !s.unfinished {
		f.c.finished(3 * time.Minute)
		f.ended = time.Now()
	}
	f.judge()
	f.c.kill()
	return f.f
}

// size is the number of nodes at the start: five, or three where the race
// detector makes each cost as much as several.
func size() int {
	if raceDetector {
		return 3
	}
	return 5
}

// newTrial makes the web and an empty cluster.
func newTrial(t *testing.T, s *scenario, seed uint64) *trial {
	f := &trial{T: t, scenario: s, seed: seed, random: rand.New(rand.NewPCG(seed, 1))}
	config := simweb.Config{
		Seed: seed, Hosts: 80, PagesPerHost: 25, Skew: -1, SeedHosts: 30, Thin: true, PageBytes: 2000,
		Doors: doors,
		Delay: usualDelay, Redirects: 30, Missing: 20, Private: 30, Gzip: 300, OnRequest: f.trail.note,
	}
	if raceDetector {
		config.Hosts = 50
	}
	if s.shape != nil {
		s.shape(&config)
	}
	f.delay = config.Delay
	at, allow := "127.0.0.1", "127.0.0.0/8"
	if s.lab {
		// Here the nodes are distinguished by the client's address.
		f.lab = newLab(t)
		if s.named {
			f.names = newLabNames(t, f.lab)
		}
		at, allow = f.lab.net+"1", "198.18.0.0/15"
		config.Doors = 1
		config.OnRequest = func(r simweb.Request) {
			r.Door = labDoor(r.Remote)
			f.trail.note(r)
		}
	}
	f.web, f.srv = serveSimwebAt(t, at+":0", config)
	// Some seed hosts lead to all others, so the scope is the whole domain.
	f.c = newCluster(t, append(
		[]string{"--allow-net", allow, "--delay", f.delay.String(), "--scope", "domain"}, s.flags...)...)
	// Handing the partitions out takes most of a trial's start: the fewest will do.
	f.c.flags = append(f.c.flags, "--partitions", "512")
	return f
}

// start brings up some nodes and waits until every partition has its copies.
func (f *trial) start(count int) {
	f.Helper()
	f.add().ready()
	for range count - 1 {
		f.add()
	}
	for _, n := range f.c.nodes {
		n.ready()
	}
	f.whole(3 * time.Minute) // nothing is promised yet
}

// add starts one more node, at a door of its own, which joins all that run.
func (f *trial) add(flags ...string) *node {
	f.Helper()
	var join []string
	for _, n := range f.c.living() {
		join = append(join, "--join", n.gossip)
	}
	door := len(f.c.nodes) % len(f.srv.Doors)
	n := f.c.place(slices.Concat([]string{"--dns", f.srv.Doors[door].String()}, join, flags)...)
	if f.lab != nil {
		f.enterNamespace(n)
	}
	if f.deaf {
		f.hide(n)
	}
	if f.clocks {
		f.moveClock(n, 0, 0)
	}
	if f.ownDisk > 0 && len(f.c.nodes) == f.nodes {
		f.own(n)
	}
	n.start()
	return n
}

// hide puts a proxy before a node's RPC port: the node is known to the others by
// an address at which only its gossip and the proxy listen.
func (f *trial) hide(n *node) {
	f.Helper()
	host := fmt.Sprint("127.77.0.", f.door(n)+1)
	_, port, _ := net.SplitHostPort(n.rpc)
	newDeafProxy(f, net.JoinHostPort(host, port), n.rpc, f.trouble)
	_, port, _ = net.SplitHostPort(n.gossip)
	n.gossip = net.JoinHostPort(host, port)
	n.flags = append(n.flags, "--advertise", host)
}

// door returns the way by which a node enters the web.
func (f *trial) door(n *node) int { return slices.Index(f.c.nodes, n) }

// pick draws a running node.
func (f *trial) pick() *node {
	living := f.c.living()
	return living[f.random.IntN(len(living))]
}

// seedAll hands all seeds to a node.
func (f *trial) seedAll(n *node) {
	f.Helper()
	n.seed(f.web.Seeds()...)
	f.began = time.Now()
}

// crawlTo waits until a share of all pages, drawn between two bounds, is fetched.
func (f *trial) crawlTo(from, to float64) {
	f.Helper()
	share := from + (to-from)*f.random.Float64()
	atPage(f.T, f.web, int(share*float64(f.web.Report().Reachable)))
}

// wait waits for a random time.
func (f *trial) wait(from, to time.Duration) {
	time.Sleep(from + time.Duration(f.random.Int64N(int64(to-from)+1)))
}

// whole waits until the running nodes serve everything and have all copies, in a view of exactly
// these nodes.
func (f *trial) whole(within time.Duration) {
	f.Helper()
	f.c.whole(within)
}

// whole waits as converged does, and until all copies are there. Only then may a node be lost for
// good: on a machine that is busy with other things a replica may have been too slow, and dropped.
func (c *cluster) whole(within time.Duration) {
	c.t.Helper()
	c.converged(within)
	until(c.t, within, func() string {
		for _, n := range c.living() {
			s, err := n.status()
			if err != nil {
				return fmt.Sprintf("%s: %v", n.name, err)
			}
			if s.Ring.UnderReplicated != 0 || s.Ring.Offline != 0 || s.Ring.Served != s.Ring.Partitions {
				return fmt.Sprintf("%s: %d of %d partitions served, %d with too few copies, %d offline",
					n.name, s.Ring.Served, s.Ring.Partitions, s.Ring.UnderReplicated, s.Ring.Offline)
			}
			if dead := c.namesDead(n, s); dead != "" {
				return dead
			}
		}
		return ""
	})
}

// namesDead reports where a node's table still names a node that is gone. Right after a kill
// everything else looks as before.
func (c *cluster) namesDead(n *node, s status) string {
	living := map[string]bool{}
	for _, known := range s.Nodes {
		for _, l := range c.living() {
			living[known.ID] = living[known.ID] || known.Name == l.name
		}
	}
	var r ring
	if err := n.decode("/api/v1/ring", &r); err != nil {
		return err.Error()
	}
	for _, p := range r.Partitions {
		for _, id := range append(p.Replicas, p.Owner, p.Holder) {
			if !living[id] {
				return fmt.Sprintf("%s: view %d gives partition %d to %q, which is gone", n.name, r.View,
					p.Partition, id)
			}
		}
	}
	return ""
}

// outwaitFences waits until the fence of each node's start is over. For that time after the first
// view that it installs, a process takes nothing over, even with a proof of death: it cannot know
// what happened before. A view that all nodes have had for that long is no node's first one.
func (f *trial) outwaitFences() {
	f.Helper()
	view, since := 0, time.Now()
	until(f.T, time.Minute, func() string {
		now := time.Now()
		for _, n := range f.c.living() {
			s, err := n.status()
			if err != nil {
				return fmt.Sprintf("%s: %v", n.name, err)
			}
			if s.Ring.View != view {
				view, since = s.Ring.View, now
			}
		}
		if passed := now.Sub(since); passed < consensus.Fence+time.Second {
			return fmt.Sprintf("view %d is %v old", view, passed)
		}
		return ""
	})
}

// kill ends nodes with SIGKILL, all at once.
func (f *trial) kill(nodes ...*node) {
	f.Helper()
	now := time.Now()
	for _, n := range nodes {
		n.signal(syscall.SIGKILL)
	}
	for _, n := range nodes {
		n.exit(f.T, 10*time.Second)
		f.excuses = append(f.excuses, at("kill of "+n.name, now))
		f.lost = append(f.lost, loss{n, now})
	}
	f.Logf("%s: killed %s at %d pages", now.Format("15:04:05.000"), names(nodes), f.web.Progress())
}

// destroy kills nodes and deletes their data.
func (f *trial) destroy(nodes ...*node) {
	f.Helper()
	f.kill(nodes...)
	for _, n := range nodes {
		if err := os.RemoveAll(n.dir); err != nil {
			f.Fatal(err)
		}
	}
}

// restart runs nodes again by their commands and waits until they serve.
func (f *trial) restart(nodes ...*node) {
	f.Helper()
	for _, n := range nodes {
		n.start()
	}
	for _, n := range nodes {
		n.ready()
	}
	f.Logf("%s: %s started again", time.Now().Format("15:04:05.000"), names(nodes))
}

func names(nodes []*node) string {
	var list []string
	for _, n := range nodes {
		list = append(list, n.name)
	}
	return strings.Join(list, ", ")
}

// kill ends all nodes of a cluster with SIGKILL.
func (c *cluster) kill() {
	for _, n := range c.living() {
		n.signal(syscall.SIGKILL)
	}
	for _, n := range c.nodes {
		<-n.done
	}
}

// post sends seeds to a node as one call and returns how many it acknowledged.
func (n *node) post(ctx context.Context, urls []string) (accepted int, err error) {
	r, err := n.report(ctx, urls)
	return r.Accepted, err
}

// seedReport is a node's answer to seeds.
type seedReport struct{ Accepted, Duplicates int }

// report hands a node seeds.
func (n *node) report(ctx context.Context, urls []string) (r seedReport, err error) {
	body := strings.NewReader(strings.Join(urls, "\n") + "\n")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.http+"/api/v1/seeds",
		body)
	if err != nil {
		return r, err
	}
	req.Header.Set("Content-Type", "text/plain")
	err = decodeReply(client, req, &r)
	return r, err
}
