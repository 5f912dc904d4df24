package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"crawlnode/api/dashboard"
	"crawlnode/api/plaintext"
	"crawlnode/crawl"
)

// usualHosts is how many hosts are listed by default.
const usualHosts = 50

// hosts lists the first hosts in an order.
func (s *server) hosts(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	sort, limit := query.Get("sort"), usualHosts
	if sort == "" {
		sort = crawl.HostSorts[0]
	}
	if !slices.Contains(crawl.HostSorts[:], sort) {
		writeProblem(w, http.StatusBadRequest, "sort must be one of "+
			strings.Join(crawl.HostSorts[:], ", ")+", not "+plaintext.Escape(plaintext.Cut(sort)))
		return
	}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > crawl.MaxHostLines {
			writeProblem(w, http.StatusBadRequest, "limit must be a number from 1 to "+
				strconv.Itoa(crawl.MaxHostLines)+", not "+plaintext.Escape(plaintext.Cut(text)))
			return
		}
		limit = n
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	report, err := s.backend.Hosts(ctx, sort, limit)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	report.Hosts, report.Unanswered = orEmpty(report.Hosts), orEmpty(report.Unanswered)
	writeJSON(w, report)
}

// history answers with the curves of the dashboard.
func (s *server) history(w http.ResponseWriter, r *http.Request) {
	span := r.URL.Query().Get("span")
	if span != "" && !slices.Contains(dashboard.SpanNames(), span) {
		writeProblem(w, http.StatusBadRequest, "span must be one of "+
			strings.Join(dashboard.SpanNames(), ", ")+", not "+plaintext.Escape(plaintext.Cut(span)))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	writeJSON(w, s.dash.Series(ctx, span))
}
