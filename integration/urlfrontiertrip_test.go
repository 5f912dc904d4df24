package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"crawlnode/workers/urlfrontier/wire"
)

// frontierTrip is a client, its node and what was done so far.
type frontierTrip struct {
	*testing.T

	ctx   context.Context // with a token for all
	c     wire.URLFrontierClient
	n     *node
	site  *tree
	given map[string]*wire.URLInfo // what GetURLs gave and no result ended, by its host
}

func (k *frontierTrip) fatal(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *frontierTrip) listNodes() {
	l, err := k.c.ListNodes(k.ctx, &wire.Empty{})
	if err != nil || !slices.Equal(l.GetValues(), []string{k.n.http}) {
		k.Errorf("%v, %v; want %s", l, err, k.n.http)
	}
}

func (k *frontierTrip) listCrawls() {
	l, err := k.c.ListCrawls(k.ctx, &wire.Local{})
	if err != nil || !slices.Equal(l.GetValues(), []string{"DEFAULT"}) {
		k.Errorf("%v, %v", l, err)
	}
}

// putURLs sends a seed, and what is not to be crawled.
func (k *frontierTrip) putURLs() {
	seed, other := k.site.page(0, 0), &wire.URLInfo{Url: k.site.page(0, 1), CrawlID: "no\x1bcrawl"}
	k.put("id", found(&wire.URLInfo{Url: seed}, "id"), "OK")
	// known already
	k.put(seed, found(&wire.URLInfo{
		Url:      seed,
		Key:      "any",
		Metadata: map[string]*wire.StringList{"mine": {Values: []string{"1"}}},
	}, ""), "OK")
	k.put("mailto:x", found(&wire.URLInfo{Url: "mailto:x"}, ""), "SKIPPED")
	k.put(other.GetUrl(), found(other, ""), "SKIPPED")
}

func found(info *wire.URLInfo, id string) *wire.URLItem {
	return &wire.URLItem{
		Item: &wire.URLItem_Discovered{Discovered: &wire.DiscoveredURLItem{Info: info}},
		ID:   id,
	}
}

func result(info *wire.URLInfo) *wire.URLItem {
	return &wire.URLItem{Item: &wire.URLItem_Known{Known: &wire.KnownURLItem{Info: info}}}
}

// put sends one item, again while its partition is on its way, and expects its acknowledgement.
func (k *frontierTrip) put(id string, item *wire.URLItem, want string) {
	k.Helper()
	until(k.T, 20*time.Second, func() string {
		ctx, cancel := context.WithCancel(k.ctx)
		defer cancel()
		s, err := k.c.PutURLs(ctx)
		k.fatal(err)
		k.fatal(s.Send(item))
		ack, err := s.Recv()
		k.fatal(err)
		if ack.GetStatus() == wire.AckMessage_FAIL {
			return "the item must be sent again: " + item.String()
		}
		if ack.GetID() != id || ack.GetStatus().String() != want {
			k.Fatalf("%v: acknowledged %v, want %s %s", item, ack, id, want)
		}
		return ""
	})
}

func (k *frontierTrip) putDiscovered() {
	batch := &wire.DiscoveredBatch{ID: "b1", Items: []*wire.URLInfo{{Url: k.site.page(1, 0)},
		{Url: k.site.page(1, 1), CrawlID: "no\x1bcrawl"}, {Url: "mailto:x"}}}
	want := []wire.AckMessage_Status{wire.AckMessage_OK, wire.AckMessage_SKIPPED,
		wire.AckMessage_SKIPPED}
	s, err := k.c.PutDiscovered(k.ctx)
	k.fatal(err)
	until(k.T, 20*time.Second, func() string {
		k.fatal(s.Send(batch))
		ack, err := s.Recv()
		k.fatal(err)
		if slices.Contains(ack.GetStatuses(), wire.AckMessage_FAIL) {
			return "the batch must be sent again"
		}
		if ack.GetID() != "b1" || !slices.Equal(ack.GetStatuses(), want) {
			k.Fatalf("acknowledged %v, want %v", ack, want)
		}
		return ""
	})
	k.fatal(s.CloseSend())
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		k.Errorf("the stream ends with %v", err)
	}
}

