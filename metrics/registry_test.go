package metrics

import (
	"io"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// full is a sample in which every field has a different value.
func full() Sample {
	lease, free, warcFree := 7.5, int64(1<<40), int64(1<<41)
	s := Sample{
		Build: Build{"1.2.3", "go1.26", "2", "3"}, Responses: Counts{"2xx": 101, "3xx": 102},
		Errors: Counts{"dns": 103}, GivenUp: Counts{"timeout": 112}, Skipped: Counts{"robots": 104},
		Queued: Counts{"0": 105, "7": 106}, Hosts: Counts{
			"ready": 107,
		}, Links: Counts{"local": 108}, Partitions: Counts{"held": 109},
		Members: Counts{"alive": 110}, Paused: true, LeaseRemaining: &lease, DiskFree: &free,
		WARCDiskFree: &warcFree, WARCByteRate: 201.5, RecordRate: 202.5,
		ClusterPartitions: Counts{"served": 111}, CrawlState: Counts{"running": 1},
		Health: Counts{"low_disk": 1}, Ready: true,
		Latency:      Histogram{Bounds: []float64{0.1, 0.2, 1}, Counts: []int64{1, 2, 3, 4}},
		Commit:       Histogram{Bounds: []float64{0.5}, Counts: []int64{2, 0}, Sum: 0.75},
		DNSLatency:   Histogram{Bounds: []float64{0.5}, Counts: []int64{3, 0}, Sum: 1.25},
		HandoffPause: Histogram{Bounds: []float64{0.5}, Counts: []int64{0, 4}, Sum: 8},
	}
	n := int64(0)
	var number func(v reflect.Value)
	number = func(v reflect.Value) {
		for i := range v.NumField() {
			switch f := v.Field(i); {
			case f.Kind() == reflect.Int64:
				n++
				f.SetInt(n)
			case f.Type() == reflect.TypeFor[DNS]():
				number(f)
			}
		}
	}
	number(reflect.ValueOf(&s).Elem())
	return s
}

// scrape returns what a scrape gives.
func scrape(t *testing.T, r *Registry, accept string) string {
	t.Helper()
	req := httptest.NewRequest("GET", "/metrics", nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, req)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("status %d, %v: %s", w.Code, err, body)
	}
	return string(body)
}

// TestNames checks a full sample with the linter of Prometheus.
func TestNames(t *testing.T) {
	t.Parallel()
	out := scrape(t, New(full), "text/plain")
	problems, err := promlint.New(strings.NewReader(out)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, namespace) {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	for _, line := range strings.Split(out, "\n") {
		name, _, _ := strings.Cut(line, "{")
		if name != "" && name[0] != '#' && !strings.HasPrefix(name, namespace+"_") &&
			!strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			t.Errorf("%q is in nobody's namespace", line)
		}
	}
	if n := strings.Count(out, "\n"); n > 400 {
		t.Errorf("%d lines", n)
	}
}

