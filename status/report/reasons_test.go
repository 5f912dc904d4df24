package report

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output"
	"crawlnode/output/upload"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// The pattern that health tells people leaves out what it is meant to.
func TestExcludePattern(t *testing.T) {
	t.Parallel()
	for domain, urls := range map[string][2]string{
		"bad.example":     {"http://n1.bad.example/x", "http://notbad.example/x"},
		"192.0.2.0/24":    {"http://192.0.2.77:8080/x", "http://192.0.20.7/x"},
		"2001:db8:1::/48": {"https://[2001:db8:1:2::7]/x", "http://[2001:db8:2::7]/x"},
	} {
		rules, err := scope.Compile(scope.Options{Mode: scope.Any, Exclude: []string{excludePattern(domain)}})
		if err != nil {
			t.Errorf("%s: %v", domain, err)
			continue
		}
		for i, u := range urls {
			parsed, err := urlnorm.Parse(u)
			if err != nil {
				t.Fatal(err)
			}
			if got := rules.Decide(parsed, 1, nil).Admit; got != (i == 1) {
				t.Errorf("%s: %s is admitted: %v", domain, u, got)
			}
		}
	}
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestWaitingReason(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		silent  []string
		members int
		after   time.Duration
		want    string
	}{
		{[]string{"n2"}, 2, waitPatience, "waits for n2, the other of two nodes, which may have gone on without it; start n2 again, or when it will not come back: crawlnode nodes forget n2"},
		{[]string{"n2", "n3"}, 3, time.Hour, "waits for a majority of its members: 2 of 3 say nothing (n2, n3); start n2 again"},
		{[]string{"n2"}, 2, waitPatience - time.Second, ""},
		{nil, 3, time.Hour, ""},
	} {
		r, ok := waitingReason("n1", tc.silent, tc.members, noon, noon.Add(tc.after))
		if ok != (tc.want != "") || !strings.Contains(r.Message, tc.want) || ok && (r.Code != crawl.ReasonWaitsForMembers || !r.Since.Equal(noon)) {
			t.Errorf("%v of %d after %v: %+v, %v; want %q", tc.silent, tc.members, tc.after, r, ok, tc.want)
		}
	}
}

func TestIndexReason(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for _, err := range []error{nil, full} {
		if rs := indexReason("n1", noon, err, noon.Add(indexPatience)); rs != nil {
			t.Errorf("%v is news: %+v", err, rs)
		}
	}
	rs := indexReason("n1", noon, full, noon.Add(indexPatience+time.Second))
	const want = "n1 cannot bring its index up to date, and goes on trying: no space left on device;"
	if len(rs) != 1 || rs[0].Code != crawl.ReasonIndexFails || !rs[0].Since.Equal(noon) || !strings.HasPrefix(rs[0].Message, want) {
		t.Errorf("%+v, want %q", rs, want)
	}
}

// TestShortageReasons: an archive without space is news with its place, once, whatever the system says.
func TestShortageReasons(t *testing.T) {
	t.Parallel()
	at, free := time.Unix(1000, 0), int64(300<<20)
	low, full := crawl.HealthReason{Code: crawl.ReasonLowDisk}, crawl.HealthReason{Code: crawl.ReasonDiskFull}
	for i, c := range []struct {
		s    output.Shortage
		said []crawl.HealthReason
		want []string
	}{
		{output.Shortage{}, nil, nil},
		{output.Shortage{Since: at, Path: "/data/warc"}, nil, []string{crawl.ReasonLowDisk}},
		{output.Shortage{Since: at, Path: "/data/warc"}, []crawl.HealthReason{low}, nil},
		{output.Shortage{Since: at, Path: "/data/warc", Commits: true}, nil, []string{crawl.ReasonLowDisk, crawl.ReasonDiskFull}},
		{output.Shortage{Since: at, Path: "/data/warc", Commits: true}, []crawl.HealthReason{low}, []string{crawl.ReasonDiskFull}},
		{output.Shortage{Since: at, Path: "/data/warc", Commits: true}, []crawl.HealthReason{low, full}, nil},
	} {
		var got []string
		for _, r := range shortageReasons("n1", c.s, &free, c.said) {
			got = append(got, r.Code)
			if !r.Since.Equal(at) || !strings.Contains(r.Message, "n1 ") || !strings.Contains(r.Message, "/data/warc") ||
				r.Code == crawl.ReasonLowDisk && !strings.Contains(r.Message, "300 MiB are free there") {
				t.Errorf("case %d: %+v", i, r)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("case %d: %v, want %v", i, got, c.want)
		}
	}
}

func TestUploadReason(t *testing.T) {
	t.Parallel()
	failure := upload.Failure{File: "warc/a.warc.gz", Since: noon, Err: errors.New("connection refused")}
	if rs := uploadReason("n1", failure, 7, noon.Add(sinkPatience)); rs != nil {
		t.Errorf("a restart of the store is news: %+v", rs)
	}
	rs := uploadReason("n1", failure, 7, noon.Add(sinkPatience+time.Second))
	const want = "n1 cannot copy warc/a.warc.gz to the object store, and goes on trying: connection refused; files that wait on its disk: 7"
	if len(rs) != 1 || rs[0].Code != crawl.ReasonUploadFails || !rs[0].Since.Equal(noon) || !strings.HasPrefix(rs[0].Message, want) {
		t.Errorf("%+v, want %q", rs, want)
	}
}

// toldHooks are webhooks as a test says.
type toldHooks struct {
	states []crawl.WebhookStatus
	since  time.Time
	why    *string
}

func (h toldHooks) State(time.Time) []crawl.WebhookStatus { return h.states }
func (h toldHooks) Trouble() (time.Time, *string)         { return h.since, h.why }

func TestWebhookReasons(t *testing.T) {
	t.Parallel()
	refused, full := "connection refused", "no space left on device"
	long, short, hour := noon.Add(-61*time.Second), noon.Add(-59*time.Second), noon.Add(-time.Hour)
	fails := crawl.WebhookStatus{Webhook: "http://a.test/", Queued: 7, Error: &refused}
	lost := crawl.WebhookStatus{Webhook: "http://a.test/", LostTotal: 3}
	with := func(s crawl.WebhookStatus, since, at *time.Time) []crawl.WebhookStatus {
		s.FailsSince, s.LostAt = since, at
		return []crawl.WebhookStatus{{Webhook: "http://b.test/"}, s}
	}
	for i, c := range []struct {
		hooks toldHooks
		want  string
	}{
		{toldHooks{}, ""},
		{toldHooks{states: with(fails, &short, nil)}, ""},
		{toldHooks{states: with(fails, &long, nil)}, "webhook_fails: n1 cannot send events to http://a.test/, and goes on trying: connection refused; 7 wait on its disk"},
		{toldHooks{states: with(lost, nil, &long)}, "webhook_full: n1 could not keep all events for http://a.test/: 3 were lost so far, the oldest; 0 wait on its disk"},
		{toldHooks{states: with(lost, nil, &hour)}, ""},
		{toldHooks{since: short, why: &full}, ""},
		{toldHooks{since: long, why: &full}, "webhook_fails: n1 cannot store events for its webhooks, and goes on trying: no space left on device; they wait in memory"},
	} {
		var got []string
		for _, r := range webhookReasons("n1", c.hooks, noon) {
			got = append(got, r.Code+": "+r.Message)
			if !r.Since.Equal(long) {
				t.Errorf("case %d: since %v", i, r.Since)
			}
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("case %d: %q, want %q", i, got, c.want)
		}
	}
}
