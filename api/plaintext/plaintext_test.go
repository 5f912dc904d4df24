package plaintext

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"crawlnode/crawl"
)

func TestWriteStatus(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	st := &crawl.Status{
		ServedBy: "n1", AsOf: at,
		Cluster: crawl.ClusterStatus{Name: "default", State: crawl.ClusterRunning, Health: crawl.Health{
			Level:   "warn",
			Reasons: []crawl.HealthReason{{Code: "insecure", Message: "no key", Since: at}},
		}},
		Throughput: crawl.ThroughputStatus{PagesTotal: 1234567, PagesPerSecond: crawl.Rate{Now: 12.34}},
		Crawl: crawl.CrawlStatus{
			State:          crawl.CrawlFinished,
			FinishReason:   new("max_pages"),
			RunningSeconds: 75,
			Limits:         crawl.LimitStatus{MaxPages: new(int64(500))},
		},
		Ring: crawl.RingStatus{LastChange: crawl.ChangeStatus{
			Cause:           new("join"),
			Node:            new("n2"),
			At:              &at,
			TakeoverSeconds: new(0.5),
		}},
		Fetch: crawl.FetchStatus{LatencySeconds: crawl.Quantiles{P50: new(0.02), P99: new(0.5)}},
		Output: crawl.OutputStatus{
			RecordsTotal:       1000,
			WARCFiles:          2,
			WARCBytesTotal:     5 << 20,
			IndexBytesTotal:    3 << 10,
			RecordsPerSecond:   12.34,
			WARCBytesPerSecond: 2048,
		},
		Nodes: []crawl.NodeStatus{
			{Name: "n1", State: "alive", AgeSeconds: new(0.1), PagesTotal: new(int64(4000)), RSSBytes: new(int64(3 << 30))},
			{Name: "n2", State: "failed", Weight: 4, Zone: new("rack 7")},
		},
	}
	var b strings.Builder
	if err := WriteStatusAll(&b, st); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cluster     default: running", "insecure: no key (since 2030-01-02T03:04:05Z)",
		"finished (max_pages), 1m15s", "limits      500 pages",
		"1,234,567; 12.3/s now", "half within 20ms, 99% within 500ms",
		"join of n2 at 2030-01-02T03:04:05Z, completed in 500ms", "4,000", "3.0 GiB",
		"failed, weight 4, zone rack 7", "never",
		"archive     1,000 records, 5.0 MiB in 2 files, 3.0 KiB of indexes; 12.3/s and 2.0 KiB/s now",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

// TestWriteStatusOfArchivesAway shows the archives that cannot be read now.
func TestWriteStatusOfArchivesAway(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	out := crawl.OutputStatus{
		WARCFiles:      5,
		WARCBytesTotal: 5 << 20,
		WARCFilesAway:  2,
		WARCBytesAway:  2 << 20,
		WARCFilesLost:  1,
		WARCBytesLost:  1 << 20,
	}
	if err := WriteStatusAll(&b, &crawl.Status{Output: out}); err != nil {
		t.Fatal(err)
	}
	if want := "5.0 MiB in 5 files (of these 2.0 MiB in 2 files on nodes that are away, " +
		"1.0 MiB in 1 files on nodes that were forgotten)"; !strings.Contains(b.String(), want) {
		t.Errorf("%q is missing in\n%s", want, b.String())
	}
}

// TestWriteStatusOfRevisits shows them unless they are off.
func TestWriteStatusOfRevisits(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	f := crawl.FreshnessStatus{
		Mode:             crawl.RecrawlAdaptive,
		Due:              1200,
		NextDueAt:        &at,
		RevisitsTotal:    5000,
		UnchangedTotal:   3000,
		NotModifiedTotal: 2000,
		ChangedTotal:     1990,
		GoneTotal:        10,
		OverdueSeconds:   crawl.OverdueQuantiles{P50: new(1.0), P99: new(30.0)},
		Useful:           new(0.1234),
		Expected:         new(0.874),
	}
	for mode, want := range map[string]string{
		crawl.RecrawlAdaptive: "freshness   adaptive: 1,200 due, " +
			"the next page at 2030-01-02T03:04:05Z; 5,000 revisits: 3,000 unchanged (2,000 by 304), " +
			"1,990 changed, 10 gone; half queued within 1s, 99% within 30s; " +
			"12.3 % of the newest found a change; 87 % of the pages are expected to be fresh",
		crawl.RecrawlOff: "",
	} {
		f.Mode = mode
		var b strings.Builder
		if err := WriteStatusAll(&b, &crawl.Status{Freshness: f}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) ||
			want == "" && strings.Contains(b.String(), "freshness") {
			t.Errorf("%s: want %q in\n%s", mode, want, b.String())
		}
	}
}

// TestWriteStatusOfWorkers shows them once one has asked.
func TestWriteStatusOfWorkers(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]crawl.WorkersStatus{
		"workers     3 with 1,200 URLs in 12 leases; 5 leases ended without a result": {
			Active:       3,
			Leases:       12,
			LeasedURLs:   1200,
			ExpiredTotal: 5,
		},
		"": {},
	} {
		var b strings.Builder
		if err := WriteStatusAll(&b, &crawl.Status{Workers: w}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) || want == "" && strings.Contains(b.String(), "workers") {
			t.Errorf("%+v: want %q in\n%s", w, want, b.String())
		}
	}
}

