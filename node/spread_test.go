package node

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/membership/heartbeat"
	"crawlnode/ring"
)

// gate is a node's way to the others. While it is shut, nothing that the node sends
// arrives; what they send to it does.
type gate struct {
	mu    sync.Mutex // guards the rest
	shut  bool
	conns map[net.Conn]bool
}

// gated is a connection through the gate.
type gated struct {
	net.Conn
	g *gate
}

func (c gated) Write(b []byte) (int, error) {
	c.g.mu.Lock()
	shut := c.g.shut
	c.g.mu.Unlock()
	if shut {
		return len(b), nil // into the cut cable
	}
	return c.Conn.Write(b)
}

func (g *gate) dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns[c] = true
	return gated{c, g}, nil
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

// open lets new connections through; what was sent into the old ones is lost.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
	for c := range g.conns {
		_ = c.Close()
	}
	clear(g.conns)
}

// behindGate runs a node whose calls go through a gate.
func behindGate(t *testing.T, c config.Config) (*running, *gate) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.Gossip = l.Addr().String()
	_ = l.Close()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	g := &gate{conns: map[net.Conn]bool{}}
	network := &Network{
		Dial:   g.dial,
		Listen: func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) },
	}
	n, err := Open(Options{
		Config:  c,
		Logger:  slog.New(slog.DiscardHandler),
		Version: "test",
		Network: network,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Node: n, done: make(chan struct{})}
	go func() {
		r.err = n.Run(context.Background())
		_ = n.HTTPListener().Close()
		close(r.done)
	}()
	t.Cleanup(func() {
		g.open()
		n.Stop()
		r.ended(t, patience)
	})
	return r, g
}

// pagesOf is a web of addresses on one port: each page links to the same two addresses.
type pagesOf struct {
	mu    sync.Mutex
	asked map[string]int // pages by host
	links string
}

func (p *pagesOf) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" || strings.HasPrefix(r.URL.Path, "/sitemap") {
		http.NotFound(rw, r)
		return
	}
	host, _, _ := net.SplitHostPort(r.Host)
	p.mu.Lock()
	p.asked[host]++
	links := p.links
	p.mu.Unlock()
	rw.Header().Set("Content-Type", "text/html")
	_, _ = fmt.Fprint(rw, links)
}

func (p *pagesOf) pages(host string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[host]
}

// A node that has heard of entries which it cannot get judges no link that they may
// admit: its page is done, the link waits, and is fetched when the entry has come. What no
// entry admits is refused then, too, and counted once.
func TestLinksWaitForEntriesOfASilentMember(t *testing.T) {
	t.Parallel()
	web := &pagesOf{asked: map[string]int{}}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(web)
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close)
	port := l.Addr().(*net.TCPAddr).Port
	config := func(name string) config.Config {
		c := testConfig(t, name)
		c.Delay = 10 * time.Millisecond
		c.AllowPorts = anyPort // the seed is stored without AddSeeds, so its port is none of the seeds'
		return c
	}
	behind, g := behindGate(t, config("n1"))
	until(t, patience, func() string { _, why := behind.Ready(); return why })
	c := config("n2")
	c.Join = []string{behind.Info().Gossip}
	other, back := behindGate(t, c)
	converged(t, 2, behind, other)

	hosts := heldHosts(behind.Node, 1)
	seed, late, never := hosts[0], "127.9.9.8", "127.9.9.9"
	web.links = fmt.Sprintf(`<a href="http://%s:%d/x">late</a> <a href="http://%s:%d/y">never</a>`,
		late, port, never, port)
	g.close()
	back.close()
	if err := other.doc.AddScope([]string{"host:" + late}); err != nil {
		t.Fatal(err)
	}
	behind.spread.Compare(other.id, other.spread.Stamp()) // its last renewal
	u := fmt.Sprintf("http://%s:%d/", seed, port)
	add := behind.router.Route([]crawl.Target{{URL: mustParse(t, u), Via: crawl.ViaSeed}})
	if err := behind.spread.Add("host:" + seed); err != nil {
		t.Fatal(err)
	}
	if _, err := behind.spread.Start(); err != nil {
		t.Fatal(err)
	}
	if s, err := behind.router.Submit(t.Context(), add); err != nil || s.Added != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	until(t, patience, func() string {
		if totals := behind.front.Totals(); totals.Outbox != 2 {
			return fmt.Sprintf("%d links wait, want 2; refused %v", totals.Outbox, totals.Skipped)
		}
		return ""
	})
	if behind.doc.Seeds.Has("host:" + late) {
		t.Fatal("the cut let an entry through: nothing is tested")
	}
	if n := behind.front.Totals().Skipped[crawl.SkipOutOfScope]; n != 0 || web.pages(seed) != 1 {
		t.Errorf("%d links were refused, %d pages fetched", n, web.pages(seed))
	}
	until(t, patience, func() string {
		for _, r := range behind.report.HealthReasons() {
			if r.Code == crawl.ReasonScopeBehind && strings.Contains(r.Message, "n2") {
				return ""
			}
		}
		return "the status does not say why links wait"
	})

	g.open() // the member is back
	back.open()
	finished(t, crawl.FinishExhausted, behind, other)
	if web.pages(late) != 1 || web.pages(never) != 0 {
		t.Errorf("%d pages of the host whose entry came late, %d of one without", web.pages(late),
			web.pages(never))
	}
	total := behind.front.Totals()
	rest := other.front.Totals()
	// on both pages
	if n := total.Skipped[crawl.SkipOutOfScope] + rest.Skipped[crawl.SkipOutOfScope]; n != 2 {
		t.Errorf("%d links were refused, want 2", n)
	}
}

