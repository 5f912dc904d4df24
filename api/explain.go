package api

import (
	"context"
	"net/http"
	"strconv"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
	"crawlnode/output/readback"
	"crawlnode/web/metadata"
)

// maxQuestion bounds a URL in a query. A URL beyond the canonical limit still gets the answer that
// it is too long.
const maxQuestion = 32 << 10

// explainURL answers why a URL is, or is not, crawled.
func (s *server) explainURL(w http.ResponseWriter, r *http.Request) {
	url, ok := asked(w, r, "url")
	if !ok {
		return
	}
	depth := -1
	if text := r.URL.Query().Get("depth"); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			writeProblem(w, http.StatusBadRequest,
				"depth must be a number of links, not "+plaintext.Escape(plaintext.Cut(text)))
			return
		}
		depth = int(n)
	}
	ctx, cancel := context.WithTimeout(r.Context(), holderTimeout)
	defer cancel()
	report, err := s.backend.ExplainURL(ctx, url, depth)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	report.History = orEmpty(report.History)
	if r.URL.Query().Get("metadata") != "false" {
		report.Metadata = s.metadata(ctx, report)
	}
	writeJSON(w, report)
}

const (
	// maxMetadata bounds what is unpacked of a page for its metadata, in bytes.
	maxMetadata = 4 << 20
	// maxReadings is how many pages are read for their metadata at the same time; other questions
	// wait, as long as their time lasts.
	maxReadings = 2
)

// metadata is what the newest capture of a URL says of itself. It is left out when the capture
// cannot be read in time: the rest of the report is worth more than an error.
func (s *server) metadata(ctx context.Context, report *crawl.URLReport) *metadata.Record {
	if report.Record == nil || report.Record.Archive == nil {
		return nil
	}
	select {
	case s.readings <- struct{}{}:
		defer func() { <-s.readings }()
	case <-ctx.Done():
		return nil
	}
	source := readback.Cluster{Node: s.backend}
	record, err := source.Read(ctx, report.Record.Archive)
	if err != nil {
		return nil
	}
	page, err := readback.Of(ctx, source, record, maxMetadata)
	if err != nil {
		return nil
	}
	return page.Describe()
}

// describeHost answers what delays a host.
func (s *server) describeHost(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), holderTimeout)
	defer cancel()
	report, err := s.backend.DescribeHost(ctx, r.PathValue("host"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	report.Robots = orEmpty(report.Robots)
	for i := range report.Robots { // a node of an earlier release sends none
		report.Robots[i].BlockedPaths = orEmpty(report.Robots[i].BlockedPaths)
	}
	writeJSON(w, report)
}