// TestEveryFieldIsShown: each number of the sample is shown under exactly one name.
func TestEveryFieldIsShown(t *testing.T) {
	t.Parallel()
	out := scrape(t, New(full), "text/plain")
	for _, want := range []string{
		"crawlnode_pages_total 1", "crawlnode_body_bytes_total 2", "crawlnode_robots_fetches_total 3",
		"crawlnode_urls_seen 4", "crawlnode_urls_failed 5",
		"crawlnode_urls_duplicate 6", "crawlnode_outbox_links 7", "crawlnode_visits_in_flight 8",
		"crawlnode_hosts_known 9", "crawlnode_links_found_total 10", "crawlnode_dns_lookups_total 11",
		"crawlnode_dns_hits_total 12",
		"crawlnode_dns_negative_hits_total 13", "crawlnode_dns_stale_served_total 14",
		"crawlnode_dns_failures_total 15", "crawlnode_dns_queries_total 16",
		"crawlnode_partitions_moving 17", "crawlnode_ring_view 18", "crawlnode_fetchers_limit 19",
		"crawlnode_fetchers 20", "crawlnode_handoff_bytes_total 21",
		"crawlnode_warc_files 22", "crawlnode_warc_bytes 23", "crawlnode_warc_records_total 24",
		"crawlnode_content_duplicates_total 25", "crawlnode_content_unanswered_total 26",
		"crawlnode_warc_written_bytes_total 27", "crawlnode_warc_index_bytes 28",
		"crawlnode_derived_files 29", "crawlnode_derived_bytes 30", "crawlnode_urls_raised_total 31",
		"crawlnode_requests_retried 32", "crawlnode_catch_up_bytes 33",
		"crawlnode_warc_bytes_per_second 201.5", "crawlnode_warc_records_per_second 202.5",
		"crawlnode_ready 1",
		`crawlnode_cluster_partitions{state="served"} 111`, `crawlnode_crawl_state{state="running"} 1`,
		`crawlnode_health_reason{code="low_disk"} 1`,
		"crawlnode_frontier_commit_duration_seconds_sum 0.75",
		"crawlnode_frontier_commit_duration_seconds_count 2",
		"crawlnode_dns_lookup_duration_seconds_sum 1.25",
		`crawlnode_handoff_pause_duration_seconds_bucket{le="0.5"} 0`,
		"crawlnode_handoff_pause_duration_seconds_count 4",
		"crawlnode_warc_disk_free_bytes 2.199023255552e+12",
		`crawlnode_responses_total{class="2xx"} 101`, `crawlnode_responses_total{class="3xx"} 102`,
		`crawlnode_fetch_errors_total{category="dns"} 103`,
		`crawlnode_urls_given_up{reason="timeout"} 112`,
		`crawlnode_urls_skipped_total{reason="robots"} 104`, `crawlnode_queued_urls{band="0"} 105`,
		`crawlnode_queued_urls{band="7"} 106`,
		`crawlnode_hosts{state="ready"} 107`, `crawlnode_links_total{route="local"} 108`,
		`crawlnode_partitions{role="held"} 109`, `crawlnode_members{state="alive"} 110`,
		"crawlnode_paused 1", "crawlnode_lease_remaining_seconds 7.5",
		"crawlnode_disk_free_bytes 1.099511627776e+12",
		`crawlnode_build_info{data_format="3",go_version="go1.26",protocol="2",version="1.2.3"} 1`,
		`crawlnode_response_duration_seconds_bucket{le="0.1"} 1`,
		`crawlnode_response_duration_seconds_bucket{le="0.2"} 3`,
		`crawlnode_response_duration_seconds_bucket{le="1"} 6`,
		`crawlnode_response_duration_seconds_bucket{le="+Inf"} 10`,
		"crawlnode_response_duration_seconds_count 10",
	} {
		if strings.Count("\n"+out, "\n"+want+"\n") != 1 {
			t.Errorf("not one line %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
	for _, want := range []string{"go_memstats_mallocs_total ", "process_resident_memory_bytes ",
		"go_goroutines "} {
		if !strings.Contains(out, "\n"+want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestUnknownIsNotShown: an empty sample is valid.
func TestUnknownIsNotShown(t *testing.T) {
	t.Parallel()
	out := scrape(t, New(func() Sample { return Sample{} }), "text/plain")
	for _, name := range []string{"lease_remaining_seconds", "disk_free_bytes", "warc_disk_free_bytes",
		"response_duration_seconds", "responses_total"} {
		if strings.Contains(out, "\ncrawlnode_"+name) {
			t.Errorf("%s is shown though it is not known", name)
		}
	}
	if !strings.Contains(out, "\ncrawlnode_paused 0\n") ||
		!strings.Contains(out, "\ncrawlnode_pages_total 0\n") {
		t.Error("what is zero is not shown")
	}
	wrong := scrape(t,
		New(func() Sample {
			return Sample{
				Latency: Histogram{Bounds: []float64{1}, Counts: []int64{1}},
			}
		}),
		"text/plain")
	if strings.Contains(wrong, "response_duration") {
		t.Error("a histogram with a bucket missing is shown")
	}
}

func TestHistogramSum(t *testing.T) {
	t.Parallel()
	h := Histogram{Bounds: []float64{1, 3}, Counts: []int64{2, 1, 1}}
	if total, _, sum := h.cumulative(); total != 4 || sum != 2*0.5+2+3 {
		t.Errorf("total %d, estimated sum %v", total, sum)
	}
	h.Sum = 42
	if _, _, sum := h.cumulative(); sum != 42 {
		t.Errorf("sum = %v, want the given one", sum)
	}
}

// TestLabelsAreEscaped: even a label with odd bytes makes one line.
func TestLabelsAreEscaped(t *testing.T) {
	t.Parallel()
	out := scrape(t, New(func() Sample { return Sample{Errors: Counts{"a\"}\nevil 1": 2}} }),
		"text/plain")
	if strings.Contains(out, "\nevil") || !strings.Contains(out, `category="a\"}\nevil 1"} 2`) {
		t.Error("a label makes a line of its own")
	}
}

func TestManyScrapes(t *testing.T) {
	t.Parallel()
	r := New(full)
	var wg sync.WaitGroup
	for range maxScrapes {
		wg.Go(func() {
			if !strings.HasSuffix(scrape(t, r, "application/openmetrics-text;version=1.0.0"), "# EOF\n") {
				t.Error("not OpenMetrics")
			}
		})
	}
	wg.Wait()
}
