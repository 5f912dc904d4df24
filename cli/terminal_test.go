package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"crawlnode/cli/command"
	"crawlnode/cli/command/commandtest"
	"crawlnode/cli/seedlist"
	"crawlnode/cli/seedwatch"
	"crawlnode/crawl"
	"crawlnode/node"
)

// TestStatusWatch redraws in place on a terminal, and writes block after block
// elsewhere.
func TestStatusWatch(t *testing.T) {
	t.Parallel()
	addr := fakeAddr(t)
	watch := func(w io.Writer, output string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		blocks := 0
		if code := Main(ctx, []string{"status", "--watch", "--interval", "1ms", "--addr", addr, "-o",
			output}, Env{
			Stdin: strings.NewReader(""), Stdout: writerFunc(w, func() {
				if blocks++; blocks == 3 {
					cancel()
				}
			}), Stderr: io.Discard, Lookup: func(string) (string, bool) { return "", false },
			Executable: "crawlnode", Version: "1.2.3",
		}); code != command.ExitOK {
			t.Errorf("exit code %d", code)
		}
	}
	var b bytes.Buffer
	watch(&b, "text")
	if got := b.String(); strings.Count(got, "\n\ncrawlnode ") != 2 || strings.Contains(got, "\x1b") {
		t.Errorf("no blocks: %q", got)
	}
	b.Reset()
	watch(&b, "json")
	if lines := strings.Split(strings.TrimSpace(b.String()), "\n"); len(lines) != 3 ||
		!strings.HasPrefix(lines[2], `{"api_version":"v1"`) {
		t.Errorf("not a line each: %q", lines)
	}
	var screen bytes.Buffer
	screen.WriteString("a\nb\n")
	terminal, _ := commandtest.OpenTerminal(t, 80)
	(&statusVerb{}).redraw(&Env{Stdout: terminal}, &screen)
	if got := screen.String(); got != "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J" {
		t.Errorf("redraws by %q", got)
	}
}

// writerFunc writes to w and then calls f.
func writerFunc(w io.Writer, f func()) io.Writer { return &countedWriter{w, f} }

type countedWriter struct {
	io.Writer
	after func()
}

func (c *countedWriter) Write(b []byte) (int, error) {
	defer c.after()
	return c.Writer.Write(b)
}

// TestSummary reads what a person is told at the end.
func TestSummary(t *testing.T) {
	t.Parallel()
	st := &crawl.Status{
		Throughput: crawl.ThroughputStatus{PagesTotal: 1234, BytesInTotal: 5 << 20},
		Fetch: crawl.FetchStatus{
			Responses:        crawl.ResponseCounts{C2xx: 1200, C4xx: 34},
			ErrorsTotal:      3,
			ErrorsByCategory: crawl.ErrorCounts{DNS: 1, Timeout: 2},
			SkippedByReason:  crawl.SkippedCounts{Robots: 7, OutOfScope: 1000},
		},
		Frontier: crawl.FrontierStatus{DuplicatesTotal: 5000},
		Output:   crawl.OutputStatus{RecordsTotal: 1240, WARCFiles: 2, WARCBytesTotal: 3 << 20},
	}
	for _, tc := range []struct {
		code   int
		reason string
		want   []string
	}{
		{command.ExitOK, "max_pages", []string{"pages: 1,234 in ",
			"answers: 1200 2xx, 0 3xx, 34 4xx, 0 5xx\n", "errors: 3 (dns 1, timeout 2)\n",
			"skipped: 1,007 (out of scope 1,000, robots 7)\n",
			"duplicates: 5,000 links to known URLs",
			"archive: 1,240 records; 2 files (3.0 MiB) in data/warc\n", "ended: max_pages\n"}},
		{command.ExitInterrupted, "", []string{"ended: interrupted: the same command goes on"}},
		{command.ExitSafety, "", []string{"ended: the disk is nearly full"}},
	} {
		var out bytes.Buffer
		w := &crawlWatch{env: &Env{Stdout: &out}, started: time.Now().Add(-time.Second), last: st}
		w.info.DataDir = "data"
		w.summary(tc.code, tc.reason)
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing in\n%s", want, out.String())
			}
		}
	}
}

