package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"

	"crawlnode/workers/urlfrontier/wire"
)

// crawls is a client of several crawls, at nodes that all answer alike.
type crawls struct {
	*testing.T

	ctx     context.Context
	clients []wire.URLFrontierClient
	n       int // which client is the next
}

// frontiers starts a cluster of so many nodes, with a client at each.
func frontiers(t *testing.T, nodes int, flags ...string) (*crawls, *cluster) {
	t.Helper()
	c := newCluster(t, append([]string{"--allow-net", "127.0.0.0/8"}, flags...)...)
	ctx, cancel := context.WithTimeout(t.Context(), slack(4*time.Minute))
	t.Cleanup(cancel)
	k := &crawls{T: t, ctx: ctx}
	for range nodes {
		at := fmt.Sprint("127.0.0.1:", freePort(t))
		c.add("--frontier-addr", at).ready()
		conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		k.clients = append(k.clients, wire.NewURLFrontierClient(conn))
	}
	if nodes > 1 {
		c.converged(time.Minute)
	}
	return k, c
}

// any is a client, another one each time.
func (k *crawls) any() wire.URLFrontierClient {
	k.n++
	return k.clients[k.n%len(k.clients)]
}

// put sends an item until it is stored or refused.
func (k *crawls) put(item *wire.URLItem, want string) {
	k.Helper()
	until(k.T, time.Minute, func() string {
		ctx, cancel := context.WithCancel(k.ctx)
		defer cancel()
		s, err := k.any().PutURLs(ctx)
		if err == nil {
			err = s.Send(item)
		}
		var ack *wire.AckMessage
		if err == nil {
			ack, err = s.Recv()
		}
		switch {
		case err != nil:
			return err.Error()
		case ack.GetStatus() == wire.AckMessage_FAIL:
			return "it must be sent again"
		case ack.GetStatus().String() != want:
			k.Fatalf("%v: %v, want %s", item, ack, want)
		}
		return ""
	})
}

// get asks for URLs until one comes.
func (k *crawls) get(p *wire.GetParams) *wire.URLInfo {
	k.Helper()
	var got *wire.URLInfo
	until(k.T, 4*time.Minute, func() string {
		all, err := k.ask(p)
		switch {
		case err != nil:
			return err.Error()
		case len(all) == 0:
			return fmt.Sprintf("%v gives nothing", p)
		case len(all) > 1:
			k.Fatalf("%v gives %v", p, all)
		}
		got = all[0]
		return ""
	})
	return got
}