// heldHosts are addresses whose partitions a node holds.
func heldHosts(n *Node, count int) (hosts []string) {
	for i := 1; len(hosts) < count; i++ {
		host := fmt.Sprintf("127.1.%d.%d", i/250, 1+i%250)
		if n.holds(ring.PartitionOf(crawl.Host(host), n.partitions())) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// A seed waits for a majority and for members that answer, and not for one that is
// silent; a member that was told nothing meanwhile hears it when it has started again.
func TestSeedsReachAMajority(t *testing.T) {
	t.Parallel()
	first, g := behindGate(t, testConfig(t, "n1"))
	until(t, patience, func() string { _, why := first.Ready(); return why })
	var others []*running
	var configs []config.Config
	for _, name := range []string{"n2", "n3"} {
		c := testConfig(t, name)
		c.Join = []string{first.Info().Gossip}
		others, configs = append(others, startNode(t, c)), append(configs, c)
	}
	converged(t, 3, first, others[0], others[1])

	open := func(ctx context.Context, n *running, entry string) error { // as a seed does
		if err := n.doc.AddScope([]string{entry}); err != nil {
			return err
		}
		return n.spread.AwaitMajority(ctx)
	}
	gone := others[1]
	gone.Stop()
	gone.ended(t, patience)
	if err := open(t.Context(), others[0], "host:one.test"); err != nil {
		t.Fatalf("one of three was stopped: %v", err)
	}
	if !first.doc.Seeds.Has("host:one.test") {
		t.Error("the other member has not got the entry of a seed")
	}
	g.close() // now nobody has what the first one adds
	ctx, cancel := context.WithTimeout(t.Context(), 4*heartbeat.Every)
	defer cancel()
	if err := open(ctx, first, "host:two.test"); err == nil ||
		!strings.Contains(err.Error(), "more than half") {
		t.Errorf("seeds of a node that reaches nobody: %v", err)
	}
	g.open()

	again := startNode(t, configs[1])
	until(t, patience, func() string {
		if _, why := again.Ready(); why != "" {
			return why
		}
		if !again.doc.Seeds.Has("host:one.test") || !again.doc.Seeds.Has("host:two.test") ||
			!again.spread.Complete(time.Now()) {
			return "n3 lacks entries"
		}
		return ""
	})
}

// The cluster's settings are the founder's, whichever member is seeded first.
func TestFoundersSettingsHoldWhoeverIsSeeded(t *testing.T) {
	t.Parallel()
	c := testConfig(t, "n1")
	c.MaxDepth, c.Delay = 3, 7*time.Second
	founder := startNode(t, c)
	until(t, patience, func() string { _, why := founder.Ready(); return why })
	c = testConfig(t, "n2")
	c.MaxDepth, c.Join = 9, []string{founder.Info().Gossip}
	joiner := startNode(t, c)
	converged(t, 2, founder, joiner)
	before := founder.doc.Current().Doc
	if before.Version == 0 || before.By != founder.id || before.State != crawl.CrawlIdle {
		t.Errorf("the founder's document: %+v", before)
	}
	if _, err := joiner.AddSeeds(t.Context(), []crawl.Seed{{URL: "http://127.0.0.1:9/"}}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*running{founder, joiner} {
		if s := n.doc.Current().Doc.Settings; s.MaxDepth != 3 || s.Delay != 7*time.Second {
			t.Errorf("%s crawls %d links deep with a delay of %v, the founder said 3 and 7 s", n.name,
				s.MaxDepth, s.Delay)
		}
	}
}
