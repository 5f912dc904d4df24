package api

import (
	"context"
	"net/http"
	"strconv"
)

// maxQuestion bounds a URL in a query. A URL beyond the canonical limit still gets the answer that
// it is too long.
const maxQuestion = 32 << 10

// explainURL answers why a URL is, or is not, crawled.
func (s *server) explainURL(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	url := query.Get("url")
	if url == "" || len(url) > maxQuestion {
		writeProblem(w, http.StatusBadRequest, "ask with ?url=URL, percent-encoded and at most "+strconv.Itoa(maxQuestion)+" bytes long")
		return
	}
	depth := -1
	if text := query.Get("depth"); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			writeProblem(w, http.StatusBadRequest, "depth must be a number of links, not "+escape(cut(text)))
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
	writeJSON(w, report)
}
