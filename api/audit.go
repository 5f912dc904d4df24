package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
)

// usualAudit is how many changes are listed by default.
const usualAudit = 100

// audited records a requested change before the answer to its request ends. Requests refused for
// their role go to the log instead: they changed nothing, and a client that may only read must not
// fill the disk.
func audited(next http.Handler, backend Backend, pattern string) http.Handler {
	// What workers send is the crawl itself, not a change of it; but for seeds, which open their
	// scope. Rules for sites that are tried change nothing.
	if strings.HasPrefix(pattern, "GET ") || slices.Contains([]string{"POST /control/theme",
		"POST /api/v1/frontier/results", "POST /api/v1/sites/test",
		"POST /control/sites/test"}, pattern) {
		return next
	}
	onlySeeds := pattern == "POST /api/v1/frontier/urls"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, note := crawl.WithNote(r.Context())
		asker := crawl.CallerOf(ctx)
		out := &coded{ResponseWriter: w, code: http.StatusOK}
		defer func() { // also when the answer was interrupted
			if onlySeeds && note.New == "" {
				return
			}
			backend.RecordChange(crawl.AuditEntry{
				At:     time.Now().UTC(),
				Token:  asker.ID,
				Role:   asker.Role.String(),
				From:   asker.From,
				What:   r.Method + " " + plaintext.Cut(r.URL.Path),
				Old:    note.Old,
				New:    note.New,
				Status: out.code,
			})
		}()
		next.ServeHTTP(out, r.WithContext(ctx))
	})
}

// coded keeps the status of an answer.
type coded struct {
	http.ResponseWriter
	code int
}

func (c *coded) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

// Unwrap gives http.ResponseController access to the writer.
func (c *coded) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// audit lists the changes requested on all members.
func (s *server) audit(w http.ResponseWriter, r *http.Request) {
	limit := usualAudit
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > crawl.MaxAudit {
			writeProblem(w, http.StatusBadRequest, "limit must be a number from 1 to "+
				strconv.Itoa(crawl.MaxAudit)+", not "+plaintext.Escape(plaintext.Cut(text)))
			return
		}
		limit = n
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	report, err := s.backend.Audit(ctx, limit)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	report.Changes, report.Unanswered = orEmpty(report.Changes), orEmpty(report.Unanswered)
	writeJSON(w, report)
}
