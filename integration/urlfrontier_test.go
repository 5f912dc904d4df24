package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"crawlnode/workers/urlfrontier/wire"
)

// TestURLFrontier has two clients of the URLFrontier protocol crawl four hosts out of three nodes
// that fetch no page. One node is killed. Each page is fetched, no host has two requests at a time
// or too small a gap, and none is fetched twice but for what the killed node had leased.
func TestURLFrontier(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const delay, hosts, pages = 100 * time.Millisecond, 4, 25
	site := serveTree(t, hosts, pages)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", delay.String(), "--fetch", "off",
		"--lease", "3s")
	var at []string
	for range 3 {
		at = append(at, fmt.Sprint("127.0.0.1:", freePort(t)))
		c.add("--frontier-addr", at[len(at)-1]).ready()
	}
	c.converged(time.Minute)
	c.nodes[0].seed(site.seeds(hosts)...) // a seed opens its host
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	for _, addr := range at[:2] {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		clients.Go(func() {
			defer conn.Close()
			crawlBy(ctx, t, wire.NewURLFrontierClient(conn))
		})
	}
	until(t, time.Minute, func() string {
		if n := site.served(); n < hosts*pages/4 {
			return fmt.Sprintf("%d pages", n)
		}
		return ""
	})
	c.nodes[2].signal(syscall.SIGKILL)
	<-c.nodes[2].done
	c.finished(2 * time.Minute)
	cancel()
	clients.Wait()
	site.judge(t, hosts, pages, delay)
}

