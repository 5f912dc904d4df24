package api

import (
	"encoding/json"
	"net/http"

	"crawlnode/crawl"
)

// Problem is an error as the API answers it (RFC 9457). The type is always
// "about:blank", so the title is that of the HTTP status.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"` // what failed and what to do
	// Errors names the fields of the request that are wrong, all at once.
	Errors []crawl.FieldError `json:"errors,omitempty"`
}

// problemType is the media type of every error.
const problemType = "application/problem+json"

func writeProblem(w http.ResponseWriter, code int, detail string, fields ...crawl.FieldError) {
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(Problem{"about:blank", http.StatusText(code), code, detail, fields}) // the reader has gone
}

// withProblems answers what the router has no handler for, a path that does not
// exist or a method that it does not take, to who may ask anything.
func withProblems(mux *http.ServeMux, o Options) http.Handler {
	none := guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { notFound(mux, w, r) }), crawl.RoleRead, o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			none.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// notFound makes a problem of the router's own plain-text answer.
func notFound(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	probe := &codeOnly{header: w.Header(), code: http.StatusNotFound}
	mux.ServeHTTP(probe, r)
	w.Header().Del("Content-Length")
	detail := "there is nothing at this path; /openapi.json lists what there is"
	if probe.code == http.StatusMethodNotAllowed {
		detail = "this path takes " + w.Header().Get("Allow") + ", not " + escape(r.Method)
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
