package integration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"

	"crawlnode/workers/urlfrontier/wire"
)

// TestTwoCrawls has two crawls of clients beside the cluster's own one, which its nodes fetch
// themselves. They share hosts and URLs. Each crawl fetches each of its pages once; no host has two
// requests at a time or too small a gap, whosever they are. Counts and lists are by crawl, and what
// is deleted of one crawl is left in the others.
func TestTwoCrawls(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const delay, hosts, pages = 200 * time.Millisecond, 3, 8
	site := serveTree(t, hosts, pages)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", delay.String(), "--store", "none")
	var clients []wire.URLFrontierClient
	for range 2 {
		at := fmt.Sprint("127.0.0.1:", freePort(t))
		c.add("--frontier-addr", at).ready()
		conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		clients = append(clients, wire.NewURLFrontierClient(conn))
	}
	c.converged(time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), slack(3*time.Minute))
	defer cancel()
	// Crawl a has all pages, b those of the first two hosts.
	guests := []*guest{newGuest(t, "a", clients[0], clients[1]),
		newGuest(t, "b", clients[1], clients[0])}
	for i, g := range guests {
		for h := range hosts - i {
			for p := range pages {
				g.pages = append(g.pages, site.page(h, p))
			}
		}
		g.put(ctx, g.pages...)
		g.counts(ctx, 0)
	}
	c.nodes[0].seed(site.seeds(hosts)...)
	var crawling sync.WaitGroup
	for _, g := range guests {
		crawling.Go(func() { g.run(ctx) })
	}
	crawling.Wait()
	until(t, time.Minute, func() string { return site.fetchedBy(hosts, pages, guests) })
	const own = hosts * (pages + 1) // and a sitemap of each host
	guests[0].owns(ctx, own)
	for _, g := range guests {
		g.counts(ctx, len(g.pages))
		g.lists(ctx)
	}
	site.polite(t, delay)

	a, b := guests[0], guests[1]
	b.deletes(ctx, site.page(0, 0), pages)
	if got := []uint64{a.count(ctx, "a", ""), a.count(ctx, "b", "")}; !slices.Equal(got,
		[]uint64{hosts * pages, pages}) {
		t.Errorf("a and b have %d URLs after a host of b was deleted", got)
	}
	a.owns(ctx, own)
	a.lists(ctx)
	// A deleted URL may come again, and is fetched again.
	b.pages = []string{site.page(0, 3)}
	clear(b.fetched)
	b.put(ctx, b.pages...)
	b.run(ctx)
	n, err := b.asks.DeleteCrawl(ctx, &wire.DeleteCrawlMessage{Value: "b"})
	if err != nil || n.GetValue() != pages+1 {
		t.Errorf("crawl b was deleted with %v URLs, %v; want %d", n, err, pages+1)
	}
	if n, err := b.asks.DeleteCrawl(ctx, &wire.DeleteCrawlMessage{Value: "b"}); err != nil ||
		n.GetValue() != 0 {
		t.Errorf("crawl b was deleted a second time with %v URLs, %v", n, err)
	}
	if got := []uint64{a.count(ctx, "a", ""), a.count(ctx, "b", "")}; !slices.Equal(got,
		[]uint64{hosts * pages, 0}) {
		t.Errorf("a and b have %d URLs after b was deleted", got)
	}
	a.owns(ctx, own)
	if l, err := a.asks.ListCrawls(ctx, &wire.Local{}); err != nil ||
		slices.Contains(l.GetValues(), "b") || !slices.Contains(l.GetValues(), "a") {
		t.Errorf("crawls after b was deleted: %v, %v", l, err)
	}
	a.lists(ctx)
	c.stop()
}

// guest is a crawl of a client.
type guest struct {
	*testing.T
	crawl      string
	asks, puts wire.URLFrontierClient // of two nodes
	pages      []string

	mu      sync.Mutex
	fetched map[string]int
}

