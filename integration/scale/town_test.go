//go:build !race

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/frontier/storage"
	"crawlnode/integration/simnet"
	"crawlnode/node"
)

// town is whole nodes on simnet, with nothing to crawl.
type town struct {
	t     *testing.T
	m     *meter
	net   *simnet.Network
	dir   string
	nodes []*node.Node
	over  sync.WaitGroup
}

func newTown(t *testing.T, dir string, n int) *town {
	c := &town{t: t, m: newMeter(), net: simnet.New(1), dir: dir}
	c.net.SetDefault(near)
	for i := range n {
		c.open(i)
	}
	return c
}

// open makes a node; the first founds the cluster.
func (c *town) open(i int) {
	c.t.Helper()
	name := fmt.Sprintf("n%d", i+1)
	host := c.net.AddHost(name, address(i+1))
	wire, err := host.Transport(7000)
	if err != nil {
		c.t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Name, cfg.DataDir, cfg.Insecure = name, filepath.Join(c.dir, name), true
	cfg.Gossip, cfg.RPC, cfg.HTTP = place(i+1, 0), place(i+1, 1), place(i+1, 2)
	cfg.Store, cfg.DNS = "none", []string{"127.0.0.1:53"}
	if i > 0 {
		cfg.Join = []string{place(1, 0), place(2, 0), place(3, 0)}
	}
	if err := cfg.Validate(); err != nil {
		c.t.Fatal(err)
	}
	n, err := node.Open(node.Options{
		Config: cfg, Version: "scale", Store: storage.NewMemory(), Logger: slog.New(slog.DiscardHandler),
		Network: &node.Network{
			Listen: func(addr string) (net.Listener, error) {
				at, err := netip.ParseAddrPort(addr)
				if err != nil {
					return nil, err
				}
				return host.Listen(int(at.Port()))
			},
			Dial: func(ctx context.Context, addr string) (net.Conn, error) {
				conn, err := host.Dial(ctx, "tcp", addr)
				if err != nil {
					return nil, err
				}
				return meteredConn{conn, c.m, calls, 1}, nil
			},
			Gossip: gossipWire{wire, c.m}, Fetch: host.Dial, Exchange: host.Exchange, Clock: bubbleClock{},
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.nodes = append(c.nodes, n)
}

// start runs all and waits until they are quiet.
func (c *town) start() {
	c.t.Helper()
	c.run()
	c.await()
	time.Sleep(watched) // what the joins have left to say
}

// run starts all, the others a moment after the founder.
func (c *town) run() {
	for i, n := range c.nodes {
		c.over.Go(func() {
			if err := n.Run(context.Background()); err != nil {
				c.t.Errorf("n%d: %v", i+1, err)
			}
			_ = n.HTTPListener().Close() // nobody serves the API here
		})
		if i == 0 {
			time.Sleep(3 * time.Second)
		}
	}
}

// await waits until each partition has its copies.
func (c *town) await() {
	c.t.Helper()
	for end := time.Now().Add(30 * time.Minute); !c.converged(); time.Sleep(time.Second) {
		if time.Now().After(end) {
			c.t.Fatal("the nodes do not converge")
		}
	}
}

// converged reports whether every node reports a converged cluster.
func (c *town) converged() bool {
	for _, n := range c.nodes {
		st, err := n.Status(context.Background(), false)
		if err != nil {
			c.t.Fatal(err)
		}
		if st.Cluster.Members.Alive != len(c.nodes) || !st.Ring.Converged ||
			st.Ring.UnderReplicated > 0 || st.Ring.Handoff.Active {
			return false
		}
	}
	return true
}

func (c *town) end() {
	for _, n := range c.nodes {
		n.Stop()
	}
	c.over.Wait()
	time.Sleep(5 * time.Minute) // memberlist does not wait for its goroutines
}