// ask leases what there is.
func (k *frontierTrip) ask(p *wire.GetParams) (got []string) {
	k.Helper()
	s, err := k.c.GetURLs(k.ctx, p)
	k.fatal(err)
	for {
		info, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return got
		}
		k.fatal(err)
		if k.given[info.GetKey()] != nil {
			k.Errorf("%s was given out while another URL of its host was", info.GetUrl())
		}
		k.given[info.GetKey()] = info
		got = append(got, info.GetUrl())
	}
}

// getURLs leases the two seeds. One of them is the result of PutURLs then, with two links.
func (k *frontierTrip) getURLs() {
	if got := k.ask(&wire.GetParams{Item: &wire.GetParams_CrawlID{CrawlID: "other"}}); len(got) > 0 {
		k.Errorf("another crawl has %v", got)
	}
	until(k.T, 20*time.Second, func() string {
		k.ask(&wire.GetParams{
			MaxQueues:       10,
			MaxUrlsPerQueue: 5,
			Item:            &wire.GetParams_AnyCrawlID{AnyCrawlID: &wire.AnyCrawlID{}},
		})
		if len(k.given) < 2 {
			return fmt.Sprintf("given out: %v", k.given)
		}
		return ""
	})
	info := k.given["127.0.0.1"]
	keys := slices.Sorted(maps.Keys(info.GetMetadata()))
	if info.GetUrl() != k.site.page(0, 0) || info.GetCrawlID() != "DEFAULT" || !slices.Equal(keys,
		[]string{"crawlnode.delay_seconds", "crawlnode.lease", "crawlnode.lease_seconds", "depth"}) {
		k.Errorf("given out: %v", info)
	}
	if left := leaseOf(k.T, info); left < time.Minute || left > 5*time.Minute {
		k.Errorf("the lease lasts %v", left)
	}
	if got := k.ask(&wire.GetParams{}); len(got) > 0 {
		k.Errorf("given out beside the leases: %v", got)
	}
	for p := range 2 {
		link := &wire.URLInfo{
			Url:      k.site.page(0, p+1),
			Metadata: map[string]*wire.StringList{"source_url": {Values: []string{info.GetUrl()}}},
		}
		k.put(link.GetUrl(), found(link, ""), "OK")
	}
	info.Metadata["fetch.statusCode"] = &wire.StringList{Values: []string{"200"}}
	k.put(info.GetUrl(), result(info), "OK")
	k.put(info.GetUrl(), result(info), "OK") // a repeat, of which nothing comes
	delete(k.given, info.GetKey())
	until(k.T, 20*time.Second, func() string { // the rest of the test counts them
		n, err := k.c.CountURLs(k.ctx, &wire.CountUrlParams{})
		k.fatal(err)
		if n.GetValue() != 6 {
			return fmt.Sprintf("%d URLs, want four pages and two sitemaps", n.GetValue())
		}
		return ""
	})
}

// getURLStatus reports a visited and a queued URL.
func (k *frontierTrip) getURLStatus() {
	item, err := k.c.GetURLStatus(k.ctx,
		&wire.URLStatusRequest{Url: k.site.page(0, 0), Key: "any", CrawlID: "DEFAULT"})
	if info := item.GetKnown().GetInfo(); err != nil || info.GetUrl() != k.site.page(0, 0) ||
		info.GetKey() != "127.0.0.1" || item.GetKnown().GetRefetchableFromDate() != 0 {
		k.Errorf("a visited URL: %v, %v", item, err)
	}
	item, err = k.c.GetURLStatus(k.ctx, &wire.URLStatusRequest{Url: k.site.page(0, 2)})
	if err != nil || item.GetDiscovered().GetInfo().GetUrl() != k.site.page(0, 2) {
		k.Errorf("a queued URL: %v, %v", item, err)
	}
}

