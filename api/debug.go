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
	return withHeaders(guard(mux, crawl.RoleAdmin, costly, o))
}