func newGuest(t *testing.T, crawl string, asks, puts wire.URLFrontierClient) *guest {
	return &guest{T: t, crawl: crawl, asks: asks, puts: puts, fetched: map[string]int{}}
}

// owns waits until the cluster's own crawl has so many URLs: the figures of other nodes may be some
// seconds old.
func (g *guest) owns(ctx context.Context, want uint64) {
	g.Helper()
	until(g.T, time.Minute, func() string {
		if got := g.count(ctx, "", ""); got != want {
			return fmt.Sprintf("the own crawl has %d URLs, want %d", got, want)
		}
		return ""
	})
}

func (g *guest) info(page string) *wire.URLInfo {
	return &wire.URLInfo{
		Url:      page,
		CrawlID:  g.crawl,
		Metadata: map[string]*wire.StringList{"who": {Values: []string{g.crawl, page}}},
	}
}

// put sends URLs, until all are stored.
func (g *guest) put(ctx context.Context, urls ...string) {
	g.Helper()
	var items []*wire.URLItem
	for _, url := range urls {
		items = append(items, found(g.info(url), ""))
	}
	for len(items) > 0 && ctx.Err() == nil {
		items = putAll(ctx, g.puts, items)
	}
}

// run fetches what there is of the crawl, until each page was fetched or the time is over.
func (g *guest) run(ctx context.Context) {
	for ctx.Err() == nil {
		stream, err := g.asks.GetURLs(ctx,
			&wire.GetParams{Item: &wire.GetParams_CrawlID{CrawlID: g.crawl}, DelayRequestable: 120})
		var fetching sync.WaitGroup
		for err == nil {
			var info *wire.URLInfo
			if info, err = stream.Recv(); err == nil {
				fetching.Go(func() { g.fetch(ctx, info) })
			}
		}
		fetching.Wait()
		if len(g.fetched) == len(g.pages) {
			return
		}
		if ctx.Err() == nil && !errors.Is(err, io.EOF) {
			g.Logf("GetURLs: %v", err) // a partition on its way
			time.Sleep(100 * time.Millisecond)
		}
	}
	g.Errorf("crawl %s has fetched %d pages of %d", g.crawl, len(g.fetched), len(g.pages))
}

