package integration

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/frontier/storage"
	"crawlnode/integration/simnet"
	crawlnode "crawlnode/node"
	"crawlnode/simweb"
)

// This file runs the cases of TestFreshness in a bubble: whole nodes of this program, a web, and a
// network between them, in virtual time. What else the machine does changes nothing, so it tells
// what the program does from what its machine does.

// freshBubble is the web and the nodes of one case.
type freshBubble struct {
	t     *testing.T
	dir   string
	net   *simnet.Network
	nodes []*crawlnode.Node
	logs  []*simLog
	done  chan error
	stops []func()
}

// runBubble runs a case in virtual time, and returns its row.
func (c *freshCase) runBubble(t *testing.T, dir string) (row string) {
	t.Helper()
	web := c.make(t, func(config simweb.Config) *simweb.Web {
		w, err := simweb.New(config)
		if err != nil {
			t.Fatal(err)
		}
		return w
	})
	pages := reachable(web)
	b := &freshBubble{t: t, dir: dir, net: simnet.New(1), done: make(chan error, c.nodes)}
	b.serve(web)
	for i := range c.nodes {
		b.start(c, i)
	}
	defer b.shutdown()
	b.until(time.Minute, func() error {
		s, err := b.nodes[0].Status(context.Background(), false)
		if err == nil && (len(s.Nodes) < c.nodes || !s.Ring.Converged) {
			err = fmt.Errorf("%d members, converged: %t", len(s.Nodes), s.Ring.Converged)
		}
		return err
	})
	for _, u := range web.Seeds() {
		if _, err := b.nodes[0].AddSeeds(context.Background(), []crawl.Seed{{URL: u}}); err != nil {
			t.Fatal(err)
		}
	}
	b.until(5*time.Minute, func() error {
		for _, u := range pages {
			if len(web.Visits(u)) == 0 {
				return fmt.Errorf("%s has no visit", u)
			}
		}
		return nil
	})
	start := time.Now()
	for k := range c.last {
		time.Sleep(time.Until(start.Add(time.Duration(k+1) * meanInterval)))
		s, err := b.nodes[0].Status(context.Background(), false)
		if err != nil {
			t.Fatal(err)
		}
		c.note(t, k, s)
	}
	return c.judge(t, web, pages, start)
}

// serve serves the web on all of its addresses.
func (b *freshBubble) serve(web *simweb.Web) {
	h := b.net.AddHost("web", netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	h.ServeDNS(web)
	l, err := h.Listen(80)
	if err != nil {
		b.t.Fatal(err)
	}
	srv := &http.Server{Handler: web}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	b.stops = append(b.stops, func() {
		_ = srv.Close() // of a listener in memory
		<-done
	})
}

// start starts a node; the first is joined by the others.
func (b *freshBubble) start(c *freshCase, i int) {
	b.t.Helper()
	name, addr := fmt.Sprint("n", i+1), netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})
	host := b.net.AddHost(name, addr)
	b.net.SetLink(name, "web", webLink)
	b.net.SetLink("web", name, webLink)
	transport, err := host.Transport(simGossip)
	if err != nil {
		b.t.Fatal(err)
	}
	clock, log := simnet.NewClock(time.Hour), &simLog{}
	n, err := crawlnode.Open(crawlnode.Options{
		Config: b.config(c, name, addr), Version: "sim", Store: storage.NewMemory(),
		FreeBytes: func(string) (int64, error) { return 1 << 40, nil },
		Logger:    slog.New(slog.NewTextHandler(log, nil)),
		Network: &crawlnode.Network{
			Listen: func(addr string) (net.Listener, error) { return simListen(host, addr) },
			Dial: func(ctx context.Context, addr string) (net.Conn, error) {
				return host.Dial(ctx, "tcp", addr)
			},
			Gossip: transport, Fetch: host.Dial, Exchange: host.Exchange, Lookup: host.LookupHost,
			Clock: clock, Machine: clock.Machine(name),
		},
	})
	if err != nil {
		_ = transport.Shutdown() // in memory
		b.t.Fatalf("%s: %v\n%s", name, err, log)
	}
	b.nodes, b.logs = append(b.nodes, n), append(b.logs, log)
	go func() {
		err := n.Run(context.Background())
		_ = n.HTTPListener().Close() // nobody serves the API here
		b.done <- err
	}()
}

func (b *freshBubble) config(c *freshCase, name string, addr netip.Addr) config.Config {
	f := config.Default()
	f.Name, f.DataDir, f.Insecure = name, b.dir+"/"+name, true
	f.Gossip, f.RPC, f.HTTP = simPort(addr.String(), 0), simPort(addr.String(), 1),
		simPort(addr.String(), 2)
	f.Partitions, f.Replication, f.Fetchers, f.Store = simPartitions, min(c.nodes, 2),
		freshFetchers/c.nodes, "none"
	f.Delay = time.Millisecond
	f.DNS, f.AllowNet = []string{"127.0.0.1:53"}, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	f.Recrawl, f.RecrawlInterval, f.RecrawlMin, f.RecrawlMax = c.mode, c.guess(), freshMin, freshMax
	f.RecrawlWorth = *freshWorth
	if name != "n1" {
		f.Join = []string{simPort("10.0.0.1", 0)}
	}
	if err := f.Validate(); err != nil {
		b.t.Fatal(err)
	}
	return f
}

// until waits, in virtual time, until try succeeds.
func (b *freshBubble) until(within time.Duration, try func() error) {
	b.t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(time.Second) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("after %v: %v\n%s", within, err, b.logs[0])
		}
	}
}

// shutdown ends everything; the bubble has no goroutine left afterwards.
func (b *freshBubble) shutdown() {
	for _, n := range b.nodes {
		n.Stop()
	}
	for range b.nodes {
		if err := <-b.done; err != nil {
			b.t.Error(err)
		}
	}
	for _, stop := range b.stops {
		stop()
	}
	time.Sleep(5 * time.Minute) // memberlist's goroutines notice within their longest time-out
	synctest.Wait()
}