// listURLs lists the four pages. The node has also found a sitemap of each host, and fetches it
// when it is due.
func (k *frontierTrip) listURLs() {
	yes, filter := true, "HTTP"
	for _, c := range []struct {
		p           *wire.ListUrlParams
		known, made int
		all         int // with the sitemaps
	}{
		{&wire.ListUrlParams{}, 1, 3, 6},
		{&wire.ListUrlParams{Start: 1, Size: 2, Local: true}, -1, -1, 2},
		{&wire.ListUrlParams{Key: "127.0.0.1"}, 1, 2, 4},
		{&wire.ListUrlParams{Filter: &filter}, 0, 0, 0},
		{&wire.ListUrlParams{Filter: &filter, IgnoreCase: &yes}, 1, 3, 6},
		{&wire.ListUrlParams{CrawlID: "other"}, 0, 0, 0},
	} {
		s, err := k.c.ListURLs(k.ctx, c.p)
		known, made, all := 0, 0, 0
		for err == nil {
			var item *wire.URLItem
			if item, err = s.Recv(); err != nil {
				break
			}
			all++
			switch url := cmp.Or(item.GetKnown().GetInfo(), item.GetDiscovered().GetInfo()).GetUrl(); {
			case strings.HasSuffix(url, "/sitemap.xml"):
			case item.GetKnown() != nil:
				known++
			default:
				made++
			}
		}
		if !errors.Is(err, io.EOF) || all != c.all ||
			c.known >= 0 && (known != c.known || made != c.made) {
			k.Errorf("%v: %d known and %d discovered of %d, %v; want %d and %d of %d", c.p, known, made, all,
				err, c.known, c.made, c.all)
		}
	}
}

func (k *frontierTrip) countURLs() {
	yes, filter := true, "HTTP"
	for _, c := range []struct {
		p    *wire.CountUrlParams
		want uint64
	}{
		{&wire.CountUrlParams{}, 6},
		{&wire.CountUrlParams{Key: "127.0.0.2", Local: &yes}, 2},
		{&wire.CountUrlParams{Filter: &filter}, 0},
		{&wire.CountUrlParams{Filter: &filter, IgnoreCase: &yes}, 6},
		{&wire.CountUrlParams{CrawlID: "other"}, 0},
	} {
		if got, err := k.c.CountURLs(k.ctx, c.p); err != nil || got.GetValue() != c.want {
			k.Errorf("%v: %v, %v; want %d", c.p, got, err, c.want)
		}
	}
}

// getStats counts the page that was visited and the one that is leased; two sitemaps may be visited
// or not.
func (k *frontierTrip) getStats() {
	until(k.T, 20*time.Second, func() string {
		st, err := k.c.GetStats(k.ctx, &wire.QueueWithinCrawlParams{})
		k.fatal(err)
		if done := st.GetCounts()["completed"]; done < 1 || done > 3 || st.GetSize()+done != 6 ||
			st.GetInProcess() != 1 || st.GetNumberOfQueues() != 2 || st.GetCounts()["active_queues"] != 2 ||
			st.GetCrawlID() != "DEFAULT" {
			return fmt.Sprintf("the crawl: %v", st)
		}
		return ""
	})
	for _, c := range []struct {
		p                       *wire.QueueWithinCrawlParams
		size, completed, queues uint64 // the first two at least
	}{
		{&wire.QueueWithinCrawlParams{Key: "127.0.0.1", Local: true}, 2, 1, 1},
		{&wire.QueueWithinCrawlParams{Key: "nobody.example"}, 0, 0, 0},
		{&wire.QueueWithinCrawlParams{CrawlID: "other"}, 0, 0, 0},
	} {
		st, err := k.c.GetStats(k.ctx, c.p)
		if err != nil || st.GetSize() < c.size || st.GetCounts()["completed"] < c.completed ||
			st.GetNumberOfQueues() != c.queues || c.size == 0 && st.GetSize() > 0 {
			k.Errorf("%v: %v, %v", c.p, st, err)
		}
	}
}