// TestDiskFull waits before it calls a disk full for good.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tc := range []struct {
		code string
		ago  time.Duration
		want bool
	}{
		{crawl.ReasonLowDisk, fullFor, true}, {crawl.ReasonLowDisk, fullFor - time.Second, false}, {crawl.ReasonInsecure, time.Hour, false},
	} {
		st := &crawl.Status{Cluster: crawl.ClusterStatus{
			Health: crawl.Health{Reasons: []crawl.HealthReason{{Code: tc.code, Since: now.Add(-tc.ago)}}},
		}}
		if got := diskFull(st, now); got != tc.want {
			t.Errorf("%s since %v: %v", tc.code, tc.ago, got)
		}
	}
}

// TestNextSteps names what can be done after a crawl.
func TestNextSteps(t *testing.T) {
	t.Parallel()
	const cat = "/x/crawlnode cat http://a.test/ --data-dir 'my data' shows the page"
	for _, tc := range []struct {
		reason  string
		records int64
		want    string
	}{
		{crawl.FinishExhausted, 3, cat + "; the same command with --again fetches the seeds once more and follows what is new there"},
		{crawl.FinishMaxPages, 3, cat + "; the same command with a higher limit goes on from here"},
		{crawl.FinishMaxDuration, 0, "the same command with a higher limit goes on from here"},
		{"", 3, cat},
		{"", 1, ""}, // of robots.txt
		{"", 0, ""},
	} {
		w := &crawlWatch{env: &Env{Executable: "/x/crawlnode"}, last: &crawl.Status{
			Output:     crawl.OutputStatus{RecordsTotal: tc.records},
			Throughput: crawl.ThroughputStatus{PagesTotal: tc.records - 1},
		},
			seeds: seedwatch.New([]seedlist.Entry{{Seed: crawl.Seed{URL: "http://a.test/"}}}, time.Now())}
		w.info.DataDir = "my data"
		if got := strings.Join(w.nextSteps(tc.reason), "; "); got != tc.want {
			t.Errorf("after %q: %q, want %q", tc.reason, got, tc.want)
		}
	}
}

