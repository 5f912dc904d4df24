package plaintext

import (
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestWriteStatusOfOutputs has a line for each output that is in use, and none for the others.
func TestWriteStatusOfOutputs(t *testing.T) {
	t.Parallel()
	used := &crawl.Status{
		Index: crawl.IndexStatus{
			Documents:     1200,
			Bytes:         3 << 20,
			Waiting:       7,
			BehindSeconds: 2,
			QueriesTotal:  5,
			Seconds:       crawl.Quantiles{P50: new(0.02), P99: new(0.5)},
		},
		Render: crawl.RenderStatus{
			Mode:                 crawl.RenderAll,
			Browser:              new("chromium"),
			Busy:                 1,
			Max:                  2,
			Queued:               3,
			PagesTotal:           1400,
			FailedTotal:          1,
			TimeoutsTotal:        2,
			RefusedRequestsTotal: 4,
			CacheHitsTotal:       9,
		},
		Output: crawl.OutputStatus{Upload: crawl.UploadStatus{
			QueuedFiles:   2,
			BytesTotal:    5 << 20,
			FailedTotal:   1,
			BehindSeconds: 60,
		},
			Sinks: []crawl.SinkStatus{{
				Sink:          "file:a\x1b.jsonl",
				EventsTotal:   1000,
				ErrorsTotal:   2,
				BehindSeconds: 3,
				Error:         new("disk full"),
			}}},
	}
	lines := []string{
		"index       1,200 documents, 3.0 MiB; 7 changes wait, 2s behind; 5 queries, half within 20ms, " +
			"99% within 500ms\n",
		"render      all: 1 of 2 busy, 3 queued; 1,400 pages, half within -, 99% within -; 1 failed, " +
			"2 timeouts, 4 requests refused, 9 from the cache (chromium)\n",
		"upload      5.0 MiB in the store; 2 files wait, 1m0s behind; 1 failed attempts\n",
		"sink        file:a\\x1b.jsonl: 1,000 events, 3s behind, 2 refused batches; now: disk full\n",
	}
	var b, none strings.Builder
	if err := WriteStatusAll(&b, used); err != nil {
		t.Fatal(err)
	}
	if err := WriteStatusAll(&none, &crawl.Status{
		Render: crawl.RenderStatus{Mode: crawl.RenderOff},
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range lines {
		if label := want[:12]; !strings.Contains(b.String(), want) ||
			strings.Contains(none.String(), "\n"+label) {
			t.Errorf("want %q in\n%s\nand no such line in\n%s", want, b.String(), none.String())
		}
	}
}
