package api

import (
	"encoding/json"
	"net/http"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
)

// Problem is an error in the API's form (RFC 9457). The type is always "about:blank", so the title
// is that of the HTTP status.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"` // what failed and what to do
	// Errors lists all wrong fields of the request.
	Errors []crawl.FieldError `json:"errors,omitempty"`
}

// problemType is the media type of every error.
const problemType = "application/problem+json"

func writeProblem(w http.ResponseWriter, code int, detail string, fields ...crawl.FieldError) {
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(code)
	// the client has gone
	_ = json.NewEncoder(w).Encode(Problem{"about:blank", http.StatusText(code), code, detail, fields})
}

// withProblems answers requests without a handler, an unknown path or a wrong method, to any
// allowed caller.
func withProblems(mux *http.ServeMux, o Options) http.Handler {
	none := guard(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { notFound(mux, w, r) }),
		crawl.RoleRead, linked, o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			none.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

const nothingHere = "there is nothing at this path; see /openapi.json"

// notFound turns the router's own plain-text answer into a problem.
func notFound(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	probe := &codeOnly{header: w.Header(), code: http.StatusNotFound}
	mux.ServeHTTP(probe, r)
	w.Header().Del("Content-Length")
	// sent on to a path without empty parts, where there is nothing either
	if probe.code < http.StatusBadRequest {
		probe.code = http.StatusNotFound
		w.Header().Del("Location")
	}
	detail := nothingHere
	if probe.code == http.StatusMethodNotAllowed {
		detail = "this path accepts " + w.Header().Get("Allow") + ", not " + plaintext.Escape(r.Method)
	}
	writeProblem(w, probe.code, detail)
}

// codeOnly keeps the status and the headers of an answer and drops its body.
type codeOnly struct {
	header http.Header
	code   int
}

func (c *codeOnly) Header() http.Header         { return c.header }
func (c *codeOnly) WriteHeader(code int)        { c.code = code }
func (c *codeOnly) Write(p []byte) (int, error) { return len(p), nil }