// crawlBy fetches what a frontier gives out, until ctx ends. It leaves out what has waited until
// its lease nearly ended, as each client must: results that a take-over holds up make the rest of
// the stream wait.
func crawlBy(ctx context.Context, t *testing.T, c wire.URLFrontierClient) {
	for ctx.Err() == nil {
		asked := time.Now()
		stream, err := c.GetURLs(ctx, &wire.GetParams{MaxQueues: 10})
		for err == nil {
			var info *wire.URLInfo
			if info, err = stream.Recv(); err == nil && time.Since(asked) < leaseOf(t, info)*3/4 {
				fetchFor(ctx, t, c, info) // a later one may have been given to another client by now
			}
		}
		if ctx.Err() == nil && !errors.Is(err, io.EOF) {
			t.Logf("GetURLs: %v", err) // a take-over
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// leaseOf is how long a URL is leased, counted from when it was asked for.
func leaseOf(t *testing.T, info *wire.URLInfo) time.Duration {
	s, err := strconv.ParseFloat(info.GetMetadata()["crawlnode.lease_seconds"].GetValues()[0], 64)
	if err != nil {
		t.Errorf("%s: crawlnode.lease_seconds: %v", info.GetUrl(), err)
	}
	return time.Duration(s * float64(time.Second))
}

var hrefs = regexp.MustCompile(`href="([^"]+)"`)

// fetchFor fetches one URL and sends its links and its result.
func fetchFor(ctx context.Context, t *testing.T, c wire.URLFrontierClient, info *wire.URLInfo) {
	resp, err := client.Get(info.GetUrl())
	if err != nil {
		t.Errorf("%s: %v", info.GetUrl(), err)
		return
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	base, _ := url.Parse(info.GetUrl())
	depth, _ := strconv.Atoi(info.GetMetadata()["depth"].GetValues()[0])
	items := []*wire.URLItem{}
	for _, m := range hrefs.FindAllStringSubmatch(string(body), -1) {
		link, err := base.Parse(m[1])
		if err != nil {
			continue
		}
		items = append(items,
			&wire.URLItem{Item: &wire.URLItem_Discovered{Discovered: &wire.DiscoveredURLItem{
				Info: &wire.URLInfo{Url: link.String(), Metadata: map[string]*wire.StringList{
					"source_url": {Values: []string{info.GetUrl()}},
					"depth":      {Values: []string{strconv.Itoa(depth + 1)}}}},
			}}})
	}
	info.Metadata["fetch.statusCode"] = &wire.StringList{
		Values: []string{strconv.Itoa(resp.StatusCode)},
	}
	// the last: its links are stored by then
	items = append(items,
		&wire.URLItem{Item: &wire.URLItem_Known{Known: &wire.KnownURLItem{Info: info}}})
	for ctx.Err() == nil && len(items) > 0 {
		items = putAll(ctx, c, items)
	}
}

// putAll sends items and returns those that must be sent again. It ends its stream: a connection
// has 64 at a time, and one more waits for ever.
func putAll(ctx context.Context, c wire.URLFrontierClient, items []*wire.URLItem) []*wire.URLItem {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.PutURLs(ctx)
	for len(items) > 0 && err == nil {
		if err = stream.Send(items[0]); err != nil {
			break
		}
		var ack *wire.AckMessage
		if ack, err = stream.Recv(); err != nil || ack.GetStatus() == wire.AckMessage_FAIL {
			break
		}
		items = items[1:]
	}
	return items
}

// tree is a web of hosts whose pages are a tree, and what was asked of it.
type tree struct {
	port string

	mu    sync.Mutex // guards the rest
	ends  map[string]time.Time
	open  map[string]bool
	count map[string]int
	least time.Duration // of the gaps
	both  int           // requests that came while another one to their host was open
}

// serveTree serves hosts 127.0.0.1, 127.0.0.2... of some pages each. Page p of host h links to
// pages 2p+1 and 2p+2 of its own and of the next host.
func serveTree(t *testing.T, hosts, pages int) *tree {
	t.Helper()
	s := &tree{
		ends:  map[string]time.Time{},
		open:  map[string]bool{},
		count: map[string]int{},
		least: time.Hour,
	}
	s.port = fmt.Sprint(freePort(t)) // at all the addresses
	for h := range hosts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:%s", h+1, s.port))
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			host, _, _ := net.SplitHostPort(r.Host)
			defer s.request(host, r.URL.Path)()
			p, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
			if err != nil || p >= pages {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			for _, next := range []int{2*p + 1, 2*p + 2} {
				if next < pages {
					_, _ = fmt.Fprintf(w, `<a href="%s">own</a> `, s.page(h, next))
				}
			}
			_, _ = fmt.Fprintf(w, `<a href="%s">next</a>`, s.page((h+1)%hosts, p))
		})}
		go func() { _ = srv.Serve(l) }()
		t.Cleanup(func() { _ = srv.Close() })
	}
	return s
}

func (s *tree) page(host, p int) string {
	return fmt.Sprintf("http://127.0.0.%d:%s/%d", host+1, s.port, p)
}

// seeds are the first pages of so many hosts. They are seeds at once or none: a page that is
// fetched meanwhile links to the first page of the next host.
func (s *tree) seeds(hosts int) (urls []string) {
	for h := range hosts {
		urls = append(urls, s.page(h, 0))
	}
	return urls
}

// request notes the beginning of a request; what it returns notes the end.
func (s *tree) request(host, path string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[host] {
		s.both++
	} else if last, ok := s.ends[host]; ok {
		s.least = min(s.least, time.Since(last))
	}
	s.open[host] = true
	s.count[host+path]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open[host], s.ends[host] = false, time.Now()
	}
}

func (s *tree) served() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.count)
}

func (s *tree) judge(t *testing.T, hosts, pages int, delay time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	missing, twice := 0, 0
	for h := range hosts {
		for p := range pages {
			switch n := s.count[fmt.Sprintf("127.0.0.%d/%d", h+1, p)]; {
			case n == 0:
				missing++
			case n > 1:
				twice++
			}
		}
	}
	t.Logf("%d pages: %d missing, %d twice, least gap %v, %d at a time", hosts*pages, missing, twice,
		s.least, s.both)
	if missing > 0 || twice > hosts || s.both > 0 || s.least < delay {
		t.Errorf(
			"%d missing, %d twice (at most %d), least gap %v (at least %v), %d requests beside another one",
			missing, twice, hosts, s.least, delay, s.both)
	}
}