func (k *frontierTrip) listQueues() {
	for _, c := range []struct {
		p    *wire.Pagination
		want int
	}{
		{&wire.Pagination{}, 2},
		{&wire.Pagination{Size: 1}, 1},
		{&wire.Pagination{Start: 1, IncludeInactive: true, Local: true}, 1},
		{&wire.Pagination{Start: 2}, 0},
		{&wire.Pagination{CrawlID: "other"}, 0},
	} {
		l, err := k.c.ListQueues(k.ctx, c.p)
		ours := !slices.ContainsFunc(l.GetValues(),
			func(key string) bool { return key != "127.0.0.1" && key != "127.0.0.2" })
		if err != nil || !ours || len(l.GetValues()) != c.want || int(l.GetSize()) != c.want ||
			l.GetStart() != c.p.GetStart() || l.GetTotal() != 0 {
			k.Errorf("%v: %v, %v; want %d hosts", c.p, l, err, c.want)
		}
	}
}

func (k *frontierTrip) active(want bool) {
	k.Helper()
	until(k.T, 20*time.Second, func() string {
		got, err := k.c.GetActive(k.ctx, &wire.Local{})
		k.fatal(err)
		if got.GetState() != want {
			return fmt.Sprintf("active: %v", got.GetState())
		}
		return ""
	})
}

// setActive pauses the crawl and resumes it. What waits is given out afterwards, and URLs are taken
// all the time.
func (k *frontierTrip) setActive() {
	for _, active := range []bool{false, true} {
		_, err := k.c.SetActive(k.ctx, &wire.Active{State: active})
		k.fatal(err)
		k.active(active)
		k.put(k.site.page(0, 1), found(&wire.URLInfo{Url: k.site.page(0, 1)}, ""), "OK")
		if !active {
			if got := k.ask(&wire.GetParams{}); len(got) > 0 {
				k.Errorf("given out while the crawl was not active: %v", got)
			}
		}
	}
	k.next()
}

// next waits until a URL of the first host is given out, and settles it.
func (k *frontierTrip) next() {
	k.Helper()
	until(k.T, 20*time.Second, func() string {
		if k.ask(&wire.GetParams{}); k.given["127.0.0.1"] == nil {
			return "no URL of 127.0.0.1 is given out"
		}
		return ""
	})
	k.put(k.given["127.0.0.1"].GetUrl(), result(k.given["127.0.0.1"]), "OK")
	delete(k.given, "127.0.0.1")
}

// blockQueue blocks the first host, and ends the block.
func (k *frontierTrip) blockQueue() {
	_, err := k.c.BlockQueueUntil(k.ctx,
		&wire.BlockQueueParams{Key: "127.0.0.1", Time: uint64(time.Now().Add(time.Hour).Unix())})
	k.fatal(err)
	if got := k.ask(&wire.GetParams{}); len(got) > 0 {
		k.Errorf("given out of a blocked host: %v", got)
	}
	for _, inactive := range []bool{false, true} {
		until(k.T, 20*time.Second, func() string { // the list may be some seconds old
			l, err := k.c.ListQueues(k.ctx, &wire.Pagination{IncludeInactive: inactive})
			k.fatal(err)
			if slices.Contains(l.GetValues(), "127.0.0.1") != inactive {
				return fmt.Sprintf("with inactive ones %v, while 127.0.0.1 is blocked: %v", inactive,
					l.GetValues())
			}
			return ""
		})
	}
	_, err = k.c.BlockQueueUntil(k.ctx, &wire.BlockQueueParams{Key: "127.0.0.1"})
	k.fatal(err)
	k.next()
}

// setting waits until the crawl has a value.
func (k *frontierTrip) setting(name, want string) {
	k.Helper()
	until(k.T, 20*time.Second, func() string {
		var now struct {
			Settings map[string]json.RawMessage
		}
		code, raw, err := k.n.get("/api/v1/crawl")
		if err != nil || code != http.StatusOK || json.Unmarshal(raw, &now) != nil ||
			string(now.Settings[name]) != want {
			return fmt.Sprintf("%s is %s, want %s (%d, %v)", name, now.Settings[name], want, code, err)
		}
		return ""
	})
}

