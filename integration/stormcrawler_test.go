package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"crawlnode/workers/urlfrontier/wire"
)

// TestStormCrawler has two tasks of a topology crawl four hosts out of three nodes that fetch no
// page, with the calls, parameters and metadata of StormCrawler's module external/urlfrontier. The
// node that both tasks use is killed half-way. Nothing that was acknowledged is lost, no URL is
// given out again within its time or after its result, and metadata comes back as it was given. In
// the first case the topology has no urlfrontier.crawlid, as without a configuration.
func TestStormCrawler(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	for _, crawl := range []string{"", "storm"} {
		t.Run("crawl "+crawl, func(t *testing.T) {
			t.Parallel()
			stormCrawls(t, crawl)
		})
	}
}

func stormCrawls(t *testing.T, crawl string) {
	const delay, hosts, pages = 100 * time.Millisecond, 4, 15
	site := serveTree(t, hosts, pages)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", delay.String(), "--fetch", "off")
	var at []string
	for range 3 {
		at = append(at, fmt.Sprint("127.0.0.1:", freePort(t)))
		c.add("--frontier-addr", at[len(at)-1]).ready()
	}
	c.converged(time.Minute)
	// What was given out is given again later than after any take-over.
	k := &storm{
		T:           t,
		crawl:       crawl,
		requestable: 40 * time.Second,
		sent:        map[string][]stormMetadata{},
		given:       map[string]time.Time{},
		results:     map[string]stormResult{},
	}
	ctx, cancel := context.WithTimeout(t.Context(), slack(3*time.Minute))
	defer cancel()
	// Each name has several addresses, and gRPC connects to the first one that answers: so a
	// channel goes on at another node when its own is gone. Spout and updater of a task have
	// channels of their own, to different nodes while all run.
	tasks := []*stormTask{k.task(ctx, []string{at[2], at[1]}, []string{at[0]}),
		k.task(ctx, []string{at[2], at[0]}, []string{at[2], at[1]})}
	for h := range hosts {
		k.inject(tasks[1], site.page(h, 0))
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, task := range tasks {
		running.Go(func() { task.run(ctx) })
	}
	until(t, time.Minute, func() string { return k.missing(hosts * pages / 3) })
	c.nodes[2].signal(syscall.SIGKILL)
	<-c.nodes[2].done
	until(t, 2*time.Minute, func() string { return k.missing(hosts * pages) })
	cancel()
	running.Wait()
	for _, task := range tasks {
		task.close()
	}
	k.judge(t.Context(), at[0], site, hosts, pages)
	site.judge(t, hosts, pages, delay)
}

// storm is a topology, and the judge of what its frontier does.
type storm struct {
	*testing.T
	crawl       string        // urlfrontier.crawlid; "": not set
	requestable time.Duration // urlfrontier.delay.requestable

	mu      sync.Mutex // guards the rest
	sent    map[string][]stormMetadata
	given   map[string]time.Time // when what gave a URL last was asked
	results map[string]stormResult
	again   int // how many URLs were given a second time
	resent  int // how many results and batches were sent again
}

type stormMetadata map[string][]string

// stormResult is the result of a URL that was acknowledged.
type stormResult struct {
	date     uint64 // refetchable_from_date
	metadata stormMetadata
}

// stormTask is one task of spout, fetcher and status updater.
type stormTask struct {
	k              *storm
	spout, updater *grpc.ClientConn
	known          *ackStream[wire.URLItem, wire.AckMessage]
	discovered     *ackStream[wire.DiscoveredBatch, wire.BatchAck]
	batches        atomic.Int64
}

// task opens the channels of a task, and the updater's two streams.
func (k *storm) task(ctx context.Context, spout, updater []string) *stormTask {
	k.Helper()
	s := &stormTask{k: k, spout: k.channel(spout), updater: k.channel(updater)}
	c := wire.NewURLFrontierClient(s.updater)
	s.known = newAckStream(func() (grpc.BidiStreamingClient[wire.URLItem, wire.AckMessage], error) {
		return c.PutURLs(ctx, grpc.WaitForReady(true))
	}, (*wire.AckMessage).GetID)
	s.discovered = newAckStream(
		func() (grpc.BidiStreamingClient[wire.DiscoveredBatch, wire.BatchAck], error) {
			return c.PutDiscovered(ctx, grpc.WaitForReady(true))
		}, (*wire.BatchAck).GetID)
	return s
}

// close ends the streams and the channels.
func (s *stormTask) close() {
	s.known.close()
	s.discovered.close()
	_, _ = s.spout.Close(), s.updater.Close() // all calls have ended
}

// channel is a channel to a name with several addresses.
func (k *storm) channel(addrs []string) *grpc.ClientConn {
	k.Helper()
	r := manual.NewBuilderWithScheme("frontier")
	state := resolver.State{}
	for _, addr := range addrs {
		state.Endpoints = append(state.Endpoints,
			resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}})
	}
	r.InitialState(state)
	conn, err := grpc.NewClient("frontier:///nodes", grpc.WithResolvers(r),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		k.Fatal(err)
	}
	return conn
}