func (k *crawls) ask(p *wire.GetParams) (all []*wire.URLInfo, err error) {
	s, err := k.any().GetURLs(k.ctx, p)
	for err == nil {
		var info *wire.URLInfo
		if info, err = s.Recv(); err == nil {
			all = append(all, info)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}

func of(id string) *wire.GetParams_CrawlID { return &wire.GetParams_CrawlID{CrawlID: id} }

func known(info *wire.URLInfo, date time.Time) *wire.URLItem {
	item := &wire.KnownURLItem{Info: info}
	if !date.IsZero() {
		item.RefetchableFromDate = uint64(date.Unix())
	}
	return &wire.URLItem{Item: &wire.URLItem_Known{Known: item}}
}

// withoutOurs is an item as StormCrawler sends it back: without what the server has added.
func withoutOurs(info *wire.URLInfo) *wire.URLInfo {
	out := &wire.URLInfo{
		Url:      info.GetUrl(),
		Key:      info.GetKey(),
		CrawlID:  info.GetCrawlID(),
		Metadata: map[string]*wire.StringList{},
	}
	for key, vs := range info.GetMetadata() {
		if !strings.HasPrefix(key, "crawlnode.") {
			out.Metadata[key] = vs
		}
	}
	return out
}

func md(pairs ...string) map[string]*wire.StringList {
	out := map[string]*wire.StringList{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &wire.StringList{Values: append(out[pairs[i]].GetValues(), pairs[i+1])}
	}
	return out
}

func (k *crawls) status(id, url string) (*wire.URLItem, error) {
	var item *wire.URLItem
	var err error
	until(k.T, time.Minute, func() string {
		if item, err = k.any().GetURLStatus(k.ctx, &wire.URLStatusRequest{
			Url:     url,
			CrawlID: id,
		}); grpcstatus.Code(err) == codes.Unavailable {
			return err.Error()
		}
		return ""
	})
	return item, err
}

func (k *crawls) count(id string) uint64 {
	k.Helper()
	var n *wire.Long
	until(k.T, time.Minute, func() (why string) {
		var err error
		if n, err = k.any().CountURLs(k.ctx, &wire.CountUrlParams{CrawlID: id}); err != nil {
			return err.Error()
		}
		return ""
	})
	return n.GetValue()
}

// TestURLFrontierCrawls: crawls are apart from each other, also on the same hosts and with the same
// URLs; politeness is not.
func TestURLFrontierCrawls(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	site := serveTree(t, 2, 9)
	k, c := frontiers(t, 2, "--delay", "50ms", "--fetch", "off")
	url := site.page(0, 0)
	for _, id := range []string{"a", "b"} {
		k.put(found(&wire.URLInfo{
			Url:      url,
			CrawlID:  id,
			Metadata: md("k", id, "k", "", "crawlnode.x", "no"),
		}, ""), "OK")
	}
	k.put(found(&wire.URLInfo{Url: site.page(1, 1), CrawlID: "a"}, ""), "OK")
	k.put(found(&wire.URLInfo{Url: url, CrawlID: strings.Repeat("x", 200)}, ""), "SKIPPED")
	k.put(found(&wire.URLInfo{Url: url, CrawlID: "a", Metadata: md("big", strings.Repeat("x", 5000))},
		""), "SKIPPED")
	k.put(found(&wire.URLInfo{Url: "mailto:x", CrawlID: "a"}, ""), "SKIPPED")
	if l, err := k.any().ListCrawls(k.ctx, &wire.Local{}); err != nil ||
		!slices.Equal(l.GetValues(), []string{"DEFAULT", "a", "b"}) {
		t.Errorf("crawls: %v, %v", l, err)
	}
	if a, b, own := k.count("a"), k.count("b"), k.count(""); a != 2 || b != 1 || own != 0 {
		t.Errorf("%d URLs in a, %d in b, %d in the cluster's own crawl", a, b, own)
	}
	got := k.get(&wire.GetParams{Item: of("a"), Key: "127.0.0.1", DelayRequestable: 60})
	if got.GetUrl() != url || got.GetCrawlID() != "a" ||
		!slices.Equal(got.GetMetadata()["k"].GetValues(), []string{"a", ""}) ||
		got.GetMetadata()["crawlnode.x"] != nil {
		t.Errorf("given out: %v", got)
	}
	if left := leaseOf(t, got); left < 50*time.Second || left > time.Minute {
		t.Errorf("it is leased for %v", left)
	}
	for range 3 { // the host is taken: the other crawl waits for it
		if all, err := k.ask(&wire.GetParams{Item: of("b")}); err != nil || len(all) > 0 {
			t.Fatalf("%v, %v beside a lease of the same host", all, err)
		}
	}
	if st, err := k.any().GetStats(k.ctx, &wire.QueueWithinCrawlParams{CrawlID: "a"}); err != nil ||
		st.GetSize() != 2 || st.GetInProcess() != 1 || st.GetNumberOfQueues() != 2 ||
		st.GetCounts()["active_queues"] != 2 || st.GetCounts()["completed"] != 0 ||
		st.GetCrawlID() != "a" {
		t.Errorf("stats: %v, %v", st, err)
	}
	back := withoutOurs(got)
	back.Metadata = md("seen", "1")
	k.put(known(back, time.Now().Add(time.Hour)), "OK")
	if item, err := k.status("a", url); err != nil ||
		item.GetKnown().GetRefetchableFromDate() < uint64(time.Now().Unix()) ||
		item.GetCreationDate() == 0 || item.GetKnown().GetInfo().GetMetadata()["seen"] == nil ||
		item.GetKnown().GetInfo().GetMetadata()["k"] != nil {
		t.Errorf("after its result: %v, %v", item, err)
	}
	if got := k.get(&wire.GetParams{Item: of("b")}); got.GetUrl() != url || got.GetCrawlID() != "b" {
		t.Errorf("the other crawl: %v", got)
	} else {
		k.put(known(withoutOurs(got), time.Time{}), "OK")
	}
	if st, err := k.any().GetStats(k.ctx, &wire.QueueWithinCrawlParams{
		CrawlID: "b",
		Key:     "127.0.0.1",
	}); err != nil || st.GetSize() != 0 || st.GetCounts()["completed"] != 1 {
		t.Errorf("stats: %v, %v", st, err)
	}
	// of any crawl
	if got := k.get(&wire.GetParams{DelayRequestable: 1}); got.GetUrl() != site.page(1, 1) {
		t.Errorf("given out: %v", got)
	}
	if got := k.get(&wire.GetParams{
		DelayRequestable: 1,
		Item:             of("a"),
	}); got.GetUrl() != site.page(1, 1) {
		t.Errorf("when its lease has ended: %v", got)
	}

	t.Run("delete", func(t *testing.T) {
		if n, err := k.any().DeleteQueue(k.ctx, &wire.QueueWithinCrawlParams{
			Key:     "127.0.0.1",
			CrawlID: "a",
		}); err != nil || n.GetValue() != 1 {
			t.Errorf("the queue: %v, %v", n, err)
		}
		if a, b := k.count("a"), k.count("b"); a != 1 || b != 1 {
			t.Errorf("%d URLs in a, %d in b", a, b)
		}
		if n, err := k.any().DeleteCrawl(k.ctx, &wire.DeleteCrawlMessage{Value: "b"}); err != nil ||
			n.GetValue() != 1 {
			t.Errorf("the crawl: %v, %v", n, err)
		}
		if _, err := k.status("b", url); grpcstatus.Code(err) != codes.NotFound {
			t.Errorf("a deleted URL: %v", err)
		}
		k.put(found(&wire.URLInfo{Url: url, CrawlID: "b"}, ""), "OK")
		if got := k.get(&wire.GetParams{Item: of("b"), DelayRequestable: 1}); got.GetUrl() != url {
			t.Errorf("put again: %v", got)
		}
		if n, err := k.any().PurgeURLs(k.ctx, &wire.PurgeUrlParams{CrawlID: "a", Days: 1}); err != nil ||
			n.GetValue() != 0 {
			t.Errorf("purged: %v, %v", n, err)
		}
	})
	t.Run("block", func(t *testing.T) {
		b := &wire.BlockQueueParams{
			Key:     "127.0.0.1",
			CrawlID: "b",
			Time:    uint64(time.Now().Add(time.Hour).Unix()),
		}
		if _, err := k.any().BlockQueueUntil(k.ctx, b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // the lease above has ended then
		if all, err := k.ask(&wire.GetParams{Item: of("b")}); err != nil || len(all) > 0 {
			t.Errorf("of a blocked queue: %v, %v", all, err)
		}
		b.Time = 0
		if _, err := k.any().BlockQueueUntil(k.ctx, b); err != nil {
			t.Fatal(err)
		}
		k.get(&wire.GetParams{Item: of("b"), DelayRequestable: 1})
	})
	c.stop()
	logs := ""
	for _, n := range c.nodes {
		text, _ := os.ReadFile(n.log)
		logs += string(text)
	}
	if !strings.Contains(logs, "metadata has 5003 bytes") {
		t.Error("the log does not say why a URL was skipped")
	}
	if site.both > 0 {
		t.Errorf("%d requests beside another of the same host", site.both)
	}
}

// TestURLFrontierNodeLost: what clients were told is stored survives the loss of a node, and a late
// result counts.
func TestURLFrontierNodeLost(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	site := serveTree(t, 2, 9)
	k, c := frontiers(t, 3, "--delay", "50ms", "--fetch", "off")
	for h := range 2 {
		k.put(found(&wire.URLInfo{Url: site.page(h, 0), CrawlID: "a", Metadata: md("k", "v")}, ""), "OK")
		k.put(found(&wire.URLInfo{Url: site.page(h, 1), Metadata: md("k", "own")}, ""), "OK")
	}
	c.nodes[2].signal(syscall.SIGKILL)
	<-c.nodes[2].done
	k.clients = k.clients[:2]
	for h := range 2 {
		key := fmt.Sprint("127.0.0.", h+1)
		got := k.get(&wire.GetParams{Item: of("a"), Key: key, DelayRequestable: 1})
		if got.GetUrl() != site.page(h, 0) || got.GetMetadata()["k"].GetValues()[0] != "v" {
			t.Errorf("of the host %s: %v", key, got)
		}
		k.put(known(withoutOurs(got), time.Time{}), "OK")
		got = k.get(&wire.GetParams{Item: of(""), Key: key, DelayRequestable: 1})
		if got.GetUrl() != site.page(h, 1) || got.GetMetadata()["k"].GetValues()[0] != "own" {
			t.Errorf("of the host %s in the cluster's own crawl: %v", key, got)
		}
		time.Sleep(1500 * time.Millisecond) // its lease ends
		k.put(known(withoutOurs(got), time.Time{}), "OK")
		if item, err := k.status("", got.GetUrl()); err != nil || item.GetKnown() == nil ||
			item.GetKnown().GetInfo().GetMetadata()["k"].GetValues()[0] != "own" {
			t.Errorf("after a late result: %v, %v", item, err)
		}
	}
	c.stop()
}

// TestURLFrontierDates: a date brings a URL of the cluster's own crawl back, without --recrawl, and
// as it was said last.
func TestURLFrontierDates(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	site := serveTree(t, 1, 9)
	k, c := frontiers(t, 1, "--delay", "50ms", "--fetch", "off")
	url := site.page(0, 0)
	k.put(found(&wire.URLInfo{Url: url, Metadata: md("k", "1")}, ""), "OK")
	got := k.get(&wire.GetParams{DelayRequestable: 60})
	if got.GetUrl() != url || got.GetCrawlID() != "DEFAULT" ||
		got.GetMetadata()["k"].GetValues()[0] != "1" {
		t.Errorf("given out: %v", got)
	}
	back, date := withoutOurs(got), time.Now().Add(3*time.Second)
	back.Metadata = md("k", "2")
	k.put(known(back, date), "OK")
	item, err := k.status("", url)
	early := time.Now().Before(date.Truncate(time.Second)) // else it is wanted again
	if early && (err != nil || item.GetKnown().GetRefetchableFromDate() != uint64(date.Unix()) ||
		item.GetCreationDate() == 0) {
		t.Errorf("after its result: %v, %v", item, err)
	}
	again := k.get(&wire.GetParams{DelayRequestable: 60})
	if again.GetUrl() != url || again.GetMetadata()["k"].GetValues()[0] != "2" ||
		time.Now().Before(date.Truncate(time.Second)) {
		t.Errorf("at its date: %v", again)
	}
	back.Metadata = md("fetch.error.count", "1")
	k.put(known(back, time.Now().Add(time.Second)), "OK") // a failure: wanted again then
	k.get(&wire.GetParams{DelayRequestable: 60})
	c.stop()
}

// TestURLFrontierBesideCrawl: the nodes fetch their own crawl while a client fetches another one of
// the same hosts. Both end, and no host has two requests at a time or too small a gap.
func TestURLFrontierBesideCrawl(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const delay, hosts, pages = 100 * time.Millisecond, 2, 12
	site := serveTree(t, hosts, pages)
	k, c := frontiers(t, 1, "--delay", delay.String())
	for h := range hosts {
		for p := range pages {
			k.put(found(&wire.URLInfo{Url: site.page(h, p) + "?guest", CrawlID: "a"}, ""), "OK")
		}
	}
	c.nodes[0].seed(site.seeds(hosts)...)
	done := map[string]bool{}
	for len(done) < hosts*pages {
		info := k.get(&wire.GetParams{Item: of("a"), MaxQueues: 1})
		resp, err := client.Get(info.GetUrl())
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if done[info.GetUrl()] {
			t.Errorf("%s was given out twice", info.GetUrl())
		}
		done[info.GetUrl()] = true
		k.put(known(withoutOurs(info), time.Time{}), "OK")
	}
	c.finished(2 * time.Minute)
	site.mu.Lock()
	defer site.mu.Unlock()
	if site.both > 0 || site.least < delay {
		t.Errorf("%d requests beside another of the same host; the least gap is %v", site.both,
			site.least)
	}
	for h := range hosts {
		for p := range pages {
			if path := fmt.Sprintf("127.0.0.%d/%d", h+1, p); site.count[path] != 2 {
				t.Errorf("%s was requested %d times, want once for each crawl", path, site.count[path])
			}
		}
	}
}