// TestProgressText tells what a crawl does before its first page, and how long it has to go.
func TestProgressText(t *testing.T) {
	t.Parallel()
	pages, seconds := int64(100), 90.0
	st := &crawl.Status{Frontier: crawl.FrontierStatus{Queued: 1234}}
	for _, tc := range []struct {
		name  string
		set   func()
		doing string
		want  string
	}{
		{"before the first page", func() {}, "looking up a.test", "no page yet: looking up a.test (3s)"},
		{"no limit", func() {
			st.Throughput.PagesTotal = 40
			st.Throughput.PagesPerSecond = crawl.Rate{
				Now:   3,
				Avg1m: 2,
			}
		}, "", "40 pages, 3.0/s, 1,234 queued, 0 in flight, 3s"},
		{"pages", func() { st.Crawl.Limits.MaxPages = &pages }, "", "0 in flight, 3s, about 30s to the limit"},
		{"a rerun", func() {}, "looking up a.test", "40 pages of earlier runs, no new one yet: looking up a.test (3s)"},
		{"less time than pages",
			func() { st.Crawl.Limits.MaxDurationSeconds, st.Crawl.RunningSeconds = &seconds, 80 }, "",
			", about 10s to the limit"},
		{"hardly any speed", func() {
			st.Crawl.Limits.MaxDurationSeconds, st.Throughput.PagesPerSecond.Avg1m = nil, 1e-300
		}, "", "0 in flight, 3s"},
		{"hosts that want a pause", func() { st.Frontier.Hosts.Backoff, st.Frontier.Hosts.Frozen = 2, 1 },
			"", ", waits for hosts that are held back: 3; crawlnode hosts show HOST says why"},
		{"a trap", func() {
			st.Frontier.Hosts = crawl.HostCounts{}
			st.Fetch.Traps = []crawl.TrapStatus{{Pages: 1, Exclude: "http://a.test/day?d=*"}}
		}, "", "0 in flight, 3s, in a trap: 1 page of http://a.test/day?d=*"},
		{"three traps",
			func() { st.Fetch.Traps = append(st.Fetch.Traps, make([]crawl.TrapStatus, 2)...) }, "",
			", in a trap: 1 page of http://a.test/day?d=* and of 2 more"},
	} {
		tc.set()
		if got := progressText(st, tc.doing, 3*time.Second); !strings.HasSuffix(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestSummaryOfWalls: who reads the result of a crawl learns of walls, and what to do.
func TestSummaryOfWalls(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := &crawlWatch{env: &Env{Stdout: &out}, started: time.Now(), info: node.Info{ID: "n"},
		last: &crawl.Status{Fetch: crawl.FetchStatus{BlockedTotal: 5,
			BlockedByKind: map[string]int64{"cloudflare": 4, "anubis": 1}}}}
	w.summary(command.ExitOK, "")
	const want = "blocked: 5 (anubis 1, cloudflare 4) answers were bot walls: " +
		"crawlnode explain hosts_block_us says what to do\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("%s\nwant %s", &out, want)
	}
}

// TestSummaryOfOwners: who reads the result of a crawl learns what owners have refused.
func TestSummaryOfOwners(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := &crawlWatch{env: &Env{Stdout: &out}, started: time.Now(), info: node.Info{ID: "n"},
		last: &crawl.Status{
			Preferences: crawl.PreferencesStatus{LeftOutTotal: crawl.PurposeCounts{Search: 1, AITrain: 3}},
		}}
	w.summary(command.ExitOK, "")
	const want = "left out: 4 (search 1, ai-train 3): owners said no"
	if !strings.Contains(out.String(), want) {
		t.Errorf("%s\nwant %s", &out, want)
	}
}

// TestSpeedOfARerun: the pages of earlier runs are no speed of this one.
func TestSpeedOfARerun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := &crawlWatch{env: &Env{Stdout: &out}, started: time.Now().Add(-10 * time.Second), batch: true,
		info: node.Info{
			ID: "n",
		}, last: &crawl.Status{Throughput: crawl.ThroughputStatus{PagesTotal: 10_050}}}
	w.fetched = 50
	w.summary(command.ExitOK, "")
	if !strings.HasPrefix(out.String(), "pages: 10,050 in 10") ||
		!strings.Contains(out.String(), "s (50 new pages, 5.0/s), ") {
		t.Errorf("%s", out.String())
	}
}

// failedSeeds is a node whose seeds have all failed.
type failedSeeds struct {
	seedwatch.Explainer
	stopped *bool
}

func (failedSeeds) ExplainURL(context.Context, string, int) (*crawl.URLReport, error) {
	why := "connection refused"
	return &crawl.URLReport{Record: &crawl.RecordReport{State: "failed", Reason: &why}}, nil
}

func (f failedSeeds) Stop() { *f.stopped = true }

// TestGivesUp: a crawl whose seeds fail is given up, but not one that somebody has interrupted:
// that is an end of its own, with its own exit code.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		leaving, fruitless, want bool
	}{{false, true, true}, {true, true, false}, {false, false, false}} {
		now, stopped := time.Now(), false
		w := &crawlWatch{env: &Env{Stderr: io.Discard}, leaving: func() bool { return tc.leaving },
			seeds: seedwatch.New([]seedlist.Entry{{Seed: crawl.Seed{URL: "http://a.test/"}}}, now)}
		for _, at := range []time.Time{now, now.Add(time.Minute)} {
			w.lookAtSeeds(t.Context(), failedSeeds{stopped: &stopped}, at, tc.fruitless)
		}
		if stopped != tc.want || w.gaveUp.Load() != tc.want {
			t.Errorf("%+v: stopped %v", tc, stopped)
		}
	}
}