// inject sends a seed, as the module's FileSpout and the frontier's own client do.
func (k *storm) inject(s *stormTask, seed string) {
	k.Helper()
	md := stormMetadata{"lang": {"de", "", "français"}, "isFeed": {"false"}}
	k.note(seed, md)
	until(k.T, time.Minute, func() string {
		item := found(k.info(seed, md), seed)
		ack := <-s.known.send(seed, item)
		if ack == nil || ack.GetStatus() != wire.AckMessage_OK {
			return fmt.Sprintf("the seed %s: %v", seed, ack)
		}
		return ""
	})
}

// note notes the metadata with which a URL is sent as a discovered one.
func (k *storm) note(url string, md stormMetadata) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sent[url] = append(k.sent[url], md)
}

// info is a URL as the updater sends it: with its host as the key, and the default crawl's id when
// none is configured.
func (k *storm) info(raw string, md stormMetadata) *wire.URLInfo {
	u, err := url.Parse(raw)
	if err != nil {
		k.Error(err)
		return nil
	}
	info := &wire.URLInfo{
		Url:      raw,
		Key:      u.Hostname(),
		CrawlID:  "DEFAULT",
		Metadata: map[string]*wire.StringList{},
	}
	if k.crawl != "" {
		info.CrawlID = k.crawl
	}
	for key, values := range md {
		info.Metadata[key] = &wire.StringList{Values: values}
	}
	return info
}

