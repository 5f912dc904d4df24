package cli

import (
	"encoding/json"
	"io"
	"time"

	"crawlnode/crawl"
)

// crawlSummary is what -o json writes when a crawl has ended: the counts of all runs of this crawl
// so far, what was given up, and the broken links. Its names are those of /status.
type crawlSummary struct {
	DataDir      string  `json:"data_dir"`
	Seconds      float64 `json:"seconds"` // of this run
	PagesTotal   int64   `json:"pages_total"`
	BytesInTotal int64   `json:"bytes_in_total"`

	Fetch    crawl.FetchStatus    `json:"fetch"`
	Frontier crawl.FrontierStatus `json:"frontier"`
	Output   crawl.OutputStatus   `json:"output"`

	// GivenUp is null when nothing was given up, or when it cannot be read.
	GivenUp *givenUpTally `json:"given_up"`
	// BrokenLinks is null when there is none, or when they cannot be read.
	BrokenLinks *brokenList `json:"broken_links"`
	// FinishReason is null when the crawl was interrupted: the same command goes on.
	FinishReason *string `json:"finish_reason"`
	NoSeed       bool    `json:"no_seed"` // no seed could be fetched
}

// writeJSON writes the summary as one document.
func (w *crawlWatch) writeJSON(out io.Writer, reason string) error {
	st := w.last
	s := crawlSummary{
		DataDir: w.info.DataDir, Seconds: time.Since(w.started).Seconds(),
		PagesTotal: st.Throughput.PagesTotal, BytesInTotal: st.Throughput.BytesInTotal,
		Fetch: st.Fetch, Frontier: st.Frontier, Output: st.Output,
		GivenUp: w.lost, BrokenLinks: w.broken, NoSeed: w.gaveUp.Load(),
	}
	if reason != "" {
		s.FinishReason = &reason
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(s)
}
