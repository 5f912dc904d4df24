package api

import (
	"context"
	"net/http"
	"strconv"

	"crawlnode/api/plaintext"
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
			writeProblem(w, http.StatusBadRequest, "depth must be a number of links, not "+plaintext.Escape(plaintext.Cut(text)))
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
	writeJSON(w, report)
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