// TestWriteStatusOfAFailure reads the text at each step of a failure.
func TestWriteStatusOfAFailure(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tc := range []struct {
		name string
		ring crawl.RingStatus
		want []string
	}{
		{"taking over", crawl.RingStatus{
			Partitions: 64,
			Served:     40,
			Promoting:  24,
			LastChange: crawl.ChangeStatus{Cause: new("failed"), Node: new("n3"), At: &at},
		},
			[]string{"40 of 64 partitions served", "take-over   24 partitions of a failed node",
				"failed of n3 at 2030-01-02T03:04:05Z, not taken over yet"}},
		{"between two holders", crawl.RingStatus{
			Partitions: 64,
			Served:     62,
			Promoting:  2,
			LastChange: crawl.ChangeStatus{Cause: new("join"), Node: new("n3"), At: &at},
		},
			[]string{"62 of 64 partitions served", "hand-over   2 partitions have no holder at the moment",
				"join of n3"}},
		{"taken over", crawl.RingStatus{
			LastChange: crawl.ChangeStatus{
				Cause:            new("failed"),
				Node:             new("n3"),
				At:               &at,
				TakeoverSeconds:  new(1.5),
				InflightRequeued: new(int64(17)),
				PartitionsLost:   new(0),
			},
		}, []string{"taken over in 1.5s, 17 fetches queued again, 0 partitions lost"}},
		{"repairing", crawl.RingStatus{UnderReplicated: 30, Repair: crawl.RepairStatus{Active: true, PartitionsDone: 10, PartitionsTotal: 40}},
			[]string{"30 under-replicated", "repair      10 of 40 partitions have all their copies again"}},
		{"one copy", crawl.RingStatus{UnderReplicated: 30, SingleCopy: crawl.SingleCopy{Partitions: 20, Seconds: 4.2}},
			[]string{"30 under-replicated", "one copy    20 partitions, the longest for 4 s"}},
		{"stuck", crawl.RingStatus{Handoff: crawl.HandoffStatus{Stuck: make([]crawl.StuckStatus, 8)}},
			[]string{"stuck: partition 0 from - to - since", "stuck: 3 more"}},
	} {
		var b strings.Builder
		if err := WriteStatusAll(&b, &crawl.Status{Ring: tc.ring}); err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %q is missing in\n%s", tc.name, want, b.String())
			}
		}
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain ü 漢": "plain ü 漢", "": "", "a\x1b[2Jb": `a\x1b[2Jb`, "\n\r\t": `\n\r\t`, "\xffz": `\xffz`,
		"\u202eabc": `\u202eabc`, "a\ufffdb": "a\ufffdb",
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %s", n, got)
		}
	}
	for n, want := range map[int64]string{
		0:       "0 B",
		1023:    "1023 B",
		1536:    "1.5 KiB",
		1 << 40: "1.0 TiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s", n, got)
		}
	}
}

// FuzzWriteStatus checks that no string of a peer gets a control byte into the text.
func FuzzWriteStatus(f *testing.F) {
	f.Add("n1", "\x1b]0;x\a")
	f.Add("\t\n", "\u2066\xc3")
	f.Fuzz(func(t *testing.T, name, message string) {
		st := &crawl.Status{
			ServedBy: name,
			Nodes:    []crawl.NodeStatus{{Name: name, State: message, PausedReason: &message, HTTP: name}},
		}
		st.Cluster = crawl.ClusterStatus{
			Name:    name,
			State:   message,
			Message: message,
			Health:  crawl.Health{Reasons: []crawl.HealthReason{{Code: name, Message: message}}},
		}
		st.Ring.Handoff.Stuck = []crawl.StuckStatus{{From: name, To: name, Reason: message}}
		st.Bottleneck.Message, st.Crawl.FinishReason = message, &message
		st.Crawl.State = crawl.CrawlRunning
		var all, brief strings.Builder
		if err := errors.Join(WriteStatusAll(&all, st), WriteStatus(&brief, st)); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(all.String(), "\n"); n > 30 {
			t.Fatalf("a string broke a line: %q", all.String())
		}
		for line := range strings.SplitSeq(all.String()+brief.String(), "\n") {
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("unprintable: %q", line)
			}
		}
	})
}