// run asks for URLs, fetches them and sends what became of them, until ctx ends.
func (s *stormTask) run(ctx context.Context) {
	c := wire.NewURLFrontierClient(s.spout)
	for ctx.Err() == nil {
		p := &wire.GetParams{
			MaxUrlsPerQueue:  10,
			MaxQueues:        10,
			DelayRequestable: uint32(s.k.requestable / time.Second),
		}
		if s.k.crawl != "" {
			p.Item = &wire.GetParams_CrawlID{CrawlID: s.k.crawl}
		}
		asked := time.Now()
		stream, err := c.GetURLs(ctx, p, grpc.WaitForReady(true))
		var fetching sync.WaitGroup
		for err == nil {
			var info *wire.URLInfo
			if info, err = stream.Recv(); err == nil {
				md := s.k.gave(info, asked)
				fetching.Go(func() { s.fetch(ctx, info.GetUrl(), md, asked) })
			}
		}
		fetching.Wait()
		if ctx.Err() == nil && !errors.Is(err, io.EOF) {
			s.k.Logf("GetURLs: %v", err) // a take-over
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// gave judges a URL that was given out, and returns its metadata without what the nodes add.
func (k *storm) gave(info *wire.URLInfo, asked time.Time) stormMetadata {
	k.mu.Lock()
	defer k.mu.Unlock()
	url := info.GetUrl()
	md := stormMetadata{}
	for key, list := range info.GetMetadata() {
		if !strings.HasPrefix(key, "crawlnode.") {
			md[key] = list.GetValues()
		}
	}
	ok := false
	for _, sent := range k.sent[url] {
		ok = ok || sameMetadata(sent, md)
	}
	if !ok {
		k.Errorf("%s came with %v, and was sent with %v", url, md, k.sent[url])
	}
	if want := k.info(url, nil); info.GetKey() != want.GetKey() ||
		info.GetCrawlID() != want.GetCrawlID() {
		k.Errorf("given out: %v, want key %s and crawl %s", info, want.GetKey(), want.GetCrawlID())
	}
	if r, done := k.results[url]; done {
		k.Errorf("%s was given out again, and is not due before %v", url, time.Unix(int64(r.date), 0))
	}
	if last, ok := k.given[url]; ok {
		k.again++
		if past := time.Since(last); past < k.requestable {
			k.Errorf("%s was given out again within %v", url, past)
		}
	}
	k.given[url] = asked
	return md
}

// sameMetadata reports whether metadata is what was sent. A depth may have been added.
func sameMetadata(sent, got stormMetadata) bool {
	if _, told := sent["depth"]; !told {
		got = maps.Clone(got)
		delete(got, "depth")
	}
	return maps.EqualFunc(sent, got, slices.Equal)
}

// fetch fetches a URL, and sends its links as a batch and then its result, both without waiting for
// the other, until both are acknowledged. A URL that waited too long is left to whom it is given
// next.
func (s *stormTask) fetch(ctx context.Context, raw string, md stormMetadata, asked time.Time) {
	if time.Since(asked) > s.k.requestable*3/4 {
		return // topology.message.timeout.secs
	}
	resp, err := client.Get(raw)
	if err != nil {
		s.k.Errorf("%s: %v", raw, err)
		return
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	batch := &wire.DiscoveredBatch{ID: fmt.Sprint("batch-", s.batches.Add(1))}
	for _, m := range hrefs.FindAllStringSubmatch(string(body), -1) {
		out := outlink(raw, md)
		s.k.note(m[1], out)
		batch.Items = append(batch.Items, s.k.info(m[1], out))
	}
	// Without metadata.persist of its own a topology does not store the status of a page.
	kept := maps.Clone(md)
	if resp.StatusCode != 200 || len(batch.Items)%2 == 0 {
		kept["fetch.statusCode"] = []string{strconv.Itoa(resp.StatusCode)}
	}
	date := uint64(time.Now().Add(1440 * time.Minute).Unix()) // fetchInterval.default
	item := result(s.k.info(raw, kept))
	item.ID, item.GetKnown().RefetchableFromDate = raw, date
	links, stored := false, false
	for attempt := 0; ctx.Err() == nil && !(links && stored); attempt++ {
		var acked <-chan *wire.BatchAck
		var settled <-chan *wire.AckMessage
		if !links {
			acked = s.discovered.send(batch.GetID(), batch)
		}
		if !stored {
			settled = s.known.send(raw, item)
		}
		if acked != nil {
			ack := <-acked
			links = ack != nil && len(ack.GetStatuses()) == len(batch.GetItems()) &&
				!slices.Contains(ack.GetStatuses(), wire.AckMessage_FAIL)
		}
		if settled != nil {
			ack := <-settled
			stored = ack != nil && ack.GetStatus() != wire.AckMessage_FAIL
			if ack.GetStatus() == wire.AckMessage_SKIPPED {
				if attempt == 0 {
					s.k.Errorf("the result of %s was skipped", raw)
				}
				return // its time was over, and another task has it
			}
		}
		if !(links && stored) {
			s.k.mu.Lock()
			s.k.resent++
			s.k.mu.Unlock()
			time.Sleep(100 * time.Millisecond) // Storm waits longer before it replays a page
		}
	}
	if links && stored {
		s.k.mu.Lock()
		defer s.k.mu.Unlock()
		s.k.results[raw] = stormResult{date, kept}
	}
}

// outlink is the metadata of a link: what is transferred from its page, the way to it and its
// depth.
func outlink(page string, md stormMetadata) stormMetadata {
	out := stormMetadata{"url.path": append(slices.Clone(md["url.path"]), page)}
	if lang := md["lang"]; lang != nil {
		out["lang"] = lang // metadata.transfer
	}
	depth := 0
	if told := md["depth"]; told != nil {
		depth, _ = strconv.Atoi(told[0])
	}
	out["depth"] = []string{strconv.Itoa(depth + 1)}
	return out
}

// missing says how many results are not acknowledged yet.
func (k *storm) missing(want int) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.results) < want {
		return fmt.Sprintf("%d results are acknowledged of %d; %d URLs were sent and %d given out",
			len(k.results), want, len(k.sent), len(k.given))
	}
	return ""
}

// judge compares what a node has of each page with the results.
func (k *storm) judge(ctx context.Context, addr string, site *tree, hosts, pages int) {
	k.Helper()
	conn := k.channel([]string{addr})
	defer conn.Close()
	c := wire.NewURLFrontierClient(conn)
	k.mu.Lock()
	defer k.mu.Unlock()
	for h := range hosts {
		for p := range pages {
			url, want := site.page(h, p), k.results[site.page(h, p)]
			item, err := c.GetURLStatus(ctx,
				&wire.URLStatusRequest{Url: url, Key: k.info(url, nil).GetKey(), CrawlID: k.crawl})
			got := stormMetadata{}
			for key, list := range item.GetKnown().GetInfo().GetMetadata() {
				if !strings.HasPrefix(key, "crawlnode.") {
					got[key] = list.GetValues()
				}
			}
			if err != nil || item.GetKnown().GetRefetchableFromDate() != want.date ||
				!sameMetadata(want.metadata, got) {
				k.Errorf("%s has %v, %v; want %v", url, item, err, want)
			}
			if born := time.Unix(int64(item.GetCreationDate()), 0); time.Since(born) > time.Hour ||
				time.Until(born) > time.Minute {
				k.Errorf("%s was created at %v", url, born)
			}
		}
	}
	k.Logf("%d URLs, %d given out a second time, %d results or batches sent again", len(k.results),
		k.again, k.resent)
}

// ackStream is a long stream of items whose acknowledgements are awaited one by one. When it
// breaks, the next item opens another one.
type ackStream[Item, Ack any] struct {
	open func() (grpc.BidiStreamingClient[Item, Ack], error)
	id   func(*Ack) string

	sending   sync.Mutex // one Send at a time
	receivers sync.WaitGroup
	mu        sync.Mutex // guards the rest
	now       grpc.BidiStreamingClient[Item, Ack]
	waiting   map[string][]chan *Ack
}

func newAckStream[Item, Ack any](
	open func() (grpc.BidiStreamingClient[Item, Ack], error),
	id func(*Ack) string,
) *ackStream[Item, Ack] {
	return &ackStream[Item, Ack]{open: open, id: id, waiting: map[string][]chan *Ack{}}
}

// send sends an item. Its acknowledgement comes over the channel, or nil when the stream has ended.
func (s *ackStream[Item, Ack]) send(id string, item *Item) <-chan *Ack {
	s.sending.Lock()
	defer s.sending.Unlock()
	acked := make(chan *Ack, 1)
	s.mu.Lock()
	if s.now == nil {
		stream, err := s.open()
		if err != nil {
			s.mu.Unlock()
			acked <- nil
			return acked
		}
		s.now = stream
		s.receivers.Go(func() { s.receive(stream) })
	}
	stream := s.now
	s.waiting[id] = append(s.waiting[id], acked)
	s.mu.Unlock()
	_ = stream.Send(item) // its receiver learns of an error too, and ends what waits
	return acked
}

func (s *ackStream[Item, Ack]) receive(stream grpc.BidiStreamingClient[Item, Ack]) {
	for {
		ack, err := stream.Recv()
		s.mu.Lock()
		if err != nil {
			for _, all := range s.waiting {
				for _, acked := range all {
					acked <- nil
				}
			}
			clear(s.waiting)
			s.now = nil
			s.mu.Unlock()
			return
		}
		for _, acked := range s.waiting[s.id(ack)] {
			acked <- ack
		}
		delete(s.waiting, s.id(ack))
		s.mu.Unlock()
	}
}

// close half-closes the stream and reads it to its end.
func (s *ackStream[Item, Ack]) close() {
	s.mu.Lock()
	if s.now != nil {
		_ = s.now.CloseSend() // it may have broken
	}
	s.mu.Unlock()
	s.receivers.Wait()
}
