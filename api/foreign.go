package api

import (
	"net/http"
	"net/url"
	"strings"
)

// reach says what pages of other sites may have a browser ask this node for. They cannot read an
// answer, but its work is done: an <img> is enough, without a click.
type reach uint8

const (
	// linked: other sites may link to it. They cannot embed or fetch it.
	linked reach = iota + 1
	// costly: it reads archives, walks lists, asks all members or streams, so a link of another site
	// does not lead to it either. Who types the address or uses a program reaches it.
	costly
)

// reaches is the only table of what other sites reach: each GET with a guard, as in roles. What is
// no GET is refused to other sites whatever it costs.
var reaches = map[string]reach{
	"GET /healthz":                         linked,
	"GET /metrics":                         linked,
	"GET /openapi.json":                    linked,
	"GET /status":                          linked,
	"GET /api/v1/stats":                    linked,
	"GET /api/v1/history":                  linked,
	"GET /api/v1/nodes":                    linked,
	"GET /api/v1/ring":                     linked,
	"GET /api/v1/crawl":                    linked,
	"GET /api/v1/sites":                    linked,
	"GET /api/v1/sites/test":               linked,
	"GET /opensearch.xml":                  linked,
	"GET /api/v1/events":                   costly,
	"GET /api/v1/urls":                     costly,
	"GET /api/v1/hosts":                    costly,
	"GET /api/v1/hosts/{host}":             costly,
	"GET /api/v1/analysis/url":             costly,
	"GET /api/v1/analysis/host":            costly,
	"GET /api/v1/search":                   costly,
	"GET /api/v1/cdxj":                     costly,
	"GET /api/v1/captures":                 costly,
	"GET /cdx":                             costly,
	"GET /api/v1/captures/{file}/{offset}": costly,
	"GET /api/v1/audit":                    costly,
	"GET /api/v1/frontier/next":            costly, // it leases

	"GET /{$}":           linked,
	"GET /nodes":         linked,
	"GET /ring":          linked,
	"GET /hosts":         linked,
	"GET /hosts/{host}":  linked,
	"GET /urls":          linked,
	"GET /events":        linked,
	"GET /pages":         linked,
	"GET /start":         linked,
	"GET /freshness":     linked,
	"GET /search":        linked,
	"GET /settings":      linked,
	"GET /sites":         linked,
	"GET /archive":       costly, // only the dashboard's own frame shows it
	"GET /static/{file}": linked,
}

// reachOf is the reach of a pattern; of what is no GET it is costly.
func reachOf(pattern string) reach {
	if !strings.HasPrefix(pattern, "GET ") {
		return costly
	}
	of, ok := reaches[pattern]
	if !ok {
		panic("BUG: " + pattern + " has no row in the table of reaches")
	}
	return of
}

// checkSite refuses what pages of other sites have a browser ask for, except that a link of theirs
// leads to what may be linked to.
func checkSite(next http.Handler, of reach) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fromOtherSite(r) && (of != linked || !navigates(r)) {
			writeProblem(w, http.StatusForbidden,
				"a browser sent this from another site, for a page of its own: type the address, "+
					"or use the command line, or a client that sends no Origin header")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// fromOtherSite reports whether a browser sent a request for a page of another origin. Browsers say
// so in Sec-Fetch-Site where the connection is safe or of this machine, else in Origin or Referer.
func fromOtherSite(r *http.Request) bool {
	change := *r
	change.Method = http.MethodPost // the rule of net/http is for changes
	if http.NewCrossOriginProtection().Check(&change) != nil {
		return true
	}
	if r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != "" || r.Referer() == "" {
		return false
	}
	from, err := url.Parse(r.Referer())
	return err != nil || !strings.EqualFold(from.Host, r.Host)
}

// navigates reports whether a person goes to a page, in a window of its own: frames, pictures and
// scripts do not count.
func navigates(r *http.Request) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return (r.Method == http.MethodGet || r.Method == http.MethodHead) && mode == "navigate" &&
			r.Header.Get("Sec-Fetch-Dest") == "document"
	}
	// Without the header only what is asked for tells a page from a picture. Origin is of fetch, and
	// of forms.
	return r.Method == http.MethodGet && r.Header.Get("Origin") == "" &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}