func (k *frontierTrip) setDelay() {
	_, err := k.c.SetDelay(k.ctx, &wire.QueueDelayParams{DelayRequestable: 90})
	k.fatal(err)
	k.setting("delay", `"1m30s"`)
}

func (k *frontierTrip) setCrawlLimit() {
	_, err := k.c.SetCrawlLimit(k.ctx, &wire.CrawlLimitParams{Limit: 500, CrawlID: "DEFAULT"})
	k.fatal(err)
	k.setting("max_pages_per_host", "500")
}

// setLogLevel has the node log details: the end of the test looks for them.
func (k *frontierTrip) setLogLevel() {
	_, err := k.c.SetLogLevel(k.ctx,
		&wire.LogLevelParams{Level: wire.LogLevelParams_DEBUG, Local: true})
	k.fatal(err)
}

// other puts a URL of another crawl.
func (k *frontierTrip) other() {
	k.Helper()
	info := &wire.URLInfo{Url: k.site.page(0, 0), CrawlID: "other"}
	k.put(info.GetUrl(), found(info, ""), "OK")
}

// deleted is what a call has deleted.
func (k *frontierTrip) deleted(want uint64, call func() (*wire.Long, error)) {
	k.Helper()
	until(k.T, 20*time.Second, func() string {
		if n, err := call(); err != nil || n.GetValue() != want {
			return fmt.Sprintf("%v, %v; want %d deleted", n, err, want)
		}
		return ""
	})
}

func (k *frontierTrip) deleteCrawl() {
	k.other()
	k.deleted(1, func() (*wire.Long, error) {
		return k.c.DeleteCrawl(k.ctx, &wire.DeleteCrawlMessage{Value: "other"})
	})
	k.deleted(0, func() (*wire.Long, error) {
		return k.c.DeleteCrawl(k.ctx, &wire.DeleteCrawlMessage{Value: "nobody's"})
	})
}

func (k *frontierTrip) deleteQueue() {
	k.other()
	k.deleted(0, func() (*wire.Long, error) {
		return k.c.DeleteQueue(k.ctx, &wire.QueueWithinCrawlParams{Key: "127.0.0.2", CrawlID: "other"})
	})
	k.deleted(1, func() (*wire.Long, error) {
		return k.c.DeleteQueue(k.ctx, &wire.QueueWithinCrawlParams{Key: "127.0.0.1", CrawlID: "other"})
	})
}

func (k *frontierTrip) purgeURLs() {
	k.other()
	k.deleted(0, func() (*wire.Long, error) {
		return k.c.PurgeURLs(k.ctx, &wire.PurgeUrlParams{CrawlID: "other", Days: 1})
	})
	k.deleted(1, func() (*wire.Long, error) {
		return k.c.PurgeURLs(k.ctx, &wire.PurgeUrlParams{CrawlID: "other"})
	})
	k.deleted(0,
		func() (*wire.Long, error) { return k.c.PurgeURLs(k.ctx, &wire.PurgeUrlParams{Days: 1}) })
}

// deleteOwn deletes a host of the cluster's own crawl, and puts a URL of it again.
func (k *frontierTrip) deleteOwn() {
	k.deleted(4, func() (*wire.Long, error) {
		return k.c.DeleteQueue(k.ctx, &wire.QueueWithinCrawlParams{Key: "127.0.0.1"})
	})
	if _, err := k.c.GetURLStatus(k.ctx, &wire.URLStatusRequest{
		Url: k.site.page(0, 0),
	}); grpcstatus.Code(err) != codes.NotFound {
		k.Errorf("a deleted URL: %v", err)
	}
	k.put("again", found(&wire.URLInfo{
		Url:      k.site.page(0, 0),
		Metadata: map[string]*wire.StringList{"mine": {Values: []string{"2"}}},
	}, "again"), "OK")
	item, err := k.c.GetURLStatus(k.ctx, &wire.URLStatusRequest{Url: k.site.page(0, 0)})
	if err != nil || item.GetDiscovered().GetInfo().GetMetadata()["mine"].GetValues()[0] != "2" {
		k.Errorf("put again: %v, %v", item, err)
	}
}
