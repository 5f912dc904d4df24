package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"crawlnode/peer"
)

// linkURLBytes is the length of the URLs of printLinks. Each byte more in a URL
// is a byte more in its link.
const linkURLBytes = 80

// linkTries is how many batches of one size are sent; more make what opening a
// stream costs count for less.
const linkTries = 200

// counted is a connection that counts.
type counted struct {
	net.Conn
	out, in *atomic.Int64 // bytes
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.out.Add(int64(n))
	return n, err
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.Add(int64(n))
	return n, err
}

// taker is a node that has no link yet.
type taker struct{ peer.Handler }

func (taker) StoreLinks(
	_ context.Context,
	_ string,
	links []*peer.Link,
	_ *peer.RulesStamp,
) ([]peer.Verdict, error) {
	out := make([]peer.Verdict, len(links))
	for i := range out {
		out[i] = peer.Verdict_VERDICT_ADDED
	}
	return out, nil
}

// printLinks sends links to a server over loopback and counts bytes.
func printLinks(ctx context.Context, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	const cluster = "00112233445566778899aabbccddeeff"
	name := func() string { return cluster }
	target := peer.Target{ID: "0011223344556677", Boot: 3, Addr: l.Addr().String()}
	server := peer.NewServer(
		peer.ServerOptions{Self: target.ID, Boot: target.Boot, Cluster: name, Handler: taker{}})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	var sent, got atomic.Int64
	rules := &peer.RulesStamp{CrawlVersion: 7, CrawlBy: "0123456789abcdef", ScopeHash: 1 << 60}
	pool := peer.NewPool(peer.PoolOptions{
		Self:    "fedcba9876543210",
		Cluster: name,
		Rules:   func() *peer.RulesStamp { return rules },
		Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			return counted{c, &sent, &got}, nil
		},
	})
	fmt.Fprintf(out, "\nBytes of a forwarded link with a URL of %d bytes, %d batches each, "+
		"in the clear, without TCP's and IP's own.\n\n", linkURLBytes, linkTries)
	fmt.Fprintln(out, "| links in a batch | bytes a link, to the owner | back |")
	fmt.Fprintln(out, "|---|---|---|")
	for _, links := range []int{1, 5, 20, 100, peer.MaxBatchLinks} {
		sent.Store(0)
		got.Store(0)
		if err = sendLinks(ctx, pool, target, links); err != nil {
			break
		}
		per := float64(links * linkTries)
		fmt.Fprintf(out, "| %d | %.1f | %.1f |\n", links, float64(sent.Load())/per,
			float64(got.Load())/per)
	}
	pool.Close()
	server.Stop()
	if served := <-served; err == nil {
		err = served
	}
	return err
}

// sendLinks forwards batches, each when the one before is answered.
func sendLinks(ctx context.Context, pool *peer.Pool, to peer.Target, links int) error {
	batch := make([]*peer.Link, links)
	for try := range linkTries {
		for i := range batch {
			url := fmt.Sprintf("https://www.h%d.example/", 1_000_000+i)
			url += fmt.Sprintf("%0*d", linkURLBytes-len(url), try)
			batch[i] = &peer.Link{Url: url, Partition: uint32(300 + i%700), Depth: 5, Band: 3, Via: 1}
		}
		verdicts, err := pool.Forward(ctx, to, batch)
		if err != nil {
			return fmt.Errorf("forward %d links: %w", links, err)
		}
		if len(verdicts) != links {
			return fmt.Errorf("%d of %d links were answered", len(verdicts), links)
		}
	}
	return nil
}
