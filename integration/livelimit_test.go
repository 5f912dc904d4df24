package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

// A limit that is set while three nodes crawl ends the crawl with exactly so many pages;
// one that is lowered below what was fetched already ends it at once, but for what is
// open; and every node says so.
func TestMaxPagesLoweredLive(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	// 120 pages a second: 600 take longer than to set a limit
	const hosts, delay = 24, 200 * time.Millisecond
	web, srv := serveSimweb(t,
		simweb.Config{Seed: 29, Hosts: hosts, PagesPerHost: 200, Skew: -1, Delay: delay})
	c := simCluster(t, srv, delay)
	c.addReady(3)
	c.converged(time.Minute)
	view := c.view()
	c.nodes[0].seed(web.Seeds()...)

	atPage(t, web, 100)
	limit := web.Progress() + 1500 // twelve seconds at the least
	if got := c.nodes[1].set(fmt.Sprint("max-pages=", limit)); got.State != crawl.CrawlRunning {
		t.Errorf("a limit of %d pages was set at page %d: %+v", limit, web.Progress(), got)
	}
	c.finished(2 * time.Minute)
	c.endedByLimit(limit, limit, limit)
	if got := web.Progress(); got > limit {
		t.Errorf("the web answered %d pages, the limit is %d", got, limit)
	}

	if got := c.nodes[2].set(fmt.Sprint("max-pages=", 10*limit)); got.State != crawl.CrawlRunning {
		t.Errorf("after the limit was raised: %+v", got)
	}
	atPage(t, web, limit+100)
	c.nodes[0].set(fmt.Sprint("max-pages=", limit+10))
	at := web.Progress() // every node has heard of it: beyond are the open requests alone, one a host
	c.finished(time.Minute)
	c.endedByLimit(limit+10, limit+100, at+hosts)
	t.Logf("the limit was lowered to %d when %d pages were answered; it ended at %d", limit+10, at,
		web.Progress())
	if got := web.Progress(); got > at+hosts {
		t.Errorf("%d pages were answered when all nodes had heard of the limit, %d at the end", at, got)
	}
	if r := web.Report(); r.MostTwice > c.moves(view, 0, 0) || r.TooSoon+r.Overlaps > 0 {
		t.Errorf("%d pages twice, %d requests too soon, %d overlaps", r.Duplicates, r.TooSoon, r.Overlaps)
	}
	c.stop()
}

// endedByLimit checks what each node says of a crawl that the limit has ended, and that
// all say the same number of pages.
func (c *cluster) endedByLimit(limit, least, most int) {
	c.t.Helper()
	pages := int64(0)
	until(c.t, time.Minute, func() string { // figures of other nodes are as old as their last renewals
		pages = pagesTotal(c.t, c.nodes[0])
		if pages < int64(least) || pages > int64(most) {
			return fmt.Sprintf("%d pages, want %d to %d", pages, least, most)
		}
		for _, n := range c.nodes {
			var st crawl.Status
			if err := n.decode("/status", &st); err != nil {
				return err.Error()
			}
			reason := st.Crawl.FinishReason
			if st.Crawl.State != crawl.CrawlFinished || reason == nil || *reason != crawl.FinishMaxPages ||
				st.Crawl.Limits.MaxPages == nil ||
				*st.Crawl.Limits.MaxPages != int64(limit) || st.Throughput.PagesTotal != pages ||
				st.Frontier.InFlight != 0 {
				return fmt.Sprintf("%s: %+v, limits %+v, %d pages, %d in flight", n.name, st.Crawl,
					st.Crawl.Limits, st.Throughput.PagesTotal, st.Frontier.InFlight)
			}
		}
		return ""
	})
	for _, n := range c.nodes {
		if code, text, _ := run(c.t, "", "status", "--addr", n.http); code != 0 ||
			!strings.Contains(text, crawl.FinishMaxPages) {
			c.t.Errorf("%s: exit code %d\n%s", n.name, code, text)
		}
	}
}

// put changes settings over HTTP, for a version or without one, and returns the status
// with what the node says.
func (n *node) put(body, etag string) (int, string, error) {
	req, err := n.request(http.MethodPut, "/api/v1/crawl", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if etag != "" {
		req.Header.Set("If-Match", etag)
	}
	resp, err := n.c.client().Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// sameSettings waits until all nodes have one version of the settings.
func (c *cluster) sameSettings() (now crawl.CrawlReport) {
	c.t.Helper()
	until(c.t, 20*time.Second, func() string {
		var first string
		for i, n := range c.nodes {
			code, raw, err := n.get("/api/v1/crawl")
			if err != nil || code != http.StatusOK {
				return fmt.Sprintf("%s: %d, %v", n.name, code, err)
			}
			if i == 0 {
				first = string(raw)
			}
			if string(raw) != first {
				return fmt.Sprintf("%s has\n%s, %s has\n%s", c.nodes[0].name, first, n.name, raw)
			}
		}
		if err := json.Unmarshal([]byte(first), &now); err != nil {
			return err.Error()
		}
		return ""
	})
	return now
}

// Two operators change the settings at two nodes at the same time. Without a version
// both changes hold on both nodes; with the ETag that both have read, one gets 200 and
// the other 412, and both nodes have the first one's. A node that could not tell the other one in
// time says so: then the other one's change may be the only one that holds.
func TestTwoOperatorsAtOnce(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--partitions", "512")
	c.addReady(2)
	c.converged(time.Minute)
	both := func(bodies [2]string, etag string) (codes [2]int, texts [2]string) {
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i, n := range c.nodes {
			wg.Go(func() {
				<-start
				var err error
				if codes[i], texts[i], err = n.put(bodies[i], etag); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
		return codes, texts
	}
	// made reports whether what a node said of its change is true: that it was made. Only one that the
	// other node was not told of in time, on a busy machine, may be gone.
	made := func(i int, codes [2]int, texts [2]string, inForce bool) bool {
		var r struct{ Untold []string }
		if codes[i] != 200 || json.Unmarshal([]byte(texts[i]), &r) != nil {
			return false
		}
		return inForce || slices.Contains(r.Untold, c.nodes[1-i].name)
	}
	for i := range 6 {
		bodies := [2]string{fmt.Sprintf(`{"settings":{"max_depth":%d}}`, 10+i),
			fmt.Sprintf(`{"settings":{"max_pages":%d}}`, 100+i)}
		codes, texts := both(bodies, "")
		now := c.sameSettings()
		first, second := now.Settings.Text("max_depth") == strconv.Itoa(10+i),
			now.Settings.Text("max_pages") == strconv.Itoa(100+i)
		if !made(0, codes, texts, first) || !made(1, codes, texts, second) || !first && !second {
			t.Fatalf("two changes: %v\n%s\n%s\n%+v", codes, texts[0], texts[1], now)
		}
		bodies = [2]string{fmt.Sprintf(`{"settings":{"max_depth":%d}}`, 20+i),
			fmt.Sprintf(`{"settings":{"max_pages":%d}}`, 200+i)}
		codes, texts = both(bodies, `"`+now.Version+`"`)
		now = c.sameSettings()
		first = now.Settings.Text("max_depth") == strconv.Itoa(20+i)
		second = now.Settings.Text("max_pages") == strconv.Itoa(200+i)
		fits := first != second
		for k, inForce := range [2]bool{first, second} {
			fits = fits && (!inForce && codes[k] == 412 || made(k, codes, texts, inForce))
		}
		if !fits {
			t.Fatalf("two changes for one version: %v\n%s\n%s\n%+v", codes, texts[0], texts[1], now)
		}
	}
	c.stop()
}
