package plaintext

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"crawlnode/crawl"
)

// threeNodes is a status of a cluster that crawls.
func threeNodes() *crawl.Status {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	st := &crawl.Status{ServedBy: "n1", AsOf: at, Version: crawl.VersionStatus{Crawlnode: "1.2.3"},
		Cluster: crawl.ClusterStatus{Name: "default", State: crawl.ClusterRunning,
			Message: "every member serves its partitions", Health: crawl.Health{Level: crawl.HealthOK}},
		Crawl: crawl.CrawlStatus{State: crawl.CrawlRunning, Message: "the crawl runs", RunningSeconds: 75,
			Limits: crawl.LimitStatus{MaxPages: new(int64(50_000))}},
		Throughput: crawl.ThroughputStatus{
			PagesTotal:     12_345,
			PagesPerSecond: crawl.Rate{Now: 12.3, Avg1m: 11, Avg: 9.8, Peak: 44},
		},
		Frontier: crawl.FrontierStatus{Queued: 98_765, InFlight: 11, Outbox: 3},
		Bottleneck: crawl.BottleneckStatus{Cause: crawl.BottleneckPoliteness,
			Message: "20 hosts with queued URLs wait for their delay, 11 are in flight: " +
				"more hosts or a smaller --delay would help"},
	}
	for i := range 3 {
		st.Nodes = append(st.Nodes, crawl.NodeStatus{
			Name:           fmt.Sprint("n", i+1),
			State:          crawl.NodeAlive,
			HTTP:           "127.0.0.1:27295",
			AgeSeconds:     new(0.3),
			PagesTotal:     new(int64(4115)),
			PagesPerSecond: new(4.1),
			Queued:         new(int64(32_921)),
			Fetchers:       crawl.FetcherCounts{Busy: new(4), Max: new(256)},
		})
	}
	return st
}

// trouble adds reasons of some length.
func trouble(st *crawl.Status, lengths ...int) {
	st.Cluster.Health.Level = crawl.HealthWarn
	for i, n := range lengths {
		st.Cluster.Health.Reasons = append(st.Cluster.Health.Reasons,
			crawl.HealthReason{Code: fmt.Sprintf("code_%d", i),
				Message: strings.Repeat("word ", n/5), Since: st.AsOf.Add(-130 * time.Second)})
	}
}

// TestBriefStatusFitsAScreen: whatever is wrong, three nodes fit a screen of 24 lines of 80
// columns, and nothing that a person looks for first is missing.
func TestBriefStatusFitsAScreen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*crawl.Status)
		says   []string
	}{
		{"well", func(*crawl.Status) {}, []string{"cluster     default: running", "health      ok\n",
			"crawl       running: the crawl runs, 1m15s; limits: 50,000 pages\n",
			"pages       12,345; 12.3/s now, 11.0/s last minute, 9.8/s average, 44.0/s peak\n",
			"bottleneck  politeness: 20 hosts", "queue       98,765 queued, 11 in flight, 3 in outboxes\n",
			"NODE  STATE  SEEN  PAGES", "n3    alive  now   4,115  4.1", "--all"}},
		{"one trouble", func(st *crawl.Status) { trouble(st, 60) }, []string{"health      warn\n            code_0 for 2m10s: word word"}},
		{"a long one", func(st *crawl.Status) { trouble(st, 2000) }, []string{"code_0 for 2m10s: word", "...: crawlnode status --all"}},
		{"a short one behind a long one", func(st *crawl.Status) { trouble(st, 500, 20) },
			[]string{"code_0", "code_1 for 2m10s: word word word word\n"}},
		{"many", func(st *crawl.Status) { trouble(st, 200, 200, 200, 10, 10, 10) }, []string{"code_1 for 2m10s", "more: crawlnode status --all"}},
		{"paused nodes and troubles", func(st *crawl.Status) {
			trouble(st, 300, 300)
			st.Nodes[1].PausedReason = new("the disk is nearly full at /var/lib/crawlnode")
		}, []string{"n2 fetches nothing: the disk is nearly full at /var/lib/crawlnode\n"}},
		{"paused by a person", func(st *crawl.Status) {
			st.Crawl.State, st.Crawl.Message = crawl.CrawlPaused, "the crawl was paused"
			st.Nodes[1].PausedReason = new("the crawl was paused")
		}, []string{"crawl       paused: the crawl was paused, 1m15s"}},
		{"ended", func(st *crawl.Status) {
			st.Crawl.State, st.Crawl.Message, st.Crawl.FinishReason = crawl.CrawlFinished,
				"the crawl has ended: max_pages", new("max_pages")
		}, []string{"crawl       finished: the crawl has ended: max_pages, 1m15s; limits:"}},
		{"a node is gone", func(st *crawl.Status) {
			st.Nodes[2].State, st.Nodes[2].AgeSeconds = crawl.NodeFailed, new(95.0)
			st.Nodes[2].Queued, st.Nodes[2].PagesTotal = new(int64(0)), new(int64(0))
		}, []string{"n3    failed  1m35s ago  -      -        -       -      127.0.0.1:27295\n"}},
	} {
		st := threeNodes()
		c.change(st)
		var b strings.Builder
		if err := WriteStatus(&b, st); err != nil {
			t.Fatal(err)
		}
		text := strings.TrimSuffix(b.String(), "\n")
		if n := strings.Count(text, "\n") + 1; n > 24 {
			t.Errorf("%s: %d lines\n%s", c.name, n, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%s: %d columns: %s", c.name, n, line)
			}
		}
		for _, want := range c.says {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, text)
			}
		}
	}
}

// TestFolded: no word is lost, and no line is longer than it may be unless it is one word.
func TestFolded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "one two three", strings.Repeat("x", 50) + " y",
		"wörter über wörter", "a\x1b b"} {
		lines := folded(text, 10)
		if got := strings.Join(lines, " "); got != Escape(text) {
			t.Errorf("%q became %q", text, got)
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > 10 && strings.Contains(l, " ") {
				t.Errorf("%q has a long line: %q", text, l)
			}
		}
	}
}