func (g *guest) fetch(ctx context.Context, info *wire.URLInfo) {
	url := info.GetUrl()
	if !slices.Contains(g.pages, url) || info.GetCrawlID() != g.crawl ||
		!slices.Equal(info.GetMetadata()["who"].GetValues(), []string{g.crawl, url}) {
		g.Errorf("crawl %s was given %v", g.crawl, info)
	}
	resp, err := client.Get(url)
	if err != nil {
		g.Errorf("%s: %v", url, err)
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	g.mu.Lock()
	g.fetched[url]++
	if g.fetched[url] > 1 {
		g.Errorf("crawl %s was given %s a second time", g.crawl, url)
	}
	g.mu.Unlock()
	for items := []*wire.URLItem{result(g.info(url))}; len(items) > 0 && ctx.Err() == nil; {
		items = putAll(ctx, g.puts, items)
	}
}

// count is how many URLs of a crawl a node counts.
func (g *guest) count(ctx context.Context, crawl, key string) uint64 {
	g.Helper()
	n, err := g.asks.CountURLs(ctx, &wire.CountUrlParams{CrawlID: crawl, Key: key})
	if err != nil {
		g.Errorf("CountURLs of %s: %v", crawl, err)
	}
	return n.GetValue()
}

// counts waits until the figures of the crawl have so many completed URLs, and checks the others.
func (g *guest) counts(ctx context.Context, completed int) {
	g.Helper()
	until(g.T, 20*time.Second, func() string { // figures of other nodes may be some seconds old
		st, err := g.asks.GetStats(ctx, &wire.QueueWithinCrawlParams{CrawlID: g.crawl})
		if err != nil || st.GetCrawlID() != g.crawl || int(st.GetSize()) != len(g.pages)-completed ||
			int(st.GetCounts()["completed"]) != completed {
			return fmt.Sprintf("the figures of %s with %d pages, %d of them completed: %v, %v", g.crawl,
				len(g.pages), completed, st, err)
		}
		return ""
	})
	if got := g.count(ctx, g.crawl, ""); int(got) != len(g.pages) {
		g.Errorf("CountURLs of %s: %d, want %d", g.crawl, got, len(g.pages))
	}
}

// lists compares the lists of the crawl with its pages.
func (g *guest) lists(ctx context.Context) {
	g.Helper()
	stream, err := g.asks.ListURLs(ctx, &wire.ListUrlParams{CrawlID: g.crawl})
	var listed []string
	for err == nil {
		var item *wire.URLItem
		if item, err = stream.Recv(); err == nil {
			info := cmp.Or(item.GetKnown().GetInfo(), item.GetDiscovered().GetInfo())
			listed = append(listed, info.GetUrl())
			if info.GetCrawlID() != g.crawl ||
				!slices.Equal(info.GetMetadata()["who"].GetValues(), []string{g.crawl, info.GetUrl()}) ||
				item.GetCreationDate() == 0 {
				g.Errorf("the list of %s has %v", g.crawl, item)
			}
		}
	}
	slices.Sort(listed)
	if want := slices.Sorted(slices.Values(g.pages)); !errors.Is(err, io.EOF) ||
		!slices.Equal(listed, want) {
		g.Errorf("ListURLs of %s: %v, %v; want %v", g.crawl, listed, err, want)
	}
	if l, err := g.asks.ListCrawls(ctx, &wire.Local{}); err != nil ||
		!slices.Contains(l.GetValues(), g.crawl) {
		g.Errorf("ListCrawls: %v, %v; want %s in it", l, err, g.crawl)
	}
}

// deletes deletes the queue of a URL's host, and checks that its URLs are unknown then.
func (g *guest) deletes(ctx context.Context, url string, want uint64) {
	g.Helper()
	key := keyOf(g.T, url)
	if n := g.count(ctx, g.crawl, key); n != want {
		g.Errorf("crawl %s has %d URLs of %s, want %d", g.crawl, n, key, want)
	}
	n, err := g.asks.DeleteQueue(ctx, &wire.QueueWithinCrawlParams{CrawlID: g.crawl, Key: key})
	if err != nil || n.GetValue() != want {
		g.Errorf("%s of crawl %s was deleted with %v URLs, %v; want %d", key, g.crawl, n, err, want)
	}
	if item, err := g.asks.GetURLStatus(ctx, &wire.URLStatusRequest{
		Url:     url,
		CrawlID: g.crawl,
	}); grpcstatus.Code(err) != codes.NotFound {
		g.Errorf("%s, which was deleted, has %v, %v", url, item, err)
	}
	if n := g.count(ctx, g.crawl, key); n != 0 {
		g.Errorf("crawl %s has %d URLs of %s, which was deleted", g.crawl, n, key)
	}
}

// keyOf is the queue of a URL: its host.
func keyOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u.Hostname()
}

// fetchedBy says which page was not fetched once by each crawl that has it, the own one among them.
func (s *tree) fetchedBy(hosts, pages int, guests []*guest) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range hosts {
		for p := range pages {
			want := 1
			for _, g := range guests {
				want += g.fetched[s.page(h, p)]
			}
			if got := s.count[fmt.Sprintf("127.0.0.%d/%d", h+1, p)]; got != want {
				return fmt.Sprintf("%s was requested %d times, want %d", s.page(h, p), got, want)
			}
		}
	}
	return ""
}

// polite judges the gaps at each host.
func (s *tree) polite(t *testing.T, delay time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Logf("least gap %v, %d at a time", s.least, s.both)
	if s.both > 0 || s.least < delay {
		t.Errorf("least gap %v (at least %v), %d requests beside another one", s.least, delay, s.both)
	}
}
