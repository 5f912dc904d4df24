package api

import (
	"net/http"
	"net/http/pprof"

	"crawlnode/crawl"
)

// NewDebug returns the handler of --debug-addr: Go's profiles, under /debug/pprof/. Access is
// checked as for the API. Profiles are expensive and show the contents of memory, so browsers on
// other sites are refused as well.
func NewDebug(o Options) http.Handler {
	o.begin()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return withHeaders(guard(sameSite(mux), crawl.RoleAdmin, o))
}

// sameSite refuses every request that a browser sends because of another site's page.
func sameSite(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Sec-Fetch-Site") {
		case "", "none", "same-origin":
			next.ServeHTTP(w, r)
		default:
			writeProblem(w, http.StatusForbidden, "a browser sent this request from another site's page: open the address directly")
		}
	})
}
