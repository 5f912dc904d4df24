package api

import (
	"encoding/json"
	"net/http"
)

// Problem is an error as the API answers it (RFC 9457). The type is always
// "about:blank", so the title is that of the HTTP status.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"` // what failed and what to do
}

func writeProblem(w http.ResponseWriter, code int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(Problem{"about:blank", http.StatusText(code), code, detail}) // the reader has gone
}

// withProblems makes problems out of the router's own plain-text answers, for a
// path that does not exist or a method that it does not take.
func withProblems(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		probe := &codeOnly{header: w.Header(), code: http.StatusNotFound}
		mux.ServeHTTP(probe, r)
		w.Header().Del("Content-Length")
		detail := "there is nothing at this path; /status, /metrics and /api/v1/{seeds,urls,hosts,captures,cdxj,ring,nodes,stats,crawl} are"
		if probe.code == http.StatusMethodNotAllowed {
			detail = "this path takes " + w.Header().Get("Allow") + ", not " + escape(r.Method)
		}
		writeProblem(w, probe.code, detail)
	})
}

// codeOnly keeps the status and the headers of an answer and drops its body.
type codeOnly struct {
	header http.Header
	code   int
}

func (c *codeOnly) Header() http.Header         { return c.header }
func (c *codeOnly) WriteHeader(code int)        { c.code = code }
func (c *codeOnly) Write(p []byte) (int, error) { return len(p), nil }
